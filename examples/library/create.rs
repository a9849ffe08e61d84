//! Creates a chart in the current folder: `cargo run -p pintle --example create -- NAME`.
#![allow(clippy::print_stdout)]

use anyhow::{Context as _, Result};
use pintle::ops::{CreateRequest, create};
use pintle::{Session, Silent};

fn main() -> Result<()> {
    let name = std::env::args().nth(1).context("name the chart")?;
    let folder = create(&Session::offline(), &CreateRequest::new(".", name), &mut Silent)?;
    println!("created {}", folder.display());
    Ok(())
}
