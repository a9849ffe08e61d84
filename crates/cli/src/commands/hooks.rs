//! `hooks`: lists the hooks of a chart or a release in the order in which they run.

use pintle::hooks::{DeletePolicy, EVENT_NAMES, LogPolicy};
use pintle::objects::HookEvent;
use pintle::ops::{PlannedHook, hooks_of_chart, hooks_of_release};
use pintle::release::VersionRef;
use pintle_tree::Node;

use super::images::subject::{SUBJECT, Subject};
use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::deploy::OUTPUT;
use crate::flag::groups::VALUES;
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::output::format::{Format, Record, Records, print_data};
use crate::output::grid::print_rows;
use crate::report::Reporting;
use crate::request;

/// `hooks`
pub(crate) static COMMAND: Command = Command {
    name: "hooks",
    short: "inspect the hooks of charts and releases",
    long: "Show which hooks a chart or a release has, and when they run.",
    subcommands: &[&LIST],
    ..Command::BLANK
};

/// `hooks list [CHART|RELEASE]`
static LIST: Command = Command {
    name: "list",
    aliases: &["ls"],
    operands_text: "[CHART|RELEASE]",
    short: "list hooks by event, in the order in which they run",
    long: "\
List the hooks of a chart or a release: the event and the position at which each runs, its weight, its delete policies,
its log policies, and the template it comes from.

    {program} hooks list ./web -f production.yaml
    {program} hooks list web --event pre-upgrade -o json

A chart is rendered without a cluster; for a release, the stored hooks are listed. Hooks at the same position have the
same weight; with --hook-parallelism they run concurrently.",
    operands: Operands::AtMost(1),
    completion: ArgCompletion::Chart,
    flags: &[SUBJECT, OWN, OUTPUT, VALUES],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[Flag::list(names::EVENT, "only hooks that run at these events")
    .completes(FlagCompletion::Words(EVENT_NAMES))];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let selected = events(invocation)?;
    let mut hooks = match Subject::from_flags(invocation)? {
        Subject::Release(name, _) => {
            let connection = Connection::open(invocation)?;
            let (session, namespace) = (&connection.session, &connection.namespace);
            let version = pintle::ops::get(session, namespace, &name, &VersionRef::Current);
            hooks_of_release(&connection.run(version)?)?
        }
        named => {
            let kube_version = request::kube_version(invocation)?;
            let subject = named.load(invocation)?;
            hooks_of_chart(&subject, kube_version, &mut Reporting::new(invocation.ui))?
        }
    };
    hooks.retain(|hook| selected.is_empty() || selected.contains(&hook.event));
    match Format::from_flags(&invocation.flags) {
        Format::Table if hooks.is_empty() => Ok(()),
        Format::Table => print_rows(invocation, &rows(&hooks), 0),
        format => {
            print_data(invocation.ui, format, &Records(&hooks.iter().map(record).collect::<Vec<Record>>()))
        }
    }
}

/// The events of `--event`.
fn events(invocation: &Invocation<'_>) -> Result<Vec<HookEvent>, Failure> {
    let words = invocation.flags.list(names::EVENT);
    let event = |word: &String| {
        HookEvent::parse(&word.trim().to_lowercase()).ok_or_else(|| {
            let known = HookEvent::ALL.map(HookEvent::as_str).join(", ");
            Failure::usage(format!("unknown event `{word}`")).hint(format!("the events are {known}"))
        })
    };
    words.iter().map(event).collect()
}

fn rows(hooks: &[PlannedHook]) -> Vec<Vec<String>> {
    let headings = ["EVENT", "TURN", "WEIGHT", "KIND", "NAME", "DELETED", "LOG", "TEMPLATE"];
    let row = |hook: &PlannedHook| {
        let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
        vec![
            hook.event.as_str().to_owned(),
            hook.group.to_string(),
            hook.weight.to_string(),
            hook.kind.clone(),
            hook.name.clone(),
            or_dash(deleted(hook).join(",")),
            or_dash(logged(hook).join(",")),
            hook.template.clone(),
        ]
    };
    std::iter::once(headings.map(str::to_owned).to_vec()).chain(hooks.iter().map(row)).collect()
}

fn record(hook: &PlannedHook) -> Record {
    let words = |words: Vec<&'static str>| Node::List(words.into_iter().map(Node::from).collect());
    Record::default()
        .with("event", hook.event.as_str())
        .with("turn", hook.group as i64)
        .with("weight", hook.weight)
        .with("kind", hook.kind.as_str())
        .with("name", hook.name.as_str())
        .with("delete_policies", words(deleted(hook)))
        .with("log_policies", words(logged(hook)))
        .with("unmanaged", hook.unmanaged)
        .with("template", hook.template.as_str())
}

fn deleted(hook: &PlannedHook) -> Vec<&'static str> {
    hook.delete_policies.iter().copied().map(DeletePolicy::as_str).collect()
}

fn logged(hook: &PlannedHook) -> Vec<&'static str> {
    hook.log_policies.iter().copied().map(LogPolicy::as_str).collect()
}
