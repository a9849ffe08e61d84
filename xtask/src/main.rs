//! Chores of the house. `cargo xtask` lists them.

mod bench;
mod ci;
mod compare;
mod fuzz;
mod helm;
mod instructions;
mod record;
mod shell;
mod tidy;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
cargo xtask CHORE

  ci                     everything that must be true of a commit, cheapest first (README's test command)
  tidy                   check the house: arrows between rooms, documents, files
  record [CASE…]         take the expected bytes of conformance/cases from the real Helm
  compare CHART… [-- ARGS]
                         render charts with Helm and with Pintle and show the first difference
  bench [--smoke] [CHART…]
                         run Helm and Pintle side by side and print ratios
  instructions [--write]
                         count the instructions of the hot paths and compare with benches/instructions.tsv
  fuzz [SECONDS [TARGET]]
                         fuzz every target (or one) for so many seconds each
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            shell::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (chore, rest) = match arguments.split_first() {
        Some((chore, rest)) => (chore.as_str(), rest),
        None => ("help", &[][..]),
    };
    match chore {
        "ci" => ci::run_all(),
        "tidy" => tidy::run(),
        "record" => record::run(rest),
        "compare" => compare::run(rest),
        "bench" => bench::run(rest),
        "instructions" => instructions::chore(rest),
        "fuzz" => fuzz::run(rest),
        "help" | "--help" | "-h" => {
            shell::say(HELP);
            Ok(())
        }
        other => bail!("there is no chore `{other}`; `cargo xtask` lists them"),
    }
}
