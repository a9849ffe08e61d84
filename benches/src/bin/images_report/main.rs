//! Relocates the images of every chart of the corpus and prints a report. Run by `cargo xtask images-report`.
//!
//! ```text
//! images_report CORPUS [CHART]   CORPUS has INDEX.tsv; with CHART, all images that values do not move are listed
//! ```

mod case;
mod figures;
mod page;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result};

use case::{Case, CaseResult};

/// A case with its result, or the error of rendering.
pub(crate) struct Outcome<'c> {
    pub(crate) case: &'c Case,
    pub(crate) done: Result<CaseResult>,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().context("usage: images_report CORPUS [CHART]")?;
    let chart = arguments.next();
    let begin = Instant::now();
    let cases = case::all(Path::new(&folder), chart.as_deref())?;
    let outcomes = run(&cases);
    let seconds = begin.elapsed().as_secs_f64();
    match chart {
        Some(_) => print_text(&page::details(&outcomes)),
        None => print_text(&page::page(&outcomes, seconds)),
    }
    Ok(())
}

/// Runs all cases, on as many threads as there are cores.
fn run(cases: &[Case]) -> Vec<Outcome<'_>> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    let work = || {
        while let Some((index, case)) = next_case(&next, cases) {
            let done = case.run();
            outcomes.lock().expect("no thread panics").push((index, Outcome { case, done }));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut outcomes = outcomes.into_inner().expect("no thread panics");
    outcomes.sort_by_key(|(index, _)| *index);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

fn next_case<'c>(next: &AtomicUsize, cases: &'c [Case]) -> Option<(usize, &'c Case)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    cases.get(index).map(|case| (index, case))
}

#[allow(clippy::print_stdout, reason = "this is what the program is for")]
fn print_text(text: &str) {
    print!("{text}");
}
