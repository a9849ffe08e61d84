//! Tasks of the project. `cargo xtask` lists them.

mod api;
mod bench;
mod ci;
mod clients;
mod cluster;
mod compare;
mod contract;
mod dependencies;
mod dist;
mod e2e;
mod editors;
mod fuzz;
mod go;
mod helm;
mod helm_clients;
mod helm_update;
mod images_report;
mod instructions;
mod kustomize;
mod load;
mod msrv;
mod native_functions;
mod postgres;
mod publishable;
mod record;
mod recording;
mod reference;
mod registries;
mod rehearse_report;
mod release;
mod reproducible;
mod rotation;
mod runner;
mod scenarios;
mod shell;
mod site;
mod steps;
mod tables;
mod tidy;
mod ui;
mod unicode;
mod vscode;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::steps::Outcome;

const HELP: &str = "\
cargo xtask TASK

  check                  after an edit: format, tidy, clippy and the tests of the packages that changed
  test [--under-load]    before a commit: all tests that need only Rust; or three times under CPU load
  ci [--keep-going]      all checks of a commit, cheapest first (README's test command)
  nightly                the complete long sets: every kill point, all of e2e on older Kubernetes, long fuzzing
  tidy                   check the layout: dependencies between crates, documents, files
  api [--write]          compare the lists of public items (crates/*/api.txt) with the source, or write them
  dependencies           check licences, bans and sources of all dependencies against deny.toml
  dist [--output FOLDER] [--programs FOLDER] [--minisign-key FILE] [--cosign-key FILE] [TARGET…]
                         build what a release consists of: archives, packages, images, bills of materials, provenance,
                         checksums; and sign it. --programs takes programs that were built elsewhere, in a folder per target
  release VERSION [--minisign-key FILE] [--cosign-key FILE] [--without-checks]
                         check, build and tag a version; publishes nothing. `release --notes VERSION` prints its notes
  hot-functions PROGRAM  trace what a program with symbols calls while it renders charts, and write benches/hot-functions.txt
  publishable            check whether the crates could be published, and print their order
  reproducible [--profile NAME]
                         build the program twice, in different folders, and compare the bytes
  msrv                   check that the oldest supported compiler accepts the library
  record [CASE…]         record the expected output of conformance/cases with the real Helm
  kustomize record [CASE…]
                         record the expected output of crates/kustomize/tests/cases with the real kustomize
  reference [--write]    compare the generated pages of docs/reference with the program and its CRD, or write them
  recording              record the terminal on the first page of the documentation
  site [--output FOLDER] [--browser]
                         build the documentation site and check its links; read it in a browser, too
  compare CHART… [-- ARGS]
                         render charts with Helm and with Pintle and show the first difference
  ui [--check] [--browser [--program PINTLE]] [--pictures]
                         build the page of `pintle ui` (crates/ui/assets) after checking its types and running its unit
                         tests, or compare it with what is committed; run its tests in Chromium; take the pictures of the
                         documentation
  bench [--smoke] [CHART…]
                         run Helm and Pintle side by side and print ratios
  bench cluster [--on NAME] [--rounds COUNT]
                         the same on a cluster, with many objects and many releases
  bench controller [--on NAME] [--batches COUNT,…] [--profile NAME]
                         measure the controller with a thousand requests on a control plane
  bench diff --helm-diff PATH [--on NAME] [--rounds COUNT] [--quick]
                         measure `diff upgrade` beside helm-diff, and a plan of thirty releases
  bench repositories [PART...]
                         measure one chart of a large repository against Helm
  bench scripts [ROUNDS]
                         measure charts with scripts against the same charts without
  instructions [--write]
                         count the instructions of the hot paths and compare with benches/instructions.tsv
  native-functions [BYTES]
                         measure every native function of templates and scripts on arguments of up to 10 MB, or
                         BYTES, and write the tables of docs/contributing/native-functions.md
  images-report [--write]
                         relocate the images of the corpus and compare the rates with docs/contributing/images-report.md
  rehearse-report [--write] [--program PINTLE]
                         rehearse the corpus and compare the findings with docs/contributing/rehearse-report.md
  fuzz [SECONDS [TARGET]]
                         fuzz every target (or one) for SECONDS each
  cluster up [--level embedded|control-plane|node] [--kubernetes 1.37|1.36|1.35|1.34] [--name NAME]
  cluster down|kubeconfig [--name NAME]
  cluster status|can-run-pods
                         manage a local Kubernetes for tests: a real one, or the embedded API
  e2e [--on embedded|NAME] [--level control-plane|node] [--kubernetes 1.37|1.36|1.35|1.34] [--profile-ci] [--part K/N]
      [--kill-points K/N] [--retry] [--under-load] [FILTER…]
                         start a cluster, run the tests of e2e/ on it, remove it
  editors [--install] [--program PINTLE]
                         test the language server with real editors, Neovim and Emacs; --install installs their packages
  vscode                 check the types of the extension for Visual Studio Code and pack its .vsix
  registries             build the registries for the tests that copy images
  contract [--record] [--on NAME] [--kubernetes 1.37|1.36] [SCENARIO]
                         run the contract scenarios of the embedded API on a real API server, or record its responses
  clients [--record] [--on NAME] [SCENARIO]
                         compare the output of kubectl and Helm on the embedded cluster and a real one, or record the latter
  helm-clients [SCENARIO]
                         run helmfile, kustomize and plugins of Helm with the real Helm and with ours, and compare
  helm-update VERSION [--go TOOLCHAIN] [--report FILE] [--skip SECTION]…
                         build another version of Helm and report what differs from the reference: libraries, help pages,
                         recorded cases, whole charts and scenarios (docs/contributing/following-helm.md)
  unicode [--write]      compare the tables of characters with those of the reference's Go, or write them
  gen [VERSION …]        generate the tables of built-in kinds (crates/embedded/tables) from real API servers, of all
                         versions or of those that are named
";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            shell::print_line(&format!("error: {error:#}"));
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
        "unicode" => unicode::run(rest),
        "api" => api::run(rest),
        "dependencies" => dependencies::run(),
        "dist" => dist::run(rest),
        "__link" => dist::link::link(rest),
        "hot-functions" => dist::link::write_hot_functions(rest),
        "release" => release::run_release(rest),
        "publishable" => publishable::run(rest),
        "reproducible" => reproducible::run_twice(rest),
        "msrv" => report_outcome(msrv::run(rest)),
        "record" => record::run(rest),
        "kustomize" => kustomize::run(rest),
        "recording" => recording::run(rest),
        "reference" => reference::run(rest),
        "site" => site::run(rest),
        "ui" => report_outcome(ui::run(rest)),
        "compare" => compare::run(rest),
        "bench" => bench::run(rest),
        "instructions" => report_outcome(instructions::run(rest)),
        "native-functions" => native_functions::run(rest),
        "images-report" => report_outcome(images_report::run(rest)),
        "rehearse-report" => report_outcome(rehearse_report::run(rest)),
        "fuzz" => report_outcome(fuzz::run(rest)),
        "cluster" => cluster::run(rest),
        "e2e" => report_outcome(e2e::run(rest)),
        "editors" => report_outcome(editors::run_all(rest)),
        "vscode" => report_outcome(vscode::run_task(rest)),
        "registries" => registries::build(),
        "gen" => tables::run(rest),
        "contract" => report_outcome(contract::run(rest)),
        "helm-update" => helm_update::run(rest),
        "helm-clients" => report_outcome(helm_clients::run(rest)),
        "clients" => report_outcome(clients::run(rest)),
        "help" | "--help" | "-h" => {
            shell::print_line(HELP);
            Ok(())
        }
        other => bail!("unknown task `{other}`; `cargo xtask` lists the tasks"),
    }
}

/// Prints that a task was skipped, where no table of steps does.
fn report_outcome(outcome: Result<Outcome>) -> Result<()> {
    outcome.map(|outcome| outcome.report())
}
