//! Runs credential plugins (`exec` in the kubeconfig).
//!
//! kube would run a plugin several times for one client and read its output to the end, however long it is.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::thread;

use kube::config::{ExecConfig, ExecInteractiveMode};
use pintle_release::Timestamp;
use pintle_tree::{Node, json};
use thiserror::Error;

/// The most that a plugin may print; credentials with certificates have a few kilobytes.
const MAX_OUTPUT: u64 = 1 << 20;

/// How much of a plugin's standard error is kept for the error message.
const MAX_STDERR: u64 = 64 << 10;

/// The credential that a plugin returned.
#[derive(Clone)]
pub(crate) struct Credential {
    pub(crate) token: Option<String>,
    /// A client certificate and its key, in PEM.
    pub(crate) certificate: Option<(String, String)>,
    pub(crate) expires: Option<Timestamp>,
}

impl Credential {
    /// Whether it is the same token and certificate, until whenever.
    pub(crate) fn is_same(&self, other: &Credential) -> bool {
        self.token == other.token && self.certificate == other.certificate
    }
}

/// Why there is no credential. Texts are those of client-go where it has one. What a plugin printed is never part of
/// them, because it may hold a token.
#[derive(Debug, Error)]
pub(crate) enum PluginError {
    #[error("exec: fork/exec {command}: {reason}")]
    Start { command: String, reason: String },
    #[error("exec: executable {command} not found{hint}")]
    NotFound { command: String, hint: String },
    #[error("exec: executable {command} failed with exit code {code}")]
    Failed { command: String, code: i32, stderr: String },
    #[error("exec: executable {command} printed more than {MAX_OUTPUT} bytes")]
    TooLong { command: String },
    #[error("decoding stdout: the output of {command} is not an ExecCredential")]
    Malformed { command: String },
    #[error("exec plugin is configured to use API version {configured}, plugin returned version {returned}")]
    Version { configured: String, returned: String },
    #[error("exec plugin didn't return a status field")]
    NoStatus,
    #[error("exec plugin didn't return a token or cert/key pair")]
    Empty,
    #[error("exec plugin returned only certificate or key, not both")]
    HalfCertificate,
    #[error("decoding stdout: {0}")]
    Expiration(String),
}

/// What client-go adds when the plugin is not installed.
const NOT_INSTALLED: &str = "\n\nIt looks like you are trying to use a client-go credential plugin that is not installed.\n\nTo learn more about this feature, consult the documentation available at:\n      https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins";

/// Runs a plugin until it exits. There is no timeout, because it may prompt the user.
pub(crate) fn run(plugin: &ExecConfig) -> Result<Credential, PluginError> {
    let name = plugin.command.clone().unwrap_or_default();
    let mut child = command(plugin).spawn().map_err(|error| not_started(plugin, &name, &error))?;
    // On a thread: if the plugin filled one pipe while we read the other, both would deadlock.
    let stderr = child.stderr.take().map(|pipe| thread::spawn(move || read(pipe, MAX_STDERR)));
    let stdout = child.stdout.take().map(|pipe| read(pipe, MAX_OUTPUT + 1)).unwrap_or_default();
    if stdout.len() as u64 > MAX_OUTPUT {
        end(&mut child);
        return Err(PluginError::TooLong { command: name });
    }
    let reason = |error: io::Error| PluginError::Start { command: name.clone(), reason: error.to_string() };
    let status = child.wait().map_err(reason)?;
    if !status.success() {
        let stderr = stderr.and_then(|thread| thread.join().ok()).unwrap_or_default();
        let stderr = String::from_utf8_lossy(&stderr).trim().to_owned();
        return Err(PluginError::Failed { command: name, code: status.code().unwrap_or(-1), stderr });
    }
    parse(plugin, &name, &stdout)
}

fn command(plugin: &ExecConfig) -> Command {
    let mut command = Command::new(plugin.command.as_deref().unwrap_or_default());
    command.args(plugin.args.iter().flatten());
    for variable in plugin.env.iter().flatten() {
        if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
            command.env(name, value);
        }
    }
    let interactive = plugin.interactive_mode != Some(ExecInteractiveMode::Never);
    // Otherwise standard error is inherited: prompts such as a device code must reach the user at once.
    if !interactive {
        command.stdin(Stdio::null()).stderr(Stdio::piped());
    }
    let cluster = plugin.cluster.as_ref().filter(|_| plugin.provide_cluster_info);
    let mut spec = serde_json::json!({ "interactive": interactive });
    if let Some(cluster) = cluster.and_then(|cluster| serde_json::to_value(cluster).ok()) {
        spec["cluster"] = cluster;
    }
    let version = plugin.api_version.as_deref().unwrap_or_default();
    let info = serde_json::json!({ "apiVersion": version, "kind": "ExecCredential", "spec": spec });
    command.env("KUBERNETES_EXEC_INFO", info.to_string()).stdout(Stdio::piped());
    command
}

/// Reads at most `most` bytes. A read error counts as end of file; the exit code shows whether the plugin failed.
fn read(pipe: impl Read, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = pipe.take(most).read_to_end(&mut bytes);
    bytes
}

/// Kills a plugin that does not stop printing. That it may have exited by itself is not an error.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn not_started(plugin: &ExecConfig, command: &str, error: &io::Error) -> PluginError {
    let is_bare = !command.contains('/') && !command.contains(std::path::MAIN_SEPARATOR);
    let command = command.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound if is_bare => {
            let hint = plugin.install_hint.as_deref().filter(|hint| !hint.is_empty());
            let hint = hint.map(|hint| format!("\n\n{hint}")).unwrap_or_default();
            PluginError::NotFound { command, hint: format!("{NOT_INSTALLED}{hint}") }
        }
        io::ErrorKind::NotFound => PluginError::Start { command, reason: "no such file or directory".into() },
        io::ErrorKind::PermissionDenied => PluginError::Start { command, reason: "permission denied".into() },
        _ => PluginError::Start { command, reason: error.to_string() },
    }
}

