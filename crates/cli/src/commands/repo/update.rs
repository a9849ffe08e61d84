//! `repo update`: updates the cached indexes of repositories.

use pintle::repo::{Entry, Repositories, repository};
use pintle_tree::quote::quote;

use super::{TIMEOUT, index_cache};
use crate::command::{ArgCompletion, Command};
use crate::failure::Failure;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::remote;

/// `repo update [NAME…]`
pub(super) static COMMAND: Command = Command {
    name: "update",
    aliases: &["up"],
    operands_text: "[REPO1 [REPO2 ...]]",
    short: "update the cached indexes of chart repositories",
    long: "\
Update the cached indexes of all repositories, or of the named ones, concurrently. An index that the server reports as
unchanged is not downloaded again.",
    completion: ArgCompletion::Repositories,
    flags: &[&[TIMEOUT, FAIL]],
    run: Some(run),
    ..Command::BLANK
};

/// A flag of Helm 3 that scripts still use.
const FAIL: Flag = Flag::switch(names::FAIL_ON_REPO_UPDATE_FAIL, "")
    .deprecated("it has no effect: an update that fails is always an error");

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let folders = remote::folders(&invocation.flags, invocation.environment);
    let none = || Failure::usage("no repositories found. You must add one before updating");
    let path = &folders.repository_config;
    let repositories = Repositories::load(path)
        .map_err(|error| error.within(&format!("failed loading file: {}", path.display())))?;
    let entries = repositories.filter(|file| !file.entries.is_empty()).ok_or_else(none)?.entries;
    let names = &invocation.flags.operands;
    if let Some(name) = names.iter().find(|name| entries.iter().all(|entry| entry.name != **name)) {
        return Err(Failure::usage(format!(
            "no repositories found matching '{name}'.  Nothing will be updated"
        )));
    }
    let selected: Vec<Entry> =
        entries.into_iter().filter(|entry| names.is_empty() || names.contains(&entry.name)).collect();
    let getter = remote::getter(invocation, remote::TIMEOUT);
    for entry in &selected {
        repository::check_scheme(&getter, &entry.url)?;
    }
    invocation.ui.print("Hang tight while we grab the latest from your chart repositories...\n")?;
    invocation.ui.flush()?;
    fetch(invocation, &selected)?;
    invocation.ui.print("Update Complete. ⎈Happy Helming!⎈\n")
}

fn fetch(invocation: &mut Invocation<'_>, entries: &[Entry]) -> Result<(), Failure> {
    let cache = index_cache(invocation);
    let getter = remote::getter(invocation, invocation.flags.duration(names::TIMEOUT));
    let ui = &mut *invocation.ui;
    let mut failed = Vec::new();
    let mut printed = Ok(());
    repository::update(&getter, entries, &cache, |entry, outcome| {
        let name = quote(entry.name.as_bytes());
        let line = match outcome {
            Ok(skipped) => {
                for skipped in skipped {
                    ui.log(&skipped.log_line(&entry.url));
                }
                format!("...Successfully got an update from the {name} chart repository\n")
            }
            Err(error) => {
                failed.push(entry.url.clone());
                let url = &entry.url;
                format!("...Unable to get an update from the {name} chart repository ({url}):\n\t{error}\n")
            }
        };
        if printed.is_ok() {
            printed = ui.print(&line).and_then(|()| ui.flush());
        }
    });
    printed?;
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::run_time(format!("failed to update the following repositories: [{}]", failed.join(" "))))
}
