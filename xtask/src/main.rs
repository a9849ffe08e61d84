//! Chores of the house. `cargo xtask` lists them.

mod bench;
mod bench_cluster;
mod bench_scripts;
mod ci;
mod clients;
mod cluster;
mod compare;
mod contract;
mod e2e;
mod fuzz;
mod helm;
mod images_report;
mod instructions;
mod postgres;
mod record;
mod registries;
mod rehearse_report;
mod shell;
mod stories;
mod suite;
mod tables;
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
  bench cluster [--on NAME] [--rounds COUNT]
                         the same on a cluster: many objects, many releases
  bench scripts [ROUNDS]
                         what the scripts of charts cost, over the same charts without them
  instructions [--write]
                         count the instructions of the hot paths and compare with benches/instructions.tsv
  images-report [--write]
                         move the images of the corpus, and compare the rates with docs/images-report.md
  rehearse-report [--write] [--program PINTLE]
                         rehearse the corpus, and compare the findings with docs/rehearse-report.md
  fuzz [SECONDS [TARGET]]
                         fuzz every target (or one) for so many seconds each
  cluster up [--level embedded|control-plane|node] [--kubernetes 1.36|1.35|1.34] [--name NAME]
  cluster down|kubeconfig [--name NAME]
  cluster status|can-run-pods
                         a Kubernetes for tests, on this machine: a real one, or our own API
  e2e [--on embedded|NAME] [--level control-plane|node] [--kubernetes 1.36|1.35|1.34] [--release] [FILTER]
                         bring a cluster up, run the tests of e2e/ on it, take it down
  registries             build the registries that the tests of copies need
  contract [--record] [--on NAME] [STORY]
                         ask a real API server what the embedded API is held to, or record its answers
  clients [--record] [--on NAME] [STORY]
                         what kubectl and Helm print on the cluster in the box and on a real one, or record the latter
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
        "images-report" => images_report::chore(rest),
        "rehearse-report" => rehearse_report::chore(rest),
        "fuzz" => fuzz::run(rest),
        "cluster" => cluster::run(rest),
        "e2e" => e2e::run(rest),
        "registries" => registries::build(),
        "gen" => tables::run(rest),
        "contract" => contract::run(rest),
        "clients" => clients::run(rest),
        "help" | "--help" | "-h" => {
            shell::say(HELP);
            Ok(())
        }
        other => bail!("there is no chore `{other}`; `cargo xtask` lists them"),
    }
}
