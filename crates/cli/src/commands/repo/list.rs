//! `repo list`: lists the repositories that were added.

use pintle::ops::repositories;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::run_offline;
use crate::failure::Failure;
use crate::flag::deploy::OUTPUT;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::output::format::{Format, Record, Records, print_data};
use crate::output::grid::print_rows;
use crate::output::table::table;
use crate::remote;
use crate::report::Reporting;

/// `repo list`
pub(super) static COMMAND: Command = Command {
    name: "list",
    aliases: &["ls"],
    short: "list chart repositories",
    long: "List the repositories that were added, with their URLs.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[&[Flag::switch(names::NO_HEADERS, "do not print the headers of the table")], OUTPUT],
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let remote = remote::remote(invocation, remote::TIMEOUT);
    let entries = run_offline(repositories(&remote, &mut Reporting::new(invocation.ui)))?;
    match Format::from_flags(&invocation.flags) {
        Format::Table if entries.is_empty() => {
            invocation.ui.note("no repositories to show");
            Ok(())
        }
        Format::Table => {
            let mut rows = Vec::new();
            if !invocation.flags.on(names::NO_HEADERS) {
                rows.push(vec!["NAME".to_owned(), "URL".to_owned()]);
            }
            rows.extend(entries.iter().map(|entry| vec![entry.name.clone(), entry.url.clone()]));
            // Without headings the output is for scripts.
            match invocation.flags.on(names::NO_HEADERS) {
                true => invocation.ui.print(&format!("{}\n", table(&rows, 0))),
                false => print_rows(invocation, &rows, 0),
            }
        }
        format => {
            let record = |entry: &pintle::repo::Entry| {
                Record::default().with("name", entry.name.as_str()).with("url", entry.url.as_str())
            };
            let records: Vec<Record> = entries.iter().map(record).collect();
            print_data(invocation.ui, format, &Records(&records))
        }
    }
}