/// Plugins print JSON; client-go also takes YAML.
fn parse(plugin: &ExecConfig, command: &str, stdout: &[u8]) -> Result<Credential, PluginError> {
    let malformed = || PluginError::Malformed { command: command.to_owned() };
    let read = json::read(stdout).ok().or_else(|| pintle_yaml::read(stdout).ok());
    let printed = read.filter(|node| node.as_map().is_some()).ok_or_else(malformed)?;
    let configured = plugin.api_version.as_deref().unwrap_or_default();
    let returned = printed.get("apiVersion").and_then(Node::as_str).unwrap_or_default();
    if configured != returned {
        let (configured, returned) = (configured.to_owned(), returned.to_owned());
        return Err(PluginError::Version { configured, returned });
    }
    let status = printed.get("status").filter(|status| !status.is_nil()).ok_or(PluginError::NoStatus)?;
    let text =
        |key: &str| status.get(key).and_then(Node::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
    let certificate = match (text("clientCertificateData"), text("clientKeyData")) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err(PluginError::HalfCertificate),
    };
    let token = text("token");
    if token.is_none() && certificate.is_none() {
        return Err(PluginError::Empty);
    }
    let expires = text("expirationTimestamp").map(|text| Timestamp::parse(&text)).transpose();
    Ok(Credential { token, certificate, expires: expires.map_err(PluginError::Expiration)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: &str = "client.authentication.k8s.io/v1";

    fn shell(script: &str) -> ExecConfig {
        ExecConfig {
            api_version: Some(VERSION.to_owned()),
            command: Some("/bin/sh".to_owned()),
            args: Some(vec!["-c".to_owned(), script.to_owned()]),
            interactive_mode: Some(ExecInteractiveMode::Never),
            ..ExecConfig::default()
        }
    }

    fn printing(status: &str) -> ExecConfig {
        shell(&format!("echo '{{\"apiVersion\": \"{VERSION}\", \"kind\": \"ExecCredential\"{status}}}'"))
    }

    fn refused(plugin: &ExecConfig) -> String {
        run(plugin).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_plugin_gives_a_token_or_a_certificate() {
        let given =
            run(&printing(r#", "status": {"token": "t", "expirationTimestamp": "2030-01-02T03:04:05Z"}"#))
                .unwrap();
        assert_eq!(given.token.as_deref(), Some("t"));
        assert_eq!(given.expires.map(|at| at.unix()), Some(1_893_553_445));
        let given =
            run(&printing(r#", "status": {"clientCertificateData": "c", "clientKeyData": "k"}"#)).unwrap();
        assert_eq!(given.certificate, Some(("c".to_owned(), "k".to_owned())));
        let yaml = shell(&format!("printf 'apiVersion: {VERSION}\\nstatus:\\n  token: yaml\\n'"));
        assert_eq!(run(&yaml).unwrap().token.as_deref(), Some("yaml"));
        let plugin = shell(
            r#"case "$KUBERNETES_EXEC_INFO" in *'"spec":{"interactive":false}'*) printf %s "$0"; exit ;; esac; exit 9"#,
        );
        let credential = format!("apiVersion: {VERSION}\nstatus: {{token: issued}}");
        let args = plugin.args.clone().into_iter().flatten().chain([credential]).collect();
        let plugin = ExecConfig { args: Some(args), ..plugin };
        assert_eq!(run(&plugin).unwrap().token.as_deref(), Some("issued"));
    }

    #[test]
    fn a_plugin_that_prints_without_end_is_ended() {
        assert_eq!(
            refused(&shell(
                "while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done"
            )),
            "exec: executable /bin/sh printed more than 1048576 bytes"
        );
        // Standard error is limited, too.
        let chatty = shell("while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa >&2 || exit 3; done");
        assert!(matches!(run(&chatty), Err(PluginError::Failed { stderr, .. }) if stderr.len() <= 65_536));
    }

    #[test]
    fn plugin_errors_have_the_messages_of_client_go() {
        let failing = shell("echo no luck >&2; exit 7");
        assert!(
            matches!(run(&failing), Err(PluginError::Failed { code: 7, stderr, .. }) if stderr == "no luck")
        );
        for (plugin, wanted) in [
            (shell("echo token"), "decoding stdout: the output of /bin/sh is not an ExecCredential"),
            (
                shell("echo '{}'"),
                "exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin returned version ",
            ),
            (printing(""), "exec plugin didn't return a status field"),
            (printing(r#", "status": {}"#), "exec plugin didn't return a token or cert/key pair"),
            (
                printing(r#", "status": {"clientKeyData": "k"}"#),
                "exec plugin returned only certificate or key, not both",
            ),
        ] {
            assert_eq!(refused(&plugin), wanted);
        }
        let missing = |command: &str| ExecConfig {
            command: Some(command.to_owned()),
            install_hint: Some("get it there".to_owned()),
            ..ExecConfig::default()
        };
        assert_eq!(
            refused(&missing("/opt/no/login")),
            "exec: fork/exec /opt/no/login: no such file or directory"
        );
        let message = refused(&missing("no-such-login"));
        assert!(
            message.starts_with("exec: executable no-such-login not found\n")
                && message.ends_with("get it there")
        );
    }
}
