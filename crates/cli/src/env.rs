//! The environment of the process; no other module reads it.

use pintle_tree::number::{IntError, parse_float, parse_int};
use pintle_tree::quote::quote;

use crate::flag::value::read_bool;
use crate::path::join;

/// A setting that comes from the environment if its flag is not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    /// `HELM_NAMESPACE`.
    Namespace,
    /// `HELM_KUBECONTEXT`.
    KubeContext,
    /// `PINTLE_CLUSTER`.
    Cluster,
    /// `HELM_KUBETOKEN`.
    KubeToken,
    /// `HELM_KUBEASUSER`.
    KubeAsUser,
    /// `HELM_KUBEASGROUPS`.
    KubeAsGroups,
    /// `HELM_KUBEAPISERVER`.
    KubeApiServer,
    /// `HELM_KUBECAFILE`.
    KubeCaFile,
    /// `HELM_KUBETLS_SERVER_NAME`.
    KubeTlsServerName,
    /// `HELM_KUBEINSECURE_SKIP_TLS_VERIFY`.
    KubeInsecure,
    /// `HELM_DEBUG`.
    Debug,
    /// `HELM_REGISTRY_CONFIG`.
    RegistryConfig,
    /// `HELM_REPOSITORY_CONFIG`.
    RepositoryConfig,
    /// `HELM_REPOSITORY_CACHE`.
    RepositoryCache,
    /// `HELM_CONTENT_CACHE`.
    ContentCache,
    /// `HELM_PLUGINS`.
    Plugins,
    /// `HELM_MAX_HISTORY`.
    MaxHistory,
    /// `HELM_BURST_LIMIT`.
    BurstLimit,
    /// `HELM_QPS`.
    Qps,
    /// `NO_COLOR` and `HELM_COLOR`.
    Color,
    /// The public keyring of GnuPG.
    Keyring,
    /// `LOG_LEVEL`.
    LogLevel,
}

/// Helm's base directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// `HELM_CACHE_HOME`: files that can be downloaded again.
    Cache,
    /// `HELM_CONFIG_HOME`: repositories and registry credentials.
    Config,
    /// `HELM_DATA_HOME`: plugins and starters.
    Data,
}

/// The environment variables, of the process or of a test.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    fixed: Option<Vec<(&'static str, &'static str)>>,
}

impl Environment {
    /// The environment of this process.
    pub(crate) fn from_process() -> Environment {
        Environment::default()
    }

