//! `plan releases`: shows what upgrades of several releases would do, in one process with one discovery.

use std::path::{Path, PathBuf};

use pintle::ops::{InstallRequest, PlanRequest, ReleasePlan, UpgradeRequest};
use pintle::tree::{Map, Node};
use pintle::{DryRun, MethodChoice, ValuesLayer};
use pintle_tree::quote::quote;

use super::output::{Format, Layout, print_list};
use super::{PLAN, format};
use crate::chart_reference;
use crate::command::{Command, Operands};
use crate::commands::install::request_for;
use crate::commands::upgrade;
use crate::connect::Connection;
use crate::failure::{Failure, FailureKind, reason};
use crate::flag::deploy::EXCLUSIVE;
use crate::flag::operations::{UPGRADE_GROUPS, join};
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::request;

/// `plan releases FILE`
pub(super) static COMMAND: Command = Command {
    name: "releases",
    operands_text: "FILE",
    short: "show what upgrades of several releases would do",
    long: "\
Show what `{program} upgrade --install` would do for each release of a list:

    releases:
    - name: web
      namespace: shop
      chart: ./web
      values: [web.yaml, {replicas: 2}]
    - name: db
      chart: bitnami/postgresql
      version: 16.0.0
      set: [{name: auth.database, value: shop}]

The list has the form of `releases:` in a helmfile. Files and charts are found from the folder of FILE. Releases are
planned side by side, with one connection and one discovery. Flags hold for all releases, value flags too.",
    operands: Operands::Exactly(1),
    // A list of plans is not saved.
    flags: &join::<18>(&[&UPGRADE_GROUPS, &[PLAN, EVERY]]),
    exclusive: EXCLUSIVE,
    answers_by_exit_code: true,
    run: Some(run),
    ..Command::BLANK
};

static EVERY: &[Flag] = &[Flag::switch(names::ALL, "also show the releases that would not change")];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let format = format(invocation)?;
    let shows_all = invocation.flags.on(names::ALL) || format == Format::Json;
    if format == Format::Dot {
        return Err(
            Failure::usage("--output dot is for one release").hint("it may be text, json or markdown")
        );
    }
    let path = PathBuf::from(invocation.operand(0));
    let entries = read(&path)?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let mut summary = Summary::default();
    let (mut planned_entries, mut requests) = (Vec::new(), Vec::new());
    for entry in &entries {
        match entry.request(invocation, &folder) {
            Ok(request) => {
                planned_entries.push(entry);
                requests.push(PlanRequest::Upgrade(Box::new(request)));
            }
            // The other releases are planned all the same.
            Err(failure) => {
                summary.failed += 1;
                let text = failure.own.as_ref().unwrap_or(&failure.text);
                invocation.ui.note(&format!("Error: release {}: {text}", entry.name));
            }
        }
    }
    let connection = Connection::open_or_create(invocation, DryRun::Server)?;
    let mut trees = Vec::new();
    let layout = Layout::new(invocation, format);
    let mut outcome = Ok(());
    connection.try_run(pintle::ops::plan_all(&connection.session, &requests, |release| {
        for line in &release.log {
            invocation.ui.log(line);
        }
        let entry = planned_entries[release.index];
        match release.outcome {
            Ok(planned) => {
                summary.add(&planned.plan);
                let is_unchanged = !planned.plan.has_changes() && planned.plan.problems().next().is_none();
                if is_unchanged && !shows_all {
                    return;
                }
                let printed = layout.print_one_of_many(invocation, &planned.plan, format, &mut trees);
                if outcome.is_ok() {
                    outcome = printed;
                }
            }
            Err(error) => {
                summary.failed += 1;
                invocation.ui.note(&format!("Error: release {}: {error}", entry.name));
            }
        }
    }));
    outcome?;
    print_list(invocation, format, trees, &summary.text())?;
    summary.answer(invocation)
}

/// What would happen to all releases.
#[derive(Default)]
struct Summary {
    changed: usize,
    unchanged: usize,
    failed: usize,
}

impl Summary {
    fn add(&mut self, plan: &ReleasePlan) {
        match (plan.problems().next().is_some(), plan.has_changes()) {
            (true, _) => self.failed += 1,
            (false, true) => self.changed += 1,
            (false, false) => self.unchanged += 1,
        }
    }

    fn text(&self) -> String {
        format!(
            "Releases: {} to change, {} unchanged{}.",
            self.changed,
            self.unchanged,
            match self.failed {
                0 => String::new(),
                1 => ", 1 that fails".to_owned(),
                failed => format!(", {failed} that fail"),
            }
        )
    }

