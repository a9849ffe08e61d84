//! `images config`: edits the entries of a registry mapping file.

use std::io;

use pintle::images::{MappingFile, mapping};

use super::files::{self, Existing};
use super::policy::explain;
use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::{Failure, reason};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::output::grid::print_rows;
use crate::read;

/// `images config`
pub(crate) static COMMAND: Command = Command {
    name: "config",
    short: "list, set and remove entries of a registry mapping file",
    long: "\
Edit the file that maps source registries to target registries, registry-mappings.yaml by default:

    {program} images config --source quay.io --target hub.corp/quay
    {program} images config --list
    {program} images config --source quay.io --remove

Other lines are kept as they are, comments included.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[OWN],
    exclusive: &[&["list", "remove"], &["list", "source"], &["remove", "target"], &["list", "target"]],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::text(names::SOURCE, "the source registry").completes(FlagCompletion::Nothing),
    Flag::text(names::TARGET, "the destination: host[:port]/path").completes(FlagCompletion::Nothing),
    Flag::text(names::FILE, "the mapping file").or("registry-mappings.yaml"),
    Flag::switch(names::LIST, "show the entries"),
    Flag::switch(names::REMOVE, "remove the entry of --source"),
];

const FILE: &str = "--file";

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let path = invocation.flags.text(names::FILE).to_owned();
    mapping::check_name(&path).map_err(explain)?;
    files::check(FILE, &path)?;
    let text = match read::file(&path, read::MAX_SETTINGS).and_then(|text| {
        String::from_utf8(text).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "no UTF-8"))
    }) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(Failure::usage(format!("{FILE}: cannot read `{path}`: {}", reason(&error))));
        }
    };
    if invocation.flags.on(names::LIST) {
        return list(invocation, &path, text);
    }
    let removes = invocation.flags.on(names::REMOVE);
    let needed: &[&str] = if removes { &["source"] } else { &["source", "target"] };
    super::policy::require(&invocation.flags, needed)?;
    let source = invocation.flags.text(names::SOURCE).to_owned();
    if removes {
        return remove(invocation, &path, text, &source);
    }
    let target = invocation.flags.text(names::TARGET).to_owned();
    let (text, known) = mapping::set(&path, &text.unwrap_or_default(), &source, &target).map_err(explain)?;
    files::write(FILE, &path, text.as_bytes(), Existing::Replace)?;
    let done = if known { "changed" } else { "added" };
    invocation.ui.print(&format!("{path}: {done} {source} -> {target}\n"))
}

fn remove(
    invocation: &mut Invocation<'_>,
    path: &str,
    text: Option<String>,
    source: &str,
) -> Result<(), Failure> {
    match mapping::remove(path, &text.unwrap_or_default(), source).map_err(explain)? {
        Some(text) => {
            files::write(FILE, path, text.as_bytes(), Existing::Replace)?;
            invocation.ui.print(&format!("{path}: removed {source}\n"))
        }
        None => invocation.ui.print(&format!("{path}: there is no entry for {source}\n")),
    }
}

fn list(invocation: &mut Invocation<'_>, path: &str, text: Option<String>) -> Result<(), Failure> {
    let Some(text) = text else {
        return invocation.ui.print(&format!("{path}: there is no such file\n"));
    };
    let file = MappingFile::parse(path, text.as_bytes()).map_err(explain)?;
    let heads = ["SOURCE", "TARGET", "ENABLED", "DESCRIPTION"].map(str::to_owned).to_vec();
    let rows = file.mappings.iter().map(|entry| {
        let cells = [entry.source.to_string(), entry.target.to_string(), entry.enabled.to_string()];
        cells.into_iter().chain([entry.description.clone()]).collect()
    });
    let rows: Vec<Vec<String>> = [heads].into_iter().chain(rows).collect();
    print_rows(invocation, &rows, 0)
}
