//! Runs git; no other module does.
//!
//! A repository is as untrusted as a chart, and its configuration can name programs for much of what git does: hooks, file
//! system monitors, filters, external diffs, credential helpers, SSH commands, remote helpers. None of them runs here, in
//! three steps:
//!
//! - settings on the command line override those of the repository, and filters, whose names the repository chooses, are
//!   looked up and switched off one by one;
//! - the configuration of the system and of the user is not read by git. What a fetch needs of it (credentials, proxies,
//!   certificates, SSH, `url.*.insteadOf`), and what decides how files are compared, is read first and handed over;
//! - remotes are contacted only by [`Git::with_remotes`], which is for clones that this program makes itself: their
//!   configuration is git's own.
//!
//! Time and output of each call are limited as those of plugins are.

pub(crate) mod snapshot;
pub(crate) mod tree;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::env::Environment;
use crate::plugins::process::{Captured, Stderr, capture, look_path, timeout};

/// Settings that take precedence over those of a repository.
const SETTINGS: [&str; 22] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.alternateRefsCommand=true",
    "core.editor=false",
    "core.pager=cat",
    "sequence.editor=false",
    "log.showSignature=false",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    // A repository inside of another, such as in a folder of a chart, is not to be found by chance.
    "safe.bareRepository=explicit",
    "protocol.allow=never",
    "protocol.ext.allow=never",
    "protocol.https.allow=always",
    "protocol.http.allow=always",
    "protocol.ssh.allow=always",
    "protocol.git.allow=always",
    // A URL that the user typed may name a folder, the URL of a submodule may not.
    "protocol.file.allow=user",
];

/// Variables by which git finds another repository than that of its working directory, as they are set for hooks.
const LOCATION: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CONFIG",
];

/// Sections of the user's configuration that a fetch needs.
const FOR_REMOTES: [&str; 3] = ["credential.", "http.", "ssh."];

/// Settings of the user that decide how files are compared and which repositories are trusted.
const FOR_FILES: [&str; 7] = [
    "core.autocrlf",
    "core.eol",
    "core.excludesfile",
    "core.longpaths",
    "core.precomposeunicode",
    "core.quotepath",
    "safe.directory",
];

/// Whether remotes may be contacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Files,
    Remotes,
}

/// The git program.
pub(crate) struct Git<'e> {
    environment: &'e Environment,
    program: String,
    reach: Reach,
    /// Settings of the user, in their order, as git prints them: names in lower case.
    user: Vec<(String, String)>,
    /// The arguments that switch off the filters of a repository, by its folder.
    filters: RefCell<BTreeMap<PathBuf, Vec<String>>>,
}

/// Why a call of git failed.
#[derive(Debug)]
pub(crate) enum GitError {
    /// It could not be run, or was stopped.
    NotRun(String),
    /// It ended with an error.
    Exit(Captured),
}

impl GitError {
    /// The first line of what git said, without its prefix.
    pub(crate) fn reason(&self) -> String {
        match self {
            GitError::NotRun(reason) => reason.clone(),
            GitError::Exit(captured) => {
                let text = String::from_utf8_lossy(&captured.stderr);
                text.trim().lines().next().unwrap_or_default().trim_start_matches("fatal: ").to_owned()
            }
        }
    }
}

