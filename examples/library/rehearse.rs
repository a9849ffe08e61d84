//! Runs the whole lifecycle of a chart without a cluster: `cargo run -p pintle --example rehearse -- CHART`.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;

use pintle::Error;
use pintle::rehearse::{Rehearsal, RehearseRequest, rehearse};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let chart = std::env::args().nth(1).unwrap_or_else(|| "examples/charts/web".to_owned());
    let report = rehearsed(chart.into()).await?;
    for finding in &report.findings {
        println!("{}:{}: {}", finding.file, finding.line, finding.message);
    }
    println!("{} stages, {} findings", report.stages.len(), report.findings.len());
    Ok(())
}

pub(crate) async fn rehearsed(chart: PathBuf) -> Result<Rehearsal, Error> {
    rehearse(&RehearseRequest { chart: chart.into(), ..RehearseRequest::default() }).await
}
