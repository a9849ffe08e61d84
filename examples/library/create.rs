//! Makes a new chart in the current folder: `cargo run -p pintle --example create -- NAME`.
#![allow(clippy::print_stdout)]

use anyhow::{Context as _, Result};
use pintle::Silent;
use pintle::ops::{CreateRequest, create};

fn main() -> Result<()> {
    let name = std::env::args().nth(1).context("name the chart")?;
    let folder = create(&CreateRequest::new(".", name), &mut Silent)?;
    println!("made {}", folder.display());
    Ok(())
}
