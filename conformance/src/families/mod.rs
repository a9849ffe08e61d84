//! Families of single behaviours, each in its own file.

mod coalesce;
mod lint;
mod objects;
mod oci_index;
mod pem;
mod semver;
mod storage;
mod strvals;
mod template;
mod yaml;

use std::fs;
use std::path::Path;
use std::thread;

use anyhow::{Context as _, Result};

use crate::Options;
use crate::case::Case;
use crate::report::{Tally, print_line};

/// Runs a case and returns the difference, if any.
type Check = fn(&Case) -> Option<String>;

/// All families, by the name of their file.
const FAMILIES: &[(&str, Check)] = &[
    ("template", template::check),
    ("sprig", template::check),
    ("yaml-parse", yaml::check_parse),
    ("yaml-emit", yaml::check_emit),
    ("strvals", strvals::check),
    ("coalesce", coalesce::check),
    ("semver", semver::check),
    ("objects", objects::check),
    ("lint", lint::check),
    ("storage", storage::check),
    ("oci-index", oci_index::check),
];

/// The stack size of worker threads, equal to that of a main thread, because deep templates are among the cases.
const STACK: usize = 8 << 20;

/// Runs every known family in `folder`.
pub(crate) fn run(folder: &Path, options: &Options) -> Result<bool> {
    let mut good = true;
    let mut found = false;
    for (family, check) in FAMILIES {
        let path = folder.join(format!("{family}.jsonl"));
        if !path.is_file() || !family.contains(&options.only) {
            continue;
        }
        found = true;
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        good &= run_family(&pintle_testkit::up_to_date(family, &text), *check)?.print(family, options);
    }
    if !found {
        print_line(&format!("no known family in {}", folder.display()));
    }
    Ok(good && found)
}

fn run_family(lines: &[String], check: Check) -> Result<Tally> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = lines.len().div_ceil(threads).max(1);
    thread::scope(|scope| {
        let handles: Vec<_> = lines
            .chunks(share)
            .map(|lines| {
                thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || run_lines(lines, check))
            })
            .collect();
        let mut whole = Tally::default();
        for handle in handles {
            let part = handle.context("cannot start a thread")?.join();
            whole.merge(part.map_err(|_| anyhow::anyhow!("a case panicked"))??);
        }
        Ok(whole)
    })
}

fn run_lines(lines: &[String], check: Check) -> Result<Tally> {
    let mut tally = Tally::default();
    for line in lines {
        let case = Case::parse(line)?;
        let difference =
            std::panic::catch_unwind(|| check(&case)).unwrap_or_else(|_| Some("panicked".to_owned()));
        tally.add(
            &case.id,
            case.text("fn"),
            difference.map(|text| format!("{text}\n        {}", describe(&case))),
        );
    }
    Ok(tally)
}

fn describe(case: &Case) -> String {
    crate::case::shorten(&case.input)
}
