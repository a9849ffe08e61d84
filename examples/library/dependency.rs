//! Lists the dependencies of a chart, and updates `charts/` on request: `cargo run -p pintle --example dependency --
//! CHART [--update]`.
#![allow(clippy::print_stdout)]
#![allow(clippy::disallowed_methods, reason = "a program reads the clock")]

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use pintle::Progress;
use pintle::ops::dependency::{BuildTimes, list, update};
use pintle::release::Timestamp;

/// Prints warnings and the steps of an update.
fn print(progress: Progress) {
    match progress {
        Progress::Message(message) => println!("{}", message.line),
        Progress::Step(text) => println!("{text}"),
        _ => {}
    }
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let chart = arguments.next().context("name a chart folder")?;
    let chart = Path::new(&chart);
    if arguments.next().is_some_and(|argument| argument == "--update") {
        // The library does not read the clock: the time for the lock comes from the program.
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        // Charts come from folders here; a `pintle::repo::DependencySource` would fetch them from repositories.
        let times = BuildTimes { now: Timestamp::from_unix(i64::try_from(now)?, 0), epoch: None };
        update(chart, times, None, &mut print)?;
    }
    let listing = list(chart, &mut print)?;
    for row in listing.rows.iter().flatten() {
        println!("{} {} from {:?}: {}", row.name, row.version, row.repository, row.status.as_str());
    }
    for warning in &listing.warnings {
        println!("{warning}");
    }
    Ok(())
}
