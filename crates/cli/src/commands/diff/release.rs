//! `diff release`: compares two releases of one chart.

use pintle::diff::Report;
use pintle::release::{ReleaseVersion, VersionRef};

use super::output::{Display, parse_options};
use super::{COMMON, OUTPUT, answer};
use crate::command::{ArgCompletion, Command};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::invocation::Invocation;

/// `diff release RELEASE1 RELEASE2`
pub(crate) static COMMAND: Command = Command {
    name: "release",
    operands_text: "RELEASE1 RELEASE2",
    short: "show the differences between two releases",
    long: "\
Compare the manifests of two releases of the same chart, template by template. A release of another namespace is
NAMESPACE/RELEASE:

    {program} diff release prod/web stage/web",
    completion: ArgCompletion::Releases,
    flags: &[COMMON, OUTPUT],
    answers_by_exit_code: true,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let (first, second) = match invocation.flags.operands.as_slice() {
        [first, second, ..] => (first.clone(), second.clone()),
        _ => {
            return Err(Failure::usage(
                "Too few arguments to Command \"release\".\nMinimum 2 arguments required: release name-1, release name-2",
            )
            .with_pintle_text("`diff release` needs the names of two releases")
            .hint("usage: pintle diff release RELEASE1 RELEASE2"));
        }
    };
    let display = Display::from_flags(invocation)?;
    let connection = Connection::open(invocation)?;
    let (old_namespace, old) = read(&connection, &first)?;
    let (new_namespace, new) = read(&connection, &second)?;
    let (one, other) = (chart_name(&old), chart_name(&new));
    if one != other {
        return invocation.ui.print(&format!(
            "Error : Incomparable Releases \n Unable to compare releases from two different charts \"{one}\", \"{other}\". \
             \n try helm diff release --help to know more \n"
        ));
    }
    let old_options = parse_options(invocation, &old_namespace);
    let new_options = parse_options(invocation, &new_namespace);
    let old = super::index(invocation, old.manifest.as_bytes(), &old_options)?.by_template();
    let new = super::index(invocation, new.manifest.as_bytes(), &new_options)?.by_template();
    let report = Report::new(old, new, &display.options).map_err(super::incomparable)?;
    let has_changes = display.print(invocation, &report)?;
    answer(invocation, has_changes)
}

/// Reads the newest version of `RELEASE` or `NAMESPACE/RELEASE`, with its namespace.
fn read(connection: &Connection, reference: &str) -> Result<(String, ReleaseVersion), Failure> {
    let mut parts = reference.split('/');
    let (namespace, name) = match (parts.next(), parts.next()) {
        (Some(namespace), Some(name)) => (namespace, name),
        _ => (connection.namespace.as_str(), reference),
    };
    let version = pintle::ops::get(&connection.session, namespace, name, &VersionRef::Current);
    Ok((namespace.to_owned(), connection.run(version)?))
}

fn chart_name(version: &ReleaseVersion) -> String {
    version.chart.metadata.name.clone()
}
