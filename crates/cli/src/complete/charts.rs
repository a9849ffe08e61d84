//! Completion of charts, repositories and versions, from cached indexes only: pressing TAB must not start a download.

use std::fs;

use pintle::repo::repository::{charts_path, index_path};
use pintle::repo::{Cached, Entry, Repositories};
use pintle_time::{GoTime, Zone};

use super::{Completions, Directive};
use crate::flag::names;
use crate::invocation::Invocation;
use crate::remote;

/// The prefixes of chart URLs.
const PREFIXES: [(&str, &str); 4] = [
    ("oci://", "Chart OCI prefix"),
    ("https://", "Chart URL prefix"),
    ("http://", "Chart URL prefix"),
    ("file://", "Chart local URL prefix"),
];

fn entries(invocation: &Invocation<'_>) -> Vec<Entry> {
    let folders = remote::folders(&invocation.flags, invocation.environment);
    let loaded = Repositories::load(&folders.repository_config).ok().flatten();
    loaded.unwrap_or_default().entries
}

/// The repositories that are not on the command line yet.
pub(super) fn repositories(invocation: &Invocation<'_>) -> Completions {
    let named = &invocation.flags.operands;
    let rest = entries(invocation).into_iter().filter(|entry| !named.contains(&entry.name));
    Completions::new(Directive::NoFiles, rest.map(|entry| (entry.name, entry.url)).collect())
}

/// The charts that match: those of a repository once its name is typed, otherwise the repositories and URL prefixes.
/// `files` says whether files are possible too.
pub(super) fn charts(invocation: &Invocation<'_>, typed: &str, files: bool) -> Completions {
    let (mut no_space, mut no_files) = (false, false);
    let mut choices = Vec::new();
    for entry in entries(invocation) {
        let begin = format!("{}/", entry.name);
        if typed.starts_with(&begin) {
            choices.extend(charts_of(invocation, &entry.name));
            no_space = false;
            break;
        } else if entry.name.starts_with(typed) {
            choices.push((begin, entry.url));
            no_space = true;
        }
    }
    for (prefix, about) in PREFIXES {
        if typed.starts_with(&format!("{prefix}\t{about}")) {
            no_files = true;
            no_space = true;
        } else if prefix.starts_with(typed) {
            choices.push((prefix.to_owned(), about.to_owned()));
            no_space = true;
        }
    }
    if files && !choices.is_empty() && !typed.is_empty() {
        choices.extend(files_here(typed));
    }
    if files && typed.is_empty() {
        choices.push(("./".to_owned(), "Relative path prefix to local chart".to_owned()));
        choices.push(("/".to_owned(), "Absolute path prefix to local chart".to_owned()));
    }
    let directive = match (no_space, no_files || !files) {
        (true, true) => Directive::NoSpaceNoFiles,
        (true, false) => Directive::NoSpace,
        (false, true) => Directive::NoFiles,
        (false, false) => Directive::Default,
    };
    Completions::new(directive, choices)
}

fn files_here(typed: &str) -> Vec<(String, String)> {
    let Ok(found) = fs::read_dir(".") else { return Vec::new() };
    let names = found.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(typed)).collect();
    names.sort();
    names.into_iter().map(|name| (name, String::new())).collect()
}

fn charts_of(invocation: &Invocation<'_>, repository: &str) -> Vec<(String, String)> {
    let cache = remote::folders(&invocation.flags, invocation.environment).repository_cache;
    let full = |name: &str| (format!("{repository}/{name}"), String::new());
    if let Ok(text) = fs::read_to_string(charts_path(&cache, repository)) {
        return text.lines().map(full).collect();
    }
    let index = Cached::open(&index_path(&cache, repository));
    index.map_or_else(
        |_| Vec::new(),
        |index| index.catalog.charts.iter().map(|chart| full(&chart.name)).collect(),
    )
}

/// The versions of a chart of a repository.
pub(super) fn versions(invocation: &Invocation<'_>) -> Completions {
    let operands = &invocation.flags.operands;
    let before = match invocation.command_path.command.completion {
        crate::command::ArgCompletion::NameAndChart => {
            usize::from(!invocation.flags.on(names::GENERATE_NAME))
        }
        crate::command::ArgCompletion::ReleaseAndChart => 1,
        _ => 0,
    };
    let nothing = || Completions::nothing(Directive::NoFiles);
    if operands.len() != before + 1 {
        return nothing();
    }
    let mut parts = operands[before].split('/');
    let (Some(repository), Some(chart), None) = (parts.next(), parts.next(), parts.next()) else {
        return nothing();
    };
    let cache = remote::folders(&invocation.flags, invocation.environment).repository_cache;
    let Ok(index) = Cached::open(&index_path(&cache, repository)) else { return nothing() };
    let heads = index.catalog.chart(chart).map(|chart| chart.versions.clone()).unwrap_or_default();
    let choices = heads.into_iter().zip(index.details(chart)).map(|(head, detail)| {
        let app = match head.app_version.as_str() {
            "" => String::new(),
            version => format!("App: {version}, "),
        };
        let created = GoTime::parse("2006-01-02T15:04:05Z07:00", &detail.created, &Zone::utc())
            .map_or_else(|_| String::new(), |time| format!("Created: {} ", time.format("January 2, 2006")));
        let deprecated = if detail.deprecated { "(deprecated)" } else { "" };
        (head.version, format!("{app}{created}{deprecated}"))
    });
    Completions::new(Directive::NoFiles, choices.collect())
}
