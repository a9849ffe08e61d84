//! Packages a chart twice with the same bytes: `cargo run -p pintle --example package -- CHART`.
#![allow(clippy::print_stdout)]

use std::fs;

use anyhow::{Context as _, Result, ensure};
use pintle::ops::{PackageRequest, package};
use pintle::{Session, Silent};

fn main() -> Result<()> {
    let chart = std::env::args().nth(1).context("name a chart folder")?;
    let mut archives = Vec::new();
    for now in [0, 1_700_000_000] {
        let destination = tempfile::tempdir()?;
        let request = PackageRequest {
            chart: chart.clone().into(),
            destination: destination.path().to_owned(),
            epoch: Some(315_532_800),
            now,
            ..PackageRequest::default()
        };
        let path = package(&Session::offline(), &request, &mut Silent)?;
        println!("packaged {}", path.display());
        archives.push(fs::read(path)?);
    }
    ensure!(archives[0] == archives[1], "the archives differ");
    println!("both times the same {} bytes", archives[0].len());
    Ok(())
}
