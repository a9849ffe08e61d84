//! Advice on failures: what exactly is wrong, where in the user's files, and what to do about it.
//!
//! The library's errors are facts. Here they are put into the context of the command: the chart is read once more, its
//! values are looked up in their sources, and names are compared with those that exist. All of this happens after a failure
//! and for `pintle` only, so that it costs nothing otherwise.

mod chart_file;
mod excerpt;
pub(crate) mod flags;
mod kinds;
pub(crate) mod names;
mod operators;
mod parse;
mod release;
mod rendered;
pub(crate) mod repository;
mod server;
mod subject;
mod template;
mod values;
mod yaml;

pub(crate) use server::recreation;

use pintle::release::StoreError;
use pintle::{Error, cluster, render};

use crate::failure::Failure;
use crate::invocation::Invocation;
use subject::Subject;

/// Improves a failure of a command.
pub(crate) fn improve(failure: &mut Failure, invocation: &mut Invocation<'_>) {
    improve_error(failure, invocation);
    rendered::text_fields(failure, invocation);
    if failure.own.is_none() {
        plain_transport(failure);
        chart_file::missing_folder(failure, invocation);
    }
}

fn improve_error(failure: &mut Failure, invocation: &mut Invocation<'_>) {
    let Some(error) = failure.error.take() else { return names::improve(failure, invocation) };
    match cause(&error) {
        Error::Render(error) => {
            if let render::Error::Template { message, frames, .. } = error.as_ref() {
                template::improve(failure, &Subject::of(invocation), message, frames);
            }
        }
        Error::Objects { cause, .. } => rendered::improve(failure, &Subject::of(invocation), cause),
        Error::Values(error) => values::improve(failure, invocation, error),
        Error::Chart(error) => chart_file::improve(failure, invocation, error),
        error => improve_deployment(failure, invocation, error),
    }
    name_chart(failure, invocation);
}

/// Says in plain words that a server is not reached, instead of Go's.
fn plain_transport(failure: &mut Failure) {
    let method =
        ["Get \"", "Head \"", "Post \"", "Put \""].iter().find_map(|it| failure.text.strip_prefix(it));
    let Some((url, reason)) = method.and_then(|rest| rest.split_once("\": dial tcp")) else { return };
    let (why, hint) = match reason {
        reason if reason.contains("connection refused") => {
            ("connection refused", "see whether the server runs, and whether host and port are right")
        }
        reason if reason.contains("no such host") => {
            ("no such host", "see whether the name is right, and whether this machine is online")
        }
        _ => return,
    };
    failure.own = Some(format!("`{url}` cannot be reached: {why}"));
    failure.hint.get_or_insert_with(|| hint.to_owned());
}

/// Puts the reference of the chart into commands of a hint.
fn name_chart(failure: &mut Failure, invocation: &Invocation<'_>) {
    let operands = &invocation.flags.operands;
    let chart =
        operands.iter().rev().find(|operand| std::path::Path::new(operand).join("Chart.yaml").is_file());
    if let (Some(hint), Some(chart)) = (&failure.hint, chart) {
        failure.hint = Some(hint.replace(" CHART`", &format!(" {chart}`")));
    }
}

/// Failures that need a release or a cluster.
fn improve_deployment(failure: &mut Failure, invocation: &mut Invocation<'_>, error: &Error) {
    if let Some(error) = cluster_error(error) {
        return server::improve(failure, invocation, error);
    }
    if !release::improve(failure, invocation, error) {
        names::improve(failure, invocation);
    }
}

/// The error that others only wrap.
fn cause(error: &Error) -> &Error {
    match error {
        Error::HooksFailed { cause: inner, .. }
        | Error::ReleaseFailed { cause: inner, .. }
        | Error::RolledBack { cause: inner, .. }
        | Error::RollbackFailed { first: inner, .. }
        | Error::NothingToRollBackTo { cause: inner }
        | Error::CleanUpFailed { first: inner, .. }
        | Error::Build { cause: inner, .. }
        | Error::HookBuild { cause: inner, .. }
        | Error::HookCreation { cause: inner, .. }
        | Error::DeleteFailed { source: inner, .. }
        | Error::UninstallNotLoaded { cause: inner, .. } => cause(inner),
        Error::Multiple { errors } | Error::Apply { errors, .. } => errors.first().map_or(error, cause),
        _ => error,
    }
}

/// The error of the cluster's client behind an error.
fn cluster_error(error: &Error) -> Option<&cluster::Error> {
    match error {
        Error::Cluster(error)
        | Error::ReachabilityCheck(error)
        | Error::Unrecognized(error)
        | Error::Create(error) => Some(error),
        Error::Delete { cause, .. } | Error::GetFailed { cause, .. } => Some(cause),
        Error::Store(StoreError::Backend { source, .. }) => source.downcast_ref(),
        _ => None,
    }
}