impl<'e> Git<'e> {
    /// Git for what is on this machine. It contacts no remote.
    ///
    /// # Errors
    /// When there is no git.
    pub(crate) fn new(environment: &'e Environment) -> Result<Git<'e>, String> {
        Git::with_reach(environment, Reach::Files)
    }

    /// Git for clones. Commands must not run in a repository that this program has not made.
    ///
    /// # Errors
    /// When there is no git.
    pub(crate) fn with_remotes(environment: &'e Environment) -> Result<Git<'e>, String> {
        Git::with_reach(environment, Reach::Remotes)
    }

    fn with_reach(environment: &'e Environment, reach: Reach) -> Result<Git<'e>, String> {
        // Without a path, the system has a default one.
        let program = match environment.variable("PATH") {
            None => "git".to_owned(),
            Some(_) => look_path("git", environment)?,
        };
        let user = user_settings(&program, environment);
        Ok(Git { environment, program, reach, user, filters: RefCell::default() })
    }

    /// Runs git in a folder, or where it makes no difference in none.
    ///
    /// # Errors
    /// When git cannot be run, fails, prints too much or takes too long.
    pub(crate) fn run(&self, folder: Option<&Path>, args: &[&str]) -> Result<Captured, GitError> {
        self.run_with(folder, args, None)
    }

    /// The same with text on its standard input.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub(crate) fn run_with(
        &self,
        folder: Option<&Path>,
        args: &[&str],
        input: Option<&[u8]>,
    ) -> Result<Captured, GitError> {
        let mut command = self.command(folder);
        // Without a folder there is no repository whose filters could run, except those of the clone that is made.
        let here = folder.unwrap_or(Path::new("."));
        if self.reach == Reach::Files || folder.is_some() {
            command.args(self.without_filters(here)?);
        }
        let (name, rest) = args.split_first().map_or(("", args), |(name, rest)| (*name, rest));
        command.arg(name);
        if matches!(name, "diff" | "show" | "log") {
            command.args(["--no-ext-diff", "--no-textconv"]);
        }
        self.finish(command.args(rest), input)
    }

    fn finish(&self, command: &mut Command, input: Option<&[u8]>) -> Result<Captured, GitError> {
        let not_run = |failure: crate::failure::Failure| GitError::NotRun(failure.text.clone());
        let time = timeout(self.environment).map_err(not_run)?;
        let captured = capture(command, input, Stderr::Captured, time).map_err(not_run)?;
        if captured.status.success() { Ok(captured) } else { Err(GitError::Exit(captured)) }
    }

    /// Git with everything switched off but filters.
    fn command(&self, folder: Option<&Path>) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--no-pager");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        if let Some(folder) = folder {
            command.current_dir(folder);
            if folder.is_absolute() {
                command.env("PWD", folder);
            }
        }
        isolate(&mut command);
        match self.reach {
            Reach::Files => {
                // Missing objects of a partial clone are not downloaded, and indexes are not rewritten.
                command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none");
                command.env("GIT_OPTIONAL_LOCKS", "0").arg("--no-replace-objects");
            }
            Reach::Remotes => {
                for name in LOCATION {
                    command.env_remove(name);
                }
                command.env_remove("GIT_ALLOW_PROTOCOL").env_remove("GIT_PROTOCOL_FROM_USER");
                command.env("GIT_SSH_COMMAND", self.ssh_command());
            }
        }
        self.hand_over(&mut command);
        command
    }

