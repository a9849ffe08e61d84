//! `os`: the environment and the clock, for scripts with the `os` permission.

use mlua::Value;

use crate::call::{Answer, Body, Call, CallError};
use crate::services::System;

/// The steps charged per call.
const STEPS: u64 = 100;

/// Environment variables that lead to credentials, and prefixes of such names.
const BEGINNINGS: [&str; 9] =
    ["HELM_", "PINTLE_", "KUBE", "AWS_", "AZURE_", "GOOGLE_", "SSH_", "GPG_", "DOCKER_"];

/// Words in names of variables that hold secrets.
const WORDS: [&str; 14] = [
    "TOKEN",
    "SECRET",
    "PASS",
    "PWD",
    "CREDENTIAL",
    "KEY",
    "AUTH",
    "COOKIE",
    "SESSION",
    "PRIVATE",
    "PROXY",
    "CERT",
    "JWT",
    "DSN",
];

/// The functions of `os`.
pub(super) const FUNCTIONS: &[(&str, Body)] = &[("getenv", getenv), ("time", time)];

/// An environment variable, or nil.
fn getenv(call: &Call<'_>) -> Answer {
    let name = call.text(0)?;
    call.charge(STEPS)?;
    // Plugins are trusted, because users install them themselves; a chart may come from anywhere.
    if call.host.plugin.is_none() && may_hold_a_secret(&name) {
        return call.fail(format!(
            "{name:?} is not for scripts, because by its name it may hold a secret or lead to one; give what the chart \
             needs as a value, for example with --set"
        ));
    }
    match system(call)?.variable(&name) {
        Some(value) => call.return_text(value),
        None => Ok(Value::Nil),
    }
}

/// Seconds since the Unix epoch.
fn time(call: &Call<'_>) -> Answer {
    Ok(Value::Number(system(call)?.now().floor()))
}

/// Whether a variable may hold a secret, by its name. `PWD`, the working directory, does not.
fn may_hold_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let begins = BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
    let contains = WORDS.iter().any(|word| name.contains(word));
    // Service URLs carry users and passwords.
    let is_address = name.ends_with("_URL") || name.ends_with("_URI");
    (begins || contains || is_address) && !matches!(name.as_str(), "PWD" | "OLDPWD")
}

fn system<'a>(call: &'a Call<'_>) -> Result<&'a dyn System, CallError> {
    match &call.host.services.system {
        Some(system) => Ok(system.as_ref()),
        None => call.fail("the system cannot be asked here"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_distinguished_from_others() {
        for name in [
            "HELM_KUBETOKEN",
            "KUBECONFIG",
            "kubeconfig",
            "AWS_ACCESS_KEY_ID",
            "GITHUB_TOKEN",
            "PGPASSWORD",
            "DATABASE_URL",
            "https_proxy",
            "SSH_AUTH_SOCK",
            "npm_config__authToken",
            "PINTLE_X",
        ] {
            assert!(may_hold_a_secret(name), "{name}");
        }
        for name in ["HOME", "LANG", "CI", "PWD", "GREETING", "USER", "CI_COMMIT_SHA"] {
            assert!(!may_hold_a_secret(name), "{name}");
        }
    }
}
