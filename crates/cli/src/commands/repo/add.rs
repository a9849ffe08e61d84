//! `repo add`: adds a repository.

use pintle::repo::repository::{check_scheme, download_index};
use pintle::repo::{Entry, Locked, Repositories, unreachable_repository};
use pintle_tree::quote::quote;

use super::{TIMEOUT, index_cache};
use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::{Failure, reason};
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::prompt::{self, EchoOff};
use crate::{read, remote};

/// `repo add NAME URL`
pub(super) static COMMAND: Command = Command {
    name: "add",
    operands_text: "[NAME] [URL]",
    short: "add a chart repository",
    long: "\
Download the index of a repository and add the repository under a name.

Adding the same repository again does nothing; --force-update replaces one that has other settings.",
    operands: Operands::Exactly(2),
    completion: ArgCompletion::NothingUpTo(2),
    flags: &[OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::text(names::USERNAME, "the user to log in as"),
    Flag::text(names::PASSWORD, "the password"),
    Flag::switch(names::PASSWORD_STDIN, "read the password from standard input"),
    Flag::switch(names::FORCE_UPDATE, "replace a repository of the same name"),
    Flag::text(names::CERT_FILE, "the client certificate to present over TLS"),
    Flag::text(names::KEY_FILE, "the key of the client certificate"),
    Flag::text(names::CA_FILE, "the file of certificate authorities to trust instead of the system's"),
    Flag::switch(names::INSECURE_SKIP_TLS_VERIFY, "do not check the server's certificate"),
    Flag::switch(names::ALLOW_DEPRECATED_REPOS, "let repositories be added that are known to be gone"),
    Flag::switch(names::PASS_CREDENTIALS, "send credentials to every host, not just the repository's"),
    // A flag of Helm 3 that scripts still use.
    Flag::switch(names::NO_UPDATE, "").deprecated("it has no effect: the index is always fetched"),
    TIMEOUT,
];

/// Repositories that were shut down, with their successors.
const DEPRECATED: [(&str, &str); 2] = [
    ("//kubernetes-charts.storage.googleapis.com", "https://charts.helm.sh/stable"),
    ("//kubernetes-charts-incubator.storage.googleapis.com", "https://charts.helm.sh/incubator"),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let (name, url) = (invocation.operand(0).to_owned(), invocation.operand(1).to_owned());
    if !invocation.flags.on(names::ALLOW_DEPRECATED_REPOS)
        && let Some((_, new)) = DEPRECATED.iter().find(|(old, _)| url.contains(old))
    {
        let (url, new) = (quote(url.as_bytes()), quote(new.as_bytes()));
        return Err(Failure::usage(format!("repo {url} is no longer available; try {new} instead")));
    }
    let folders = remote::folders(&invocation.flags, invocation.environment);
    let lock = Locked::open(&folders.repository_config)?;
    let mut repositories = lock.read()?;
    let entry = entry(invocation, name, url)?;
    if entry.name.contains('/') {
        return Err(Failure::usage(format!(
            "repository name ({}) contains '/', please specify a different name without '/'",
            entry.name
        )));
    }
    if skips(invocation, &repositories, &entry)? {
        return Ok(());
    }
    let getter = remote::getter(invocation, invocation.flags.duration(names::TIMEOUT));
    check_scheme(&getter, &entry.url)?;
    let skipped = download_index(&getter, &entry, &index_cache(invocation))
        .map_err(|error| unreachable_repository(&entry.url, error))?;
    for skipped in skipped {
        invocation.ui.log(&skipped.log_line(&entry.url));
    }
    let name = quote(entry.name.as_bytes());
    repositories.update(entry);
    lock.write(&repositories)?;
    invocation.ui.print(&format!("{name} has been added to your repositories\n"))
}

/// Whether the repository exists with the same settings.
fn skips(
    invocation: &mut Invocation<'_>,
    repositories: &Repositories,
    entry: &Entry,
) -> Result<bool, Failure> {
    if invocation.flags.on(names::FORCE_UPDATE) {
        return Ok(false);
    }
    let name = &entry.name;
    match repositories.get(name) {
        None => Ok(false),
        Some(there) if there != entry => Err(Failure::usage(format!(
            "repository name ({name}) already exists, please specify a different name"
        ))
        .hint("--force-update replaces it")),
        Some(_) => {
            let name = quote(name.as_bytes());
            invocation.ui.print(&format!("{name} already exists with the same configuration, skipping\n"))?;
            Ok(true)
        }
    }
}

fn entry(invocation: &mut Invocation<'_>, name: String, url: String) -> Result<Entry, Failure> {
    let access = remote::access(&invocation.flags);
    let mut password = access.password;
    if !access.username.is_empty() && password.is_empty() {
        password = ask(invocation)?;
    }
    Ok(Entry {
        name,
        url,
        username: access.username,
        password,
        cert_file: access.cert_file,
        key_file: access.key_file,
        ca_file: access.ca_file,
        insecure_skip_tls_verify: access.insecure_skip_tls_verify,
        pass_credentials_all: access.pass_credentials_all,
    })
}

fn ask(invocation: &mut Invocation<'_>) -> Result<String, Failure> {
    if invocation.flags.on(names::PASSWORD_STDIN) {
        let text = read::standard_input()?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let text = text.strip_suffix('\n').unwrap_or(&text);
        return Ok(text.strip_suffix('\r').unwrap_or(text).to_owned());
    }
    let echo = EchoOff::start();
    invocation.ui.print("Password: ")?;
    invocation.ui.flush()?;
    let answer = echo.map_err(|error| Failure::run_time(reason(&error))).and_then(|_off| prompt::read());
    // Helm ends the line whether or not there was an answer.
    invocation.ui.print("\n")?;
    answer
}
