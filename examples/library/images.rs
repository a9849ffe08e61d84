//! Makes values that point the images of a chart at another registry, and shows where each image came from.
//!
//! ```text
//! cargo run --package pintle --example images -- CHART docker.io,quay.io hub.corp:5000
//! ```

use std::path::Path;

use pintle::Silent;
use pintle::images::{Outcome, Policy, Source, Target};
use pintle::ops::ChartInput;
use pintle::ops::images::{ImageOptions, relocate};

#[allow(clippy::print_stdout, reason = "a program shows what it found")]
fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [chart, sources, target] = &arguments[..] else {
        anyhow::bail!("usage: images CHART SOURCE[,SOURCE…] TARGET");
    };
    let sources = sources.split(',').map(Source::parse).collect::<Result<_, _>>()?;
    let policy = Policy { sources: Some(sources), target: Some(Target::parse(target)?), ..Policy::default() };
    let subject = ChartInput::from_chart(Path::new(chart), &[], "demo", "default", &mut Silent)?;
    let seen = relocate(&subject, &policy, &ImageOptions::default(), &mut Silent)?;
    for image in &seen.relocation.images {
        let values: Vec<String> = image.values.iter().map(ToString::to_string).collect();
        let proved = if image.outcome == Outcome::ByValues { "moved by" } else { "not moved by" };
        println!("# {} {proved} values {values:?}", image.field.image);
    }
    print!("{}", String::from_utf8_lossy(&pintle::yaml::write(&seen.relocation.overrides)?));
    Ok(())
}
