//! Renders a chart: `cargo run -p pintle --example render -- CHART`.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use pintle::ops::{TemplateRequest, template};
use pintle::{Error, Session, Silent};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let chart = std::env::args().nth(1).unwrap_or_else(|| "examples/charts/web".to_owned());
    println!("{}", rendered(chart.into()).await?);
    Ok(())
}

pub(crate) async fn rendered(chart: PathBuf) -> Result<String, Error> {
    let request =
        TemplateRequest { chart: chart.into(), name: "demo".to_owned(), ..TemplateRequest::default() };
    let output = template(&Session::offline(), &request, &mut Silent).await?;
    Ok(String::from_utf8_lossy(&output.text).into_owned())
}
