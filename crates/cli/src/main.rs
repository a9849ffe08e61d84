//! The `pintle` program, which is also a drop-in replacement for Helm when it is called as `helm`.

mod advice;
mod chart_reference;
mod clock;
mod command;
mod commands;
mod complete;
mod connect;
mod copy_progress;
mod cosign;
mod dependencies;
mod download_progress;
mod embedded;
mod env;
mod exit;
mod failure;
mod flag;
mod git;
mod grants;
mod help;
mod invocation;
mod kubeconfig;
mod lease_holder;
mod lookup_from;
mod output;
mod path;
mod personality;
mod plugins;
mod private_file;
mod prompt;
mod provenance;
mod read;
mod reference;
mod registry_access;
mod remote;
mod report;
mod request;
mod run;
mod schemas;
mod scripts;
mod suggest;
mod text_template;
mod ui;

use std::process::ExitCode;

fn main() -> ExitCode {
    ui::install_panic_hook();
    let arguments = std::env::args_os();
    let outcome = std::panic::catch_unwind(move || run::run(arguments));
    ExitCode::from(outcome.unwrap_or(exit::BUG))
}
