//! Validates values against the schemas of a chart, or derives a schema from its values.yaml: `cargo run -p pintle
//! --example schema -- CHART [--set a=b …]`.
#![allow(clippy::print_stdout)]

use anyhow::{Context as _, Result};
use pintle::ValuesLayer;
use pintle::ops::{DeriveRequest, check_schema, derive_schema};
use pintle::values::schema::SchemaFormat;
use pintle::{Session, Silent};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let chart = arguments.next().context("name a chart")?;
    let set: Vec<String> = arguments.filter(|argument| argument != "--set").collect();
    if set.is_empty() {
        let (chart, format) = (chart.as_str().into(), SchemaFormat::Json);
        let request = DeriveRequest { chart, format, from_templates: false };
        print!("{}", String::from_utf8_lossy(&derive_schema(&request, &mut Silent).await?));
        return Ok(());
    }
    let values: Vec<ValuesLayer> = set.into_iter().map(ValuesLayer::Set).collect();
    check_schema(&Session::offline(), &chart.as_str().into(), &values, &mut Silent).await?;
    println!("the values fit");
    Ok(())
}
