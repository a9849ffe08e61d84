//! `repo add`: adds a repository.

use pintle::ops::{AddRepositoryRequest, add_repository};
use pintle::repo::Entry;
use pintle::{Error, Remote, RemoteError};
use pintle_tree::quote::quote;

use super::TIMEOUT;
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::run_offline;
use crate::failure::{Failure, reason};
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::prompt::{self, EchoOff};
use crate::report::Reporting;
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

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let (name, url) = (invocation.operand(0).to_owned(), invocation.operand(1).to_owned());
    let access = remote::access(&invocation.flags);
    let mut request = AddRepositoryRequest {
        entry: Entry {
            name,
            url,
            username: access.username,
            password: access.password,
            cert_file: access.cert_file,
            key_file: access.key_file,
            ca_file: access.ca_file,
            insecure_skip_tls_verify: access.insecure_skip_tls_verify,
            pass_credentials_all: access.pass_credentials_all,
        },
        replace: invocation.flags.on(names::FORCE_UPDATE),
        allow_gone: invocation.flags.on(names::ALLOW_DEPRECATED_REPOS),
        needs_password: true,
    };
    let remote = super::remote(invocation);
    let mut outcome = add(invocation, &remote, &request);
    if matches!(&outcome, Err(Error::Remote(error)) if matches!(**error, RemoteError::PasswordNeeded { .. }))
    {
        request.entry.password = ask(invocation)?;
        request.needs_password = false;
        outcome = add(invocation, &remote, &request);
    }
    let is_new = outcome?;
    let name = quote(request.entry.name.as_bytes());
    invocation.ui.print(&match is_new {
        true => format!("{name} has been added to your repositories\n"),
        false => format!("{name} already exists with the same configuration, skipping\n"),
    })
}

fn add(
    invocation: &mut Invocation<'_>,
    remote: &Remote,
    request: &AddRepositoryRequest,
) -> pintle::Result<bool> {
    run_offline(add_repository(remote, request, &mut Reporting::new(invocation.ui)))
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
