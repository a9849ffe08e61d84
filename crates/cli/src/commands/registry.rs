//! `registry`: logs in to and out of registries.

use std::io::Read as _;

use pintle::ops::{LoginRequest, LogoutRequest};
use pintle_tree::LogLine;

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::report::Reporting;
use crate::{prompt, registry_access};

/// `registry`
pub(crate) static COMMAND: Command = Command {
    name: "registry",
    short: "log in to or log out of a registry",
    long: "Log in to and log out of registries. Credentials are stored where Helm stores them.",
    subcommands: &[&LOGIN, &LOGOUT],
    ..Command::BLANK
};

static LOGIN: Command = Command {
    name: "login",
    operands_text: "[host]",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::NoFiles,
    short: "log in to a registry",
    long: "\
Log in to a registry and store the credentials for later commands: in the file of --registry-config, or in the
credential helper that this file configures.

    echo \"$TOKEN\" | {program} registry login registry.example.com -u me --password-stdin

When called as pintle, HOST/PATH stores credentials for this path only.",
    flags: &[FLAGS],
    run: Some(login),
    ..Command::BLANK
};

static LOGOUT: Command = Command {
    name: "logout",
    operands_text: "[host]",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::NoFiles,
    short: "log out of a registry",
    long: "Remove the stored credentials of a registry.",
    run: Some(logout),
    ..Command::BLANK
};

static FLAGS: &[Flag] = &[
    Flag::text(names::USERNAME, "the user").short('u'),
    Flag::text(names::PASSWORD, "the password or token; better is --password-stdin").short('p'),
    Flag::switch(names::PASSWORD_STDIN, "read the password or token from standard input"),
    Flag::switch(names::INSECURE, "do not check the certificate of the registry (insecure)"),
    Flag::text(names::CERT_FILE, "the client certificate to present over TLS"),
    Flag::text(names::KEY_FILE, "the key of the client certificate"),
    Flag::text(names::CA_FILE, "the file of certificate authorities to trust"),
    Flag::switch(names::PLAIN_HTTP, "speak to the registry without TLS"),
];

fn login(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let host = invocation.operand(0).to_owned();
    let (user, password) = user_and_password(invocation)?;
    let request = LoginRequest {
        host,
        user,
        password,
        file: registry_access::login_file(&invocation.flags, invocation.environment),
        helper: default_helper(invocation),
        only_hosts: invocation.personality == Personality::Helm,
    };
    let settings = registry_access::settings(invocation, invocation.flags.on(names::INSECURE))?;
    let client = registry_access::build(settings)?;
    let mut reporter = Reporting::new(invocation.ui);
    registry_access::run(pintle::ops::login(&client, &request, &mut reporter))??;
    invocation.ui.print("Login Succeeded\n")
}

fn logout(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let host = invocation.operand(0).to_owned();
    let file = registry_access::login_file(&invocation.flags, invocation.environment);
    let request = LogoutRequest { host, file };
    registry_access::run(pintle::ops::logout(&request))??;
    invocation.ui.print(&format!("Removing login credentials for {}\n", request.host))
}

/// User name and password: from flags, standard input, or a prompt.
fn user_and_password(invocation: &mut Invocation<'_>) -> Result<(String, String), Failure> {
    let mut user = invocation.flags.text(names::USERNAME).to_owned();
    let given = invocation.flags.text(names::PASSWORD).to_owned();
    if invocation.flags.on(names::PASSWORD_STDIN) {
        let mut text = String::new();
        std::io::stdin().lock().take(1 << 20).read_to_string(&mut text)?;
        let text = text.strip_suffix('\n').unwrap_or(&text);
        return Ok((user, text.strip_suffix('\r').unwrap_or(text).to_owned()));
    }
    if !given.is_empty() {
        let message = "using --password via the CLI is insecure. Use --password-stdin";
        invocation.ui.log(&LogLine::warn(message.to_owned(), Vec::new()));
        return Ok((user, given));
    }
    if user.is_empty() {
        user = prompt::line(invocation.ui, "Username: ")?.trim().to_owned();
    }
    let (question, missing) =
        if user.is_empty() { ("Token: ", "token required") } else { ("Password: ", "password required") };
    let password = prompt::hidden(invocation.ui, question)?;
    if password.is_empty() {
        return Err(Failure::usage(missing));
    }
    Ok((user, password))
}

/// The credential helper of the operating system, if it is installed.
fn default_helper(invocation: &Invocation<'_>) -> Option<String> {
    let paths = invocation.environment.variable("PATH")?;
    let has = |name: &str| std::env::split_paths(&paths).any(|folder| folder.join(name).is_file());
    let name = match () {
        () if cfg!(target_os = "macos") => "osxkeychain",
        () if cfg!(windows) => "wincred",
        () if has("pass") => "pass",
        () => "secretservice",
    };
    has(&format!("docker-credential-{name}")).then(|| name.to_owned())
}