    /// The value of a variable, if it is set.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        match &self.fixed {
            Some(fixed) => {
                fixed.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
            }
            #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
            None => std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()),
        }
    }

    /// All variables. Those that are not valid text are given with replacement characters.
    pub(crate) fn all(&self) -> std::collections::BTreeMap<String, String> {
        match &self.fixed {
            Some(fixed) => {
                fixed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
            }
            #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
            None => std::env::vars_os()
                .map(|(name, value)| {
                    (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned())
                })
                .collect(),
        }
    }

    fn or(&self, name: &str, fallback: impl FnOnce() -> String) -> String {
        self.variable(name).unwrap_or_else(fallback)
    }

    fn plain(&self, name: &str) -> String {
        self.or(name, String::new)
    }

    /// The value of a setting, as help shows it as a default.
    pub(crate) fn setting(&self, setting: Setting) -> String {
        match setting {
            Setting::Namespace => self.plain("HELM_NAMESPACE"),
            Setting::KubeContext => self.plain("HELM_KUBECONTEXT"),
            Setting::Cluster => self.plain("PINTLE_CLUSTER"),
            Setting::KubeToken => self.plain("HELM_KUBETOKEN"),
            Setting::KubeAsUser => self.plain("HELM_KUBEASUSER"),
            Setting::KubeAsGroups => format!("[{}]", self.groups().join(",")),
            Setting::KubeApiServer => self.plain("HELM_KUBEAPISERVER"),
            Setting::KubeCaFile => self.plain("HELM_KUBECAFILE"),
            Setting::KubeTlsServerName => self.plain("HELM_KUBETLS_SERVER_NAME"),
            Setting::KubeInsecure => self.is_true("HELM_KUBEINSECURE_SKIP_TLS_VERIFY").to_string(),
            Setting::Debug => self.is_true("HELM_DEBUG").to_string(),
            Setting::RegistryConfig => {
                self.or("HELM_REGISTRY_CONFIG", || self.home(Home::Config, "registry/config.json"))
            }
            Setting::RepositoryConfig => {
                self.or("HELM_REPOSITORY_CONFIG", || self.home(Home::Config, "repositories.yaml"))
            }
            Setting::RepositoryCache => {
                self.or("HELM_REPOSITORY_CACHE", || self.home(Home::Cache, "repository"))
            }
            Setting::ContentCache => self.or("HELM_CONTENT_CACHE", || self.home(Home::Cache, "content")),
            Setting::Plugins => self.or("HELM_PLUGINS", || self.home(Home::Data, "plugins")),
            Setting::MaxHistory => self.integer("HELM_MAX_HISTORY", 10).to_string(),
            Setting::BurstLimit => self.integer("HELM_BURST_LIMIT", 100).to_string(),
            Setting::Qps => self.qps().to_string(),
            Setting::Color => self.color().to_owned(),
            Setting::LogLevel => self.plain("LOG_LEVEL"),
            Setting::Keyring => {
                let folder =
                    self.variable("GNUPGHOME").unwrap_or_else(|| join(&[&self.user_home(), ".gnupg"]));
                let (legacy, keybox) = (join(&[&folder, "pubring.gpg"]), join(&[&folder, "pubring.kbx"]));
                // GnuPG has kept keys in the keybox since 2.1; a keyring of before is left where it was.
                match is_absent(&legacy) && !is_absent(&keybox) {
                    true => keybox,
                    false => legacy,
                }
            }
        }
    }

    /// The groups to impersonate.
    pub(crate) fn groups(&self) -> Vec<String> {
        let text = self.plain("HELM_KUBEASGROUPS");
        let trimmed = text.trim_matches([',', ' ']);
        if trimmed.is_empty() { Vec::new() } else { trimmed.split(',').map(str::to_owned).collect() }
    }

    /// Queries per second; 0 means the default of the client.
    pub(crate) fn qps(&self) -> f32 {
        self.variable("HELM_QPS").and_then(|text| parse_float(&text)).map_or(0.0, |number| number as f32)
    }

    fn is_true(&self, name: &str) -> bool {
        self.variable(name).is_some_and(|text| read_bool(&text).unwrap_or(false))
    }

    fn integer(&self, name: &str, fallback: i64) -> i64 {
        self.variable(name).and_then(|text| text.parse().ok()).unwrap_or(fallback)
    }

    fn color(&self) -> &'static str {
        if self.variable("NO_COLOR").is_some_and(|text| !text.is_empty()) {
            return "never";
        }
        match self.plain("HELM_COLOR").to_lowercase().as_str() {
            "never" => "never",
            "always" => "always",
            _ => "auto",
        }
    }

    /// The home directory of the user.
    pub(crate) fn user_home(&self) -> String {
        self.plain(if cfg!(windows) { "USERPROFILE" } else { "HOME" })
    }

    /// A path in one of Helm's base directories: Helm's variable first, then the XDG variable, then the default of the
    /// operating system.
    pub(crate) fn home(&self, home: Home, path: &str) -> String {
        let (own, xdg) = match home {
            Home::Cache => ("HELM_CACHE_HOME", "XDG_CACHE_HOME"),
            Home::Config => ("HELM_CONFIG_HOME", "XDG_CONFIG_HOME"),
            Home::Data => ("HELM_DATA_HOME", "XDG_DATA_HOME"),
        };
        let set = |name: &str| self.variable(name).filter(|text| !text.is_empty());
        if let Some(own) = set(own) {
            return join(&[&own, path]);
        }
        let base = set(xdg).unwrap_or_else(|| self.system_home(home));
        join(&[&base, "helm", path])
    }

    fn system_home(&self, home: Home) -> String {
        if cfg!(windows) {
            return self.plain(if home == Home::Cache { "TEMP" } else { "APPDATA" });
        }
        let folder = match (home, cfg!(target_os = "macos")) {
            (Home::Cache, true) => "Library/Caches",
            (Home::Config, true) => "Library/Preferences",
            (Home::Data, true) => "Library",
            (Home::Cache, false) => ".cache",
            (Home::Config, false) => ".config",
            (Home::Data, false) => ".local/share",
        };
        join(&[&self.user_home(), folder])
    }

    /// The directory for temporary files.
    pub(crate) fn temporary_folder(&self) -> std::path::PathBuf {
        std::env::temp_dir()
    }

    /// `SOURCE_DATE_EPOCH`, the time to record in archives, for reproducible builds: seconds since the Unix epoch.
    ///
    /// # Errors
    /// With Helm's text if it is no such number.
    pub(crate) fn source_date_epoch(&self) -> Result<Option<i64>, String> {
        let Some(text) = self.variable("SOURCE_DATE_EPOCH").filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let reason = match parse_int(&text, 10) {
            Ok(seconds) if seconds >= 0 => return Ok(Some(seconds)),
            Ok(_) => return Err("invalid SOURCE_DATE_EPOCH: must not be negative".to_owned()),
            Err(IntError::Syntax) => "invalid syntax",
            Err(IntError::Range) => "value out of range",
        };
        let text = quote(text.as_bytes());
        Err(format!("invalid SOURCE_DATE_EPOCH: strconv.ParseInt: parsing {text}: {reason}"))
    }
}

/// Whether there is no such file. One that cannot be looked at may be there, and is named in the error about it.
fn is_absent(path: &str) -> bool {
    std::fs::metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(fixed: &[(&'static str, &'static str)]) -> Environment {
        Environment { fixed: Some(fixed.to_vec()) }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn helms_own_variable_wins_over_xdg_and_the_system() {
        let home = ("HOME", "/home/me");
        assert_eq!(with(&[home]).home(Home::Data, "plugins"), "/home/me/.local/share/helm/plugins");
        assert_eq!(with(&[home, ("XDG_DATA_HOME", "/x")]).home(Home::Data, ""), "/x/helm");
        assert_eq!(
            with(&[home, ("XDG_DATA_HOME", "/x"), ("HELM_DATA_HOME", "/h/")]).home(Home::Data, ""),
            "/h"
        );
    }

    #[test]
    fn no_color_wins_and_unknown_colour_words_count_for_nothing() {
        assert_eq!(with(&[("NO_COLOR", "1"), ("HELM_COLOR", "always")]).color(), "never");
        assert_eq!(with(&[("NO_COLOR", ""), ("HELM_COLOR", "ALWAYS")]).color(), "always");
        assert_eq!(with(&[("HELM_COLOR", "pink")]).color(), "auto");
    }

    #[test]
    fn numbers_that_are_none_leave_the_default() {
        assert_eq!(with(&[("HELM_MAX_HISTORY", "x")]).setting(Setting::MaxHistory), "10");
        assert_eq!(with(&[("HELM_KUBEASGROUPS", ", a,b ,")]).groups(), ["a", "b"]);
    }
}
