//! Errors of credential plugins (`exec` in the kubeconfig), with the messages of client-go. The plugin's stdout is
//! never shown, because it may hold a token.

use std::io;
use std::path::Path;

use kube::client::AuthError;
use kube::config::ExecConfig;

use crate::error::Error;

/// What client-go adds when the plugin is not installed.
const NOT_INSTALLED: &str = "\n\nIt looks like you are trying to use a client-go credential plugin that is not installed.\n\nTo learn more about this feature, consult the documentation available at:\n      https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins";

/// The error for a server whose credentials could not be obtained.
pub(crate) fn failure(server: &str, program: Option<&ExecConfig>, error: &AuthError) -> Error {
    Error::Credentials {
        url: format!("{server}/version"),
        cause: cause(program, error),
        stderr: stderr(error),
    }
}

/// The reason, as client-go words it.
pub(crate) fn cause(program: Option<&ExecConfig>, error: &AuthError) -> String {
    let command = program.and_then(|program| program.command.as_deref()).unwrap_or("of the kubeconfig");
    match error {
        AuthError::AuthExecStart(error) => not_started(command, program, error),
        AuthError::AuthExecRun { out, .. } => {
            format!("exec: executable {command} failed with exit code {}", out.status.code().unwrap_or(-1))
        }
        AuthError::ExecPluginFailed => "exec plugin didn't return a status field".to_owned(),
        AuthError::AuthExecParse(_) => {
            format!("decoding stdout: the output of {command} is not an ExecCredential")
        }
        other => other.to_string(),
    }
}

fn not_started(command: &str, program: Option<&ExecConfig>, error: &io::Error) -> String {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    let is_bare = Path::new(command).components().count() == 1;
    if !is_bare || error.kind() != io::ErrorKind::NotFound {
        return format!("exec: fork/exec {command}: {reason}");
    }
    let hint = program.and_then(|program| program.install_hint.as_deref()).unwrap_or_default();
    let hint = if hint.is_empty() { String::new() } else { format!("\n\n{hint}") };
    format!("exec: executable {command} not found{NOT_INSTALLED}{hint}")
}

/// What the plugin wrote to stderr.
fn stderr(error: &AuthError) -> String {
    match error {
        AuthError::AuthExecRun { out, .. } => String::from_utf8_lossy(&out.stderr).trim().to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(command: &str) -> ExecConfig {
        ExecConfig {
            command: Some(command.to_owned()),
            install_hint: Some("get it there".to_owned()),
            ..ExecConfig::default()
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let missing = || AuthError::AuthExecStart(io::Error::from(io::ErrorKind::NotFound));
        let reported = failure("https://a", Some(&program("/opt/login")), &missing()).to_string();
        let expected = r#"Get "https://a/version": getting credentials: exec: fork/exec /opt/login: no such file or directory"#;
        assert_eq!(reported, expected);
        let reported = cause(Some(&program("login")), &missing());
        assert!(
            reported.starts_with("exec: executable login not found\n") && reported.ends_with("get it there")
        );
    }
}
