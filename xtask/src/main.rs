//! Tasks of the project. `cargo xtask` lists them.

mod bench;
mod bench_cluster;
mod bench_repositories;
mod bench_scripts;
mod ci;
mod clients;
mod cluster;
mod compare;
mod contract;
mod dependencies;
mod e2e;
mod fuzz;
mod go;
mod helm;
mod images_report;
mod instructions;
mod load;
mod native_functions;
mod postgres;
mod record;
mod reference;
mod registries;
mod rehearse_report;
mod rotation;
mod runner;
mod shell;
mod steps;
mod stories;
mod tables;
mod tidy;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::steps::Outcome;

const HELP: &str = "\
cargo xtask TASK

  check                  after an edit: format, tidy, clippy and the tests of the packages that changed
  test [--under-load]    before a commit: all tests that need nothing but Rust; or three times beside busy loops
  ci [--keep-going]      everything that must be true of a commit, cheapest first (README's test command)
  nightly                the long sets as a whole: every kill point, all of e2e on older Kubernetes, long fuzzing
  tidy                   check the layout: dependencies between crates, documents, files
  dependencies           check licences, bans and sources of all dependencies against deny.toml
  record [CASE…]         take the expected bytes of conformance/cases from the real Helm
  reference [--write]    compare docs/reference/commands.md with the program's commands and flags, or write it
  compare CHART… [-- ARGS]
                         render charts with Helm and with Pintle and show the first difference
  bench [--smoke] [CHART…]
                         run Helm and Pintle side by side and print ratios
  bench cluster [--on NAME] [--rounds COUNT]
                         the same on a cluster: many objects, many releases
  bench repositories
                         what one chart of a large repository costs, beside Helm
  bench scripts [ROUNDS]
                         what the scripts of charts cost, over the same charts without them
  instructions [--write]
                         count the instructions of the hot paths and compare with benches/instructions.tsv
  native-functions [BYTES]
                         measure every native function of templates and scripts on arguments of up to 10 MB, or
                         BYTES, and write the tables of docs/contributing/native-functions.md
  images-report [--write]
                         move the images of the corpus, and compare the rates with docs/contributing/images-report.md
  rehearse-report [--write] [--program PINTLE]
                         rehearse the corpus, and compare the findings with docs/contributing/rehearse-report.md
  fuzz [SECONDS [TARGET]]
                         fuzz every target (or one) for so many seconds each
  cluster up [--level embedded|control-plane|node] [--kubernetes 1.36|1.35|1.34] [--name NAME]
  cluster down|kubeconfig [--name NAME]
  cluster status|can-run-pods
                         a Kubernetes for tests, on this machine: a real one, or our own API
  e2e [--on embedded|NAME] [--level control-plane|node] [--kubernetes 1.36|1.35|1.34] [--release] [--part K/N]
      [--kill-points K/N] [--retry] [--under-load] [FILTER…]
                         bring a cluster up, run the tests of e2e/ on it, take it down
  registries             build the registries that the tests of copies need
  contract [--record] [--on NAME] [STORY]
                         ask a real API server what the embedded API is held to, or record its answers
  clients [--record] [--on NAME] [STORY]
                         what kubectl and Helm print on the embedded cluster and on a real one, or record the latter
  gen                    take the tables of built-in kinds (crates/embedded/tables) from real API servers
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
    let (task, rest) = match arguments.split_first() {
        Some((task, rest)) => (task.as_str(), rest),
        None => ("help", &[][..]),
    };
    match task {
        "check" => ci::check(),
        "test" => ci::test(rest),
        "ci" => ci::ci(rest),
        "nightly" => ci::nightly(),
        "tidy" => tidy::run(),
        "dependencies" => dependencies::run(),
        "record" => record::run(rest),
        "reference" => reference::run(rest),
        "compare" => compare::run(rest),
        "bench" => bench::run(rest),
        "instructions" => by_itself(instructions::run(rest)),
        "native-functions" => native_functions::run(rest),
        "images-report" => by_itself(images_report::run(rest)),
        "rehearse-report" => by_itself(rehearse_report::run(rest)),
        "fuzz" => by_itself(fuzz::run(rest)),
        "cluster" => cluster::run(rest),
        "e2e" => by_itself(e2e::run(rest)),
        "registries" => registries::build(),
        "gen" => tables::run(rest),
        "contract" => by_itself(contract::run(rest)),
        "clients" => by_itself(clients::run(rest)),
        "help" | "--help" | "-h" => {
            shell::say(HELP);
            Ok(())
        }
        other => bail!("there is no task `{other}`; `cargo xtask` lists them"),
    }
}

/// A task that is no step of a longer run says by itself that it was skipped.
fn by_itself(outcome: Result<Outcome>) -> Result<()> {
    outcome.map(|outcome| outcome.report())
}
