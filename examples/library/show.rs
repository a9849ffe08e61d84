//! Shows the metadata of a chart: `cargo run -p pintle --example show -- CHART`.
#![allow(clippy::print_stdout)]

use anyhow::{Context as _, Result};
use pintle::Silent;
use pintle::ops::show;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let chart = std::env::args().nth(1).context("name a chart")?;
    let shown = show(&chart.as_str().into(), &mut Silent).await?;
    print!("{}", String::from_utf8_lossy(&shown.chart));
    let lines =
        |text: &Option<Vec<u8>>| text.as_ref().map_or(0, |text| text.split(|&byte| byte == b'\n').count());
    println!(
        "# {} lines of values, {} lines of readme, {} CRDs",
        lines(&shown.values),
        lines(&shown.readme),
        shown.crds.len()
    );
    if shown.is_library {
        println!("# a library: other charts use it, and it cannot be installed");
    }
    Ok(())
}