    /// Hands over the user's settings. They are passed in the environment, which, unlike arguments, others cannot read:
    /// URLs and headers may have tokens.
    fn hand_over(&self, command: &mut Command) {
        let count = self.environment.variable("GIT_CONFIG_COUNT");
        let mut count: usize = count.and_then(|count| count.parse().ok()).unwrap_or(0);
        let mut set = |name: &str, value: &str| {
            command.env(format!("GIT_CONFIG_KEY_{count}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        };
        // An empty helper removes those that came before.
        set("credential.helper", "");
        let asks = self.value("core.askpass").filter(|_| self.reach == Reach::Remotes);
        set("core.askpass", asks.unwrap_or_default());
        for (name, value) in &self.user {
            let is_section = |section: &&str| name.starts_with(*section);
            let wanted = FOR_FILES.contains(&name.as_str())
                || name.starts_with("url.")
                || (self.reach == Reach::Remotes
                    && (FOR_REMOTES.iter().any(is_section) || name == "core.gitproxy"));
            if wanted {
                set(name, value);
            }
        }
        command.env("GIT_CONFIG_COUNT", count.to_string());
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.user.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The command for SSH, from the user's environment or configuration. It is always set, because git would take that of
    /// the repository otherwise.
    fn ssh_command(&self) -> String {
        let variable = |name| self.environment.variable(name).filter(|text| !text.is_empty());
        variable("GIT_SSH_COMMAND")
            .or_else(|| self.value("core.sshcommand").map(str::to_owned))
            .or_else(|| variable("GIT_SSH").map(|program| format!("'{}'", program.replace('\'', r"'\''"))))
            .unwrap_or_else(|| "ssh".to_owned())
    }

    /// The arguments that switch off the filters which the configuration in a folder defines.
    fn without_filters(&self, folder: &Path) -> Result<Vec<String>, GitError> {
        if let Some(known) = self.filters.borrow().get(folder) {
            return Ok(known.clone());
        }
        let mut command = self.command(Some(folder));
        let listed = match self.finish(command.args(["config", "--list", "--name-only", "-z"]), None) {
            Ok(listed) => listed.stdout,
            // Git refuses the folder: so will it for the command itself, with a better message.
            Err(GitError::Exit(_)) => Vec::new(),
            Err(error) => return Err(error),
        };
        let arguments = filter_arguments(&String::from_utf8_lossy(&listed))?;
        self.filters.borrow_mut().insert(folder.to_owned(), arguments.clone());
        Ok(arguments)
    }
}

/// Keeps git from the configuration of the system and the user, from prompts and from other programs.
fn isolate(command: &mut Command) {
    for (name, value) in [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_SYSTEM", "/dev/null"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_EDITOR", "false"),
        ("GIT_PAGER", "cat"),
    ] {
        command.env(name, value);
    }
    command.env_remove("GIT_EXTERNAL_DIFF");
}

/// The settings of the system and the user. They are trusted, and none of them is needed.
fn user_settings(program: &str, environment: &Environment) -> Vec<(String, String)> {
    let mut command = Command::new(program);
    command.args(["config", "--list", "-z"]);
    for name in LOCATION {
        command.env_remove(name);
    }
    // The settings of this process come by themselves.
    command.env_remove("GIT_CONFIG_COUNT").env_remove("GIT_CONFIG_PARAMETERS");
    // Not where a repository may be.
    command.current_dir(if cfg!(windows) { environment.temporary_folder() } else { PathBuf::from("/") });
    let Ok(time) = timeout(environment) else { return Vec::new() };
    let listed = capture(&mut command, None, Stderr::Captured, time);
    let listed = listed.map(|captured| captured.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&listed);
    let setting = |entry: &str| {
        let (name, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        (name.to_owned(), value.to_owned())
    };
    text.split('\0').filter(|entry| !entry.is_empty()).map(setting).collect()
}

/// The arguments that switch off all filters of a list of settings.
fn filter_arguments(names: &str) -> Result<Vec<String>, GitError> {
    let mut arguments = Vec::new();
    for name in names.split('\0') {
        let Some(filter) = name.strip_prefix("filter.").and_then(|rest| rest.rsplit_once('.')) else {
            continue;
        };
        // Everything before the first `=` is the name for git, so such a filter could not be switched off.
        if filter.0.contains(['=', '\n']) {
            return Err(GitError::NotRun(format!(
                "the configuration of the repository has a filter with the name {:?}, which is refused",
                filter.0
            )));
        }
        for (key, value) in [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")] {
            let setting = format!("filter.{}.{key}={value}", filter.0);
            if !arguments.contains(&setting) {
                arguments.extend(["-c".to_owned(), setting]);
            }
        }
    }
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_switched_off_by_their_names_and_odd_names_are_refused() {
        let arguments = filter_arguments("core.bare\0filter.a.b.clean\0filter.a.b.process\0").unwrap();
        assert_eq!(
            arguments,
            [
                "-c",
                "filter.a.b.clean=",
                "-c",
                "filter.a.b.smudge=",
                "-c",
                "filter.a.b.process=",
                "-c",
                "filter.a.b.required=false"
            ]
        );
        assert!(filter_arguments("filter.a=b.clean\0").is_err());
    }
}
