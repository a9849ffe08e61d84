//! Connects the scripts of charts to the user: flags, consent prompts, script output, and access to the host.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pintle::events::{ChartPath, Event};
use pintle::lua::{Level, Listener, PermissionRequests, Permissions, Services, System};
use pintle::{Clock as _, Consent, ConsentRequest, Lifecycle, Network, OfflineSession, Scripting};
use pintle_tree::quote::quote;
use pintle_tree::{LogLevel, LogLine};

use crate::clock::{self, SystemClock};
use crate::env::Environment;
use crate::failure::Failure;
use crate::flag::{Flag, FlagCompletion, names};
use crate::grants::{Grant, Grants};
use crate::invocation::Invocation;
use crate::output::terminal::sanitize;
use crate::personality::Personality;
use crate::ui::Ui;
use crate::{schemas, ui};

/// Flags of every command that runs scripts.
pub(crate) static SCRIPTS: &[Flag] = &[
    Flag::switch(names::YES, "grant the scripts of the chart all permissions that they request").short('y'),
    Flag::list(
        names::ACCEPT_PERMS,
        "grant the scripts of the chart these permissions: network, filesystem, os",
    )
    .completes(FlagCompletion::Words(&["network", "filesystem", "os"])),
    Flag::switch(names::SKIP_SCRIPTS, "do not run the scripts of the chart"),
    Flag::switch(names::EXPLAIN, "report on stderr what the scripts of the chart changed"),
    Flag::text(names::SCRIPTS_FOLDER, "the directory that scripts with the filesystem permission may use")
        .or("."),
    Flag::switch(
        names::ALLOW_PRIVATE_NETWORK,
        "allow scripts with the network permission to reach private addresses",
    ),
];

/// Returns the session of a command that needs no cluster.
///
/// # Errors
///
/// As [`lifecycle`].
pub(crate) fn offline_session(invocation: &Invocation<'_>) -> Result<OfflineSession, Failure> {
    Ok(OfflineSession {
        clock: Arc::new(SystemClock),
        events: lifecycle(invocation)?,
        schemas: schemas::loader(invocation),
    })
}

/// The lifecycle handlers for the flags of a command.
///
/// # Errors
///
/// An unknown permission.
pub(crate) fn lifecycle(invocation: &Invocation<'_>) -> Result<Lifecycle, Failure> {
    let can_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
    lifecycle_of(invocation, can_ask)
}

/// As [`lifecycle`], for programs whose user does not look at the terminal: permissions are those of flags and of stored grants.
///
/// # Errors
///
/// As [`lifecycle`].
pub(crate) fn lifecycle_without_asking(invocation: &Invocation<'_>) -> Result<Lifecycle, Failure> {
    lifecycle_of(invocation, false)
}

fn lifecycle_of(invocation: &Invocation<'_>, can_ask: bool) -> Result<Lifecycle, Failure> {
    let flags = &invocation.flags;
    if !flags.declares(names::SKIP_SCRIPTS) || flags.on(names::SKIP_SCRIPTS) {
        return Ok(Lifecycle::default());
    }
    let accepted = Permissions::parse(&flags.list(names::ACCEPT_PERMS).join(","))
        .map_err(|error| Failure::usage(error.to_string()))?;
    let consent = ConsentPrompt {
        all: flags.on(names::YES),
        accepted: flags.given(names::ACCEPT_PERMS).then_some(accepted),
        grants: Grants::for_user(invocation.environment),
        answered: Mutex::default(),
        can_ask,
    };
    let network = if flags.on(names::ALLOW_PRIVATE_NETWORK) {
        Network::with_private_addresses()
    } else {
        Network::public().with_advice("`--allow-private-network` lets scripts reach it")
    };
    let listener = UiScriptObserver {
        personality: invocation.personality,
        explains: flags.on(names::EXPLAIN),
        debug: invocation.debug(),
    };
    let services = Services {
        listener: Some(Arc::new(listener)),
        network: Some(Arc::new(network)),
        folder: Some(PathBuf::from(flags.text(names::SCRIPTS_FOLDER))),
        system: Some(Arc::new(HostSystem)),
        ..Services::default()
    };
    Ok(Lifecycle::default().with_scripting(Scripting::new(services, consent)))
}

/// Grants permissions by flags or stored grants, or asks the user.
struct ConsentPrompt {
    /// Whether `--yes` is set.
    all: bool,
    /// The permissions of `--accept-perms`. If set, the user is not asked for others.
    accepted: Option<Permissions>,
    /// The stored grants.
    grants: Grants,
    /// The grants of this run, by the digest of the scripts.
    answered: Mutex<BTreeMap<String, Permissions>>,
    /// Whether standard input and error are a terminal.
    can_ask: bool,
}

