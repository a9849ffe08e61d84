//! Runs one hot path COUNT times on generated data, for counting instructions and for profilers.
//!
//! ```text
//! pintle-benches               the names of the hot paths
//! pintle-benches NAME [COUNT]  run one of them
//! ```

mod data;
mod paths;

use anyhow::{Context as _, Result, bail};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        paths::ALL.iter().for_each(|path| print_line(path.name));
        return Ok(());
    };
    let Some(path) = paths::ALL.iter().find(|path| path.name == name) else {
        bail!("there is no hot path `{name}`; without arguments they are listed");
    };
    let count: usize =
        arguments.next().map_or(Ok(1), |count| count.parse()).context("COUNT must be a number")?;
    let mut run = (path.prepare)().with_context(|| format!("cannot prepare {name}"))?;
    let mut size = 0;
    for _ in 0..count {
        size = run()?;
    }
    print_line(&format!("{name}: {count} runs, {size} bytes or nodes each"));
    Ok(())
}

#[allow(clippy::print_stdout)]
fn print_line(text: &str) {
    println!("{text}");
}
