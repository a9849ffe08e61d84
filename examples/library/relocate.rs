//! Points the images of a chart at another registry: `cargo run -p pintle --example relocate -- CHART REGISTRY`.
#![allow(clippy::print_stdout)]

use std::path::Path;

use pintle::images::{Policy, Source, Target};
use pintle::ops::{ChartInput, images};
use pintle::{Error, Silent, yaml};

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [chart, registry] = &arguments[..] else {
        return Err(Error::Input("usage: relocate CHART REGISTRY".to_owned()));
    };
    overrides(Path::new(chart), registry).map(|text| println!("{text}"))
}

pub(crate) fn overrides(chart: &Path, registry: &str) -> Result<String, Error> {
    let (target, sources) = (Some(Target::parse(registry)?), Some(vec![Source::parse("docker.io")?]));
    let policy = Policy { sources, target, ..Policy::default() };
    let input = ChartInput::from_chart(chart, &[], "demo", "default", &mut Silent)?;
    let moved = images::relocate(&input, &policy, &images::ImageOptions::default(), &mut Silent)?;
    Ok(String::from_utf8_lossy(&yaml::write(&moved.relocation.overrides).unwrap_or_default()).into_owned())
}