impl Consent for ConsentPrompt {
    fn ask(&self, request: &ConsentRequest<'_>) -> pintle::Result<Permissions> {
        let permissions = request.permissions;
        let granted = match &self.accepted {
            _ if self.all => permissions.clone(),
            Some(accepted) => permissions.and(accepted),
            None => {
                let known = self.grants.granted(request.digest).map_err(pintle::Error::Input)?;
                if permissions.without(&known).is_empty() {
                    return Ok(known);
                }
                self.answer(request, &known)
            }
        };
        if request.remember && permissions.without(&granted).is_empty() {
            self.save(request);
        }
        Ok(granted)
    }
}

impl ConsentPrompt {
    /// Asks the user, once for the same scripts.
    fn answer(&self, request: &ConsentRequest<'_>, known: &Permissions) -> Permissions {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = answered.get(request.digest) {
            return request.permissions.and(answer);
        }
        let missing = request.permissions.without(known);
        if !self.can_ask || !confirm(&question(request.chart, request.asked, &missing)) {
            return request.permissions.and(known);
        }
        answered.insert(request.digest.to_owned(), request.permissions.clone());
        request.permissions.clone()
    }

    /// Stores a grant. If that fails, the user is asked again next time.
    fn save(&self, request: &ConsentRequest<'_>) {
        let grant = Grant {
            digest: request.digest.to_owned(),
            chart: request.chart.to_owned(),
            permissions: request.permissions.clone(),
            granted: SystemClock.now().to_string(),
        };
        // An unchanged grant is not written again.
        let is_known = self.grants.granted(request.digest).is_ok_and(|known| known == grant.permissions);
        if !is_known && let Err(error) = self.grants.save(grant) {
            // Errors of standard error are ignored: there is no other stream to report them on.
            let _ = writeln!(io::stderr().lock(), "warning: {error}");
        }
    }
}

/// The text of the prompt.
fn question(chart: &str, asked: &PermissionRequests, missing: &Permissions) -> String {
    let mut text =
        format!("Chart {} is requesting the following additional permissions:\n", quote(chart.as_bytes()));
    for permission in missing.iter() {
        text.push_str(&format!("  - {permission}: {}", permission.description()));
        let below = asked.subcharts_requesting(permission);
        if !below.is_empty() {
            text.push_str(&format!(
                " ({})",
                below.iter().map(|path| sanitize(path)).collect::<Vec<_>>().join(", ")
            ));
        }
        text.push('\n');
    }
    text.push_str("Allow? (y, yes, n, no) > ");
    text
}

/// Whether a prompt is open; nothing has been changed at this point.
static ASKING: AtomicBool = AtomicBool::new(false);

/// What reports say about a chart whose permissions were not granted.
const REFUSED: &str = "asks for permissions that were not granted: ";

/// Says which flag grants the permissions that a report says were refused. Commands that fail with the refusal itself have a
/// hint in their error.
pub(crate) fn hint_at_refusals(ui: &mut Ui, report: &str) {
    let refused = report.lines().filter_map(|line| Some(line.split_once(REFUSED)?.1));
    let words: Vec<&str> =
        refused.flat_map(|rest| rest.split(|letter: char| !letter.is_alphanumeric())).collect();
    let names: Vec<&str> =
        ["network", "filesystem", "os"].into_iter().filter(|name| words.contains(name)).collect();
    if !names.is_empty() {
        let names = names.join(",");
        ui.note(&format!(
            "hint: review the scripts in `ext/lua`, then grant with `--accept-perms {names}` or `--yes`"
        ));
    }
}

/// Whether a prompt is open, so that Ctrl-C means no.
pub(crate) fn is_asking() -> bool {
    ASKING.load(Ordering::Relaxed)
}

/// Asks until there is a valid answer; the end of input means no.
pub(crate) fn confirm(question: &str) -> bool {
    ASKING.store(true, Ordering::Relaxed);
    let answer = ask_until_answered(question);
    ASKING.store(false, Ordering::Relaxed);
    answer
}

fn ask_until_answered(question: &str) -> bool {
    loop {
        let mut error = ui::stderr();
        // A read error means no.
        if write!(error, "{question}").and_then(|()| error.flush()).is_err() {
            return false;
        }
        let mut line = String::new();
        match io::stdin().lock().read_line(&mut line) {
            Ok(0) | Err(_) => {
                let _ = writeln!(error);
                return false;
            }
            Ok(_) => {}
        }
        match answer(&line) {
            Some(answer) => return answer,
            None => continue,
        }
    }
}