    fn answer(&self, invocation: &Invocation<'_>) -> Result<(), Failure> {
        if self.failed > 0 {
            let plural = if self.failed == 1 { "release" } else { "releases" };
            return Err(Failure::run_time(format!("{} {plural} cannot be upgraded", self.failed)));
        }
        match self.changed > 0 && !invocation.flags.on(names::NO_DETAILED_EXITCODE) {
            true => Err(Failure::new(FailureKind::Changes, "")),
            false => Ok(()),
        }
    }
}

/// An entry of the list.
#[derive(Debug, Default, PartialEq)]
struct Entry {
    name: String,
    namespace: String,
    chart: String,
    version: String,
    create_namespace: bool,
    /// Files, and values that stand in the list itself.
    values: Vec<Node>,
    set: Vec<String>,
}

const FIELDS: &[&str] = &["name", "namespace", "chart", "version", "createNamespace", "values", "set"];

impl Entry {
    fn request(&self, invocation: &mut Invocation<'_>, folder: &Path) -> Result<UpgradeRequest, Failure> {
        let reference = match self.chart.starts_with('.') {
            true => folder.join(&self.chart).to_string_lossy().into_owned(),
            false => self.chart.clone(),
        };
        let chart = match self.version.as_str() {
            "" => chart_reference::locate(invocation, &reference),
            version => chart_reference::locate_version(invocation, &reference, version),
        };
        let deploy = request::deploy_options(invocation)?;
        let mut target = InstallRequest {
            name: self.name.clone(),
            ..request_for(invocation, chart?, DryRun::None, deploy)?
        };
        if !self.namespace.is_empty() {
            target.namespace.clone_from(&self.namespace);
        }
        target.create_namespace |= self.create_namespace;
        target.values.splice(0..0, self.values(folder));
        Ok(UpgradeRequest {
            method: request::method_choice(&invocation.flags).unwrap_or(MethodChoice::Auto),
            values_policy: upgrade::values_policy(&invocation.flags),
            install: true,
            cleanup_on_fail: invocation.flags.on(names::CLEANUP_ON_FAIL),
            max_history: request::max_history(invocation),
            target,
        })
    }

    /// The values of the entry, over which those of the flags go.
    fn values(&self, folder: &Path) -> Vec<ValuesLayer> {
        let files = self.values.iter().map(|value| match value {
            Node::Str(path) => ValuesLayer::File(folder.join(&*path.to_str_lossy())),
            Node::Map(values) => ValuesLayer::Tree(values.clone()),
            // The list was refused if it has anything else.
            _ => ValuesLayer::Tree(Map::new()),
        });
        files.chain(self.set.iter().cloned().map(ValuesLayer::Set)).collect()
    }
}

fn read(path: &Path) -> Result<Vec<Entry>, Failure> {
    let text = crate::read::file(path, crate::read::MAX_SETTINGS)
        .map_err(|error| Failure::usage(format!("cannot read {}: {}", path.display(), reason(&error))))?;
    parse(&text).map_err(|why| Failure::usage(format!("{}: {why}", path.display())))
}

fn parse(text: &[u8]) -> Result<Vec<Entry>, String> {
    let root = pintle_yaml::read(text).map_err(|error| error.to_string())?;
    let list = root.get("releases").and_then(Node::as_list).ok_or("it has no list `releases`")?;
    let (mut entries, mut problems) = (Vec::new(), Vec::new());
    for (index, node) in list.iter().enumerate() {
        match entry(&position(index, node), node) {
            Ok(entry) => entries.push(entry),
            Err(problem) => problems.push(problem),
        }
    }
    match (entries.is_empty(), problems.is_empty()) {
        (_, false) => Err(problems.join("; ")),
        (true, true) => Err("`releases` is empty".to_owned()),
        (false, true) => Ok(entries),
    }
}

/// How an entry is called in messages: by its number, and by its name if it has one.
fn position(index: usize, node: &Node) -> String {
    match node.get("name").and_then(Node::as_str).filter(|name| !name.is_empty()) {
        Some(name) => format!("{} ({name})", index + 1),
        None => (index + 1).to_string(),
    }
}

