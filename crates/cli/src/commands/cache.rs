//! `cache`: manages downloaded charts.

use std::time::{Duration, SystemTime};

use pintle::repo::{CacheEntry, ContentCache, Kind};
use pintle_time::{GoTime, Zone};

use crate::clock;
use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::flag::deploy::OUTPUT;
use crate::flag::{Flag, FlagCompletion, Kind as FlagKind, names};
use crate::invocation::Invocation;
use crate::output::format::{Format, Record, Records, print_data};
use crate::output::grid::print_rows;
use crate::remote;

/// `cache`
pub(crate) static COMMAND: Command = Command {
    name: "cache",
    short: "list and remove cached charts",
    long: "\
Manage the content cache, which keeps downloaded charts by digest. It is shared with Helm, which never removes anything
from it.",
    subcommands: &[&LIST, &PRUNE],
    ..Command::BLANK
};

static LIST: Command = Command {
    name: "list",
    aliases: &["ls"],
    short: "list cached charts",
    long: "List the charts and provenance files in the content cache, with name, size and digest.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[OUTPUT],
    run: Some(list),
    ..Command::BLANK
};

static PRUNE: Command = Command {
    name: "prune",
    short: "remove cached charts",
    long: "\
Remove charts from the content cache that were downloaded a while ago. A chart that is needed again is downloaded again.

    {program} cache prune --older-than 168h
    {program} cache prune --all",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[&[
        Flag::of(names::OLDER_THAN, FlagKind::Duration, "720h0m0s", "remove charts that were downloaded longer ago than this")
            .completes(FlagCompletion::Nothing),
        Flag::switch(names::ALL, "remove all cached charts"),
        Flag::switch(names::DRY_RUN, "only show what would be removed"),
    ]],
    exclusive: &[&["older-than", "all"]],
    run: Some(prune),
    ..Command::BLANK
};

fn cache(invocation: &Invocation<'_>) -> ContentCache {
    ContentCache::new(remote::folders(&invocation.flags, invocation.environment).content_cache)
}

fn list(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let entries = cache(invocation).entries();
    match Format::from_flags(&invocation.flags) {
        Format::Table if entries.is_empty() => invocation.ui.print("Nothing is cached.\n"),
        Format::Table => {
            let headings = ["CHART", "KIND", "SIZE", "FETCHED", "DIGEST"].map(str::to_owned).to_vec();
            let row = |entry: &CacheEntry| {
                let (size, digest) = (entry.size.to_string(), format!("sha256:{}", entry.digest));
                vec![name(entry), kind(entry).to_owned(), size, fetched(entry), digest]
            };
            let rows: Vec<Vec<String>> = std::iter::once(headings).chain(entries.iter().map(row)).collect();
            print_rows(invocation, &rows, 0)
        }
        format => {
            let record = |entry: &CacheEntry| {
                Record::default()
                    .with("chart", name(entry))
                    .with("kind", kind(entry))
                    .with("size", i64::try_from(entry.size).unwrap_or(i64::MAX))
                    .with("fetched", fetched(entry))
                    .with("digest", format!("sha256:{}", entry.digest))
                    .with("path", entry.path.to_string_lossy().into_owned())
            };
            let records: Vec<Record> = entries.iter().map(record).collect();
            print_data(invocation.ui, format, &Records(&records))
        }
    }
}

fn prune(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let flags = &invocation.flags;
    let age = if flags.on(names::ALL) { Duration::ZERO } else { flags.duration(names::OLDER_THAN) };
    let dry = flags.on(names::DRY_RUN);
    let now = clock::system_time();
    let (mut count, mut bytes) = (0, 0);
    for entry in cache(invocation).entries() {
        // A modification time in the future, after the clock was set back, counts as new.
        if age > Duration::ZERO && now.duration_since(entry.modified).is_ok_and(|since| since >= age)
            || invocation.flags.on(names::ALL)
        {
            if !dry {
                entry.remove()?;
            }
            count += 1;
            bytes += entry.size;
        }
    }
    let done = if dry { "would be removed" } else { "removed" };
    invocation.ui.print(&format!("{count} files {done}, {bytes} bytes\n"))
}

fn kind(entry: &CacheEntry) -> &'static str {
    match entry.kind {
        Kind::Chart => "chart",
        Kind::Provenance => "provenance",
        Kind::Manifest => "manifest",
    }
}

/// Name and version of the chart; empty if the archive cannot be read.
fn name(entry: &CacheEntry) -> String {
    if entry.kind != Kind::Chart {
        return String::new();
    }
    let chart = pintle::chart::load_any_version(&entry.path, &mut Vec::new());
    chart
        .map_or_else(|_| String::new(), |chart| format!("{}-{}", chart.metadata.name, chart.metadata.version))
}

fn fetched(entry: &CacheEntry) -> String {
    let since = entry.modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    GoTime::from_unix(seconds, 0, Zone::local()).format("2006-01-02T15:04:05Z07:00")
}