fn answer(line: &str) -> Option<bool> {
    match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    }
}

/// Prints the output of scripts.
struct UiScriptObserver {
    personality: Personality,
    explains: bool,
    debug: bool,
}

impl UiScriptObserver {
    fn write(&self, line: &str) {
        // Errors of standard error are ignored: there is no other stream to report them on.
        let _ = ui::eprint_line(line);
    }
}

impl Listener for UiScriptObserver {
    fn log(&self, chart: &ChartPath, level: Level, text: &str) {
        if level == Level::Debug && !self.debug {
            return;
        }
        let (level, own) = match level {
            Level::Debug => (LogLevel::Debug, "debug"),
            Level::Info => (LogLevel::Info, "note"),
            Level::Warn => (LogLevel::Warn, "warning"),
            Level::Error => (LogLevel::Error, "error"),
        };
        match self.personality {
            Personality::Helm => {
                let attributes = vec![("chart", chart.names().join("/"))];
                let line = LogLine { level, message: text.to_owned().into(), attributes };
                self.write(&line.to_string());
            }
            Personality::Pintle => {
                // Each line is prefixed with its source, so that a script cannot imitate the program.
                text.split('\n').for_each(|line| self.write(&format!("{own}: {chart}: {line}")));
            }
        }
    }

    fn wants_changes(&self) -> bool {
        self.explains
    }

    fn changed(&self, chart: &ChartPath, event: Event, target: &str, paths: &[String]) {
        self.write(&format!("{event}: {chart}: {target} changed"));
        for path in paths {
            self.write(&format!("  {}", path.replace(char::is_control, "\u{fffd}")));
        }
    }
}

/// The host system, for scripts with permission.
struct HostSystem;

impl System for HostSystem {
    fn variable(&self, name: &str) -> Option<String> {
        // Such a name cannot be set, and looking it up is an error of the caller.
        let is_name = !name.is_empty() && !name.contains(['=', '\0']);
        is_name.then(|| Environment::from_process().variable(name)).flatten()
    }

    #[allow(clippy::cast_precision_loss, reason = "seconds since 1970 are exact for a very long time")]
    fn now(&self) -> f64 {
        clock::now() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permissions(list: &str) -> Permissions {
        Permissions::parse(list).expect("known")
    }

    #[test]
    fn l_052_the_question_names_the_chart_and_each_permission() {
        let top = ChartPath::top("web");
        let charts =
            vec![(top.clone(), permissions("network")), (top.child("db"), permissions("network,io"))];
        let text = question("web", &PermissionRequests { charts }, &permissions("network,io"));
        assert_eq!(
            text,
            "Chart \"web\" is requesting the following additional permissions:\n\
             \x20 - network: Access the network (chart web/db)\n\
             \x20 - filesystem: Access the local filesystem (chart web/db)\nAllow? (y, yes, n, no) > "
        );
        assert_eq!([answer("Yes\n"), answer(" n "), answer("maybe")], [Some(true), Some(false), None]);
    }

    #[test]
    fn l_053_flags_grant_all_or_a_set_and_what_is_granted_is_remembered_by_digest() {
        let folder = tempfile::tempdir().expect("a folder");
        let asking = |all, list: Option<&str>| ConsentPrompt {
            all,
            accepted: list.map(permissions),
            grants: Grants::from_file(folder.path().join("grants.yaml")),
            answered: Mutex::default(),
            can_ask: false,
        };
        let ask = |asking: ConsentPrompt, digest: &str, remember| {
            let (asked, permissions) = (PermissionRequests::default(), permissions("network,os"));
            let request =
                ConsentRequest { chart: "web", digest, asked: &asked, permissions: &permissions, remember };
            asking.ask(&request).expect("an answer").to_string()
        };
        assert_eq!(ask(asking(true, None), "sha256:a", false), "network,os");
        assert_eq!(ask(asking(false, Some("network,filesystem")), "sha256:a", true), "network");
        assert_eq!(ask(asking(false, None), "sha256:a", true), "", "nothing of that was remembered");
        assert_eq!(ask(asking(false, Some("network,os")), "sha256:a", true), "network,os");
        assert_eq!(ask(asking(false, None), "sha256:a", false), "network,os");
        assert_eq!(ask(asking(false, None), "sha256:b", false), "", "these are other scripts");
        assert_eq!(ask(asking(false, Some("os")), "sha256:a", false), "os", "the flag has the last word");
    }
}