fn entry(number: &str, node: &Node) -> Result<Entry, String> {
    let Node::Map(fields) = node else { return Err(format!("release {number} is no map")) };
    if let Some((unknown, _)) = fields.iter().find(|(key, _)| !FIELDS.iter().any(|known| *key == *known)) {
        let name = quote(unknown.as_bytes());
        return Err(format!("release {number} has a field {name}; known are {}", FIELDS.join(", ")));
    }
    let word = |key: &str| match fields.get(key) {
        None | Some(Node::Nil) => Ok(String::new()),
        Some(Node::Str(text)) => Ok(text.to_str_lossy().into_owned()),
        Some(_) => Err(format!("`{key}` of release {number} is no text")),
    };
    let list = |key: &str| match fields.get(key) {
        None | Some(Node::Nil) => Ok(Vec::new()),
        Some(Node::List(items)) => Ok(items.clone()),
        Some(_) => Err(format!("`{key}` of release {number} is no list")),
    };
    let entry = Entry {
        name: word("name")?,
        namespace: word("namespace")?,
        chart: word("chart")?,
        version: word("version")?,
        create_namespace: fields.get("createNamespace").and_then(Node::as_bool).unwrap_or(false),
        values: list("values")?,
        set: list("set")?.iter().map(|item| setting(number, item)).collect::<Result<_, String>>()?,
    };
    if let Some(missing) =
        [("name", &entry.name), ("chart", &entry.chart)].iter().find(|(_, text)| text.is_empty())
    {
        return Err(format!("release {number} has no `{}`", missing.0));
    }
    if entry.values.iter().any(|value| !matches!(value, Node::Str(_) | Node::Map(_))) {
        return Err(format!("`values` of release {number} may have files and maps only"));
    }
    Ok(entry)
}

/// An entry of `set`, as the text of `--set`.
fn setting(number: &str, item: &Node) -> Result<String, String> {
    let wrong = || format!("`set` of release {number} is a list of `{{name: …, value: …}}`");
    let Node::Map(fields) = item else { return Err(wrong()) };
    let name = fields.get("name").and_then(Node::as_str).ok_or_else(wrong)?;
    let value = match fields.get("value").ok_or_else(wrong)? {
        Node::Str(text) => text.to_str_lossy().replace('\\', "\\\\").replace(',', "\\,"),
        Node::List(_) | Node::Map(_) => return Err(wrong()),
        other => {
            let text = pintle_tree::json::write(other).map_err(|error| error.to_string())?;
            String::from_utf8_lossy(&text).into_owned()
        }
    };
    Ok(format!("{name}={value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_in_a_helmfile() {
        let text = "releases:\n- {name: web, chart: ./web, namespace: shop, values: [a.yaml, {b: 1}], set: [{name: x.y, value: 'a,b'}, {name: count, value: 3}]}\n";
        let entries = parse(text.as_bytes()).expect("a list");
        assert_eq!((entries[0].name.as_str(), entries[0].chart.as_str()), ("web", "./web"));
        assert_eq!(entries[0].set, [r"x.y=a\,b", "count=3"]);
        let inline = [("b".into(), Node::Float(1.0))].into_iter().collect();
        let wanted = [
            ValuesLayer::File("dir/a.yaml".into()),
            ValuesLayer::Tree(inline),
            ValuesLayer::Set(r"x.y=a\,b".to_owned()),
            ValuesLayer::Set("count=3".to_owned()),
        ];
        assert_eq!(entries[0].values(Path::new("dir")), wanted);
    }

    #[test]
    fn a_bad_list_is_refused_with_what_is_wrong() {
        for (text, why) in [
            ("[]", "it has no list `releases`"),
            ("releases: []", "`releases` is empty"),
            ("releases: [1]", "release 1 is no map"),
            ("releases: [{name: a}]", "release 1 (a) has no `chart`"),
            ("releases: [{name: a}, {chart: b}]", "release 1 (a) has no `chart`; release 2 has no `name`"),
            (
                "releases: [{name: a, chart: b, x: 1}]",
                "release 1 (a) has a field \"x\"; known are name, namespace, chart, version, createNamespace, values, set",
            ),
            ("releases: [{name: a, chart: b, values: x}]", "`values` of release 1 (a) is no list"),
            (
                "releases: [{name: a, chart: b, values: [1]}]",
                "`values` of release 1 (a) may have files and maps only",
            ),
            (
                "releases: [{name: a, chart: b, set: [1]}]",
                "`set` of release 1 (a) is a list of `{name: …, value: …}`",
            ),
            ("releases: [{name: [], chart: b}]", "`name` of release 1 is no text"),
        ] {
            assert_eq!(parse(text.as_bytes()), Err(why.to_owned()), "{text}");
        }
    }
}
