//! `test`: runs the test hooks of a release.

use pintle::ops::{TestRequest, Tested};
use pintle::{DeployOptions, Error, HookLogs};

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::deploy::TIMEOUT_FLAGS;
use crate::flag::groups::RECORDS;
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::output::format::Format;
use crate::output::release::Shown;
use crate::personality::Personality;
use crate::report::ClusterReporter;
use crate::scripts::SCRIPTS;

/// `test [RELEASE]`
pub(crate) static COMMAND: Command = Command {
    name: "test",
    operands_text: "[RELEASE]",
    short: "run the tests of a release",
    long: "\
Run the test hooks of a deployed release and show the results. --filter selects tests by name:

    {program} test web --filter name=login,'!name=slow'",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Release,
    flags: &[TIMEOUT_FLAGS, OWN, SCRIPTS, RECORDS],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::NO_LOG_OUTPUT, "do not show the logs of tests, regardless of their policy"),
    Flag::switch(names::LOGS_SWITCH, "print the logs of the test pods after all tests have run"),
    Flag::list(
        names::FILTER,
        "run only tests with this name (name=x), or all others (!name=x); may be repeated",
    )
    .completes(FlagCompletion::Nothing),
    // A flag of Helm 3 that scripts still use.
    Flag::switch(names::HIDE_NOTES, "").deprecated("it has no effect: notes are not shown"),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let connection = Connection::open(invocation)?;
    let defaults = TestRequest::default();
    let (include, exclude) = parse_filters(invocation.flags.list(names::FILTER));
    let is_ours = invocation.personality == Personality::Pintle;
    let request = TestRequest {
        name: invocation.operand(0).to_owned(),
        namespace: connection.namespace.clone(),
        include,
        exclude,
        logs: invocation.flags.on(names::LOGS_SWITCH),
        deploy: DeployOptions {
            timeout: invocation.flags.duration(names::TIMEOUT),
            init_logs: is_ours,
            fail_fast: is_ours,
            logs: match invocation.flags.on(names::NO_LOG_OUTPUT) {
                true => HookLogs::Off,
                false => defaults.deploy.logs,
            },
            ..defaults.deploy
        },
    };
    connection.cancel_on_signals(None);
    let tested = {
        let mut reporter = ClusterReporter::new(invocation.ui, false);
        connection.run(pintle::ops::test(&connection.session, &request, &mut reporter))?
    };
    print(invocation, &tested, request.logs)?;
    let mut failures = tested.failure.into_iter().chain(tested.logs_failures);
    let Some(first) = failures.next() else { return Ok(()) };
    let others: Vec<Error> = failures.collect();
    Err(match others.is_empty() {
        true => first.into(),
        false => Error::Followed { first: Box::new(first), others }.into(),
    })
}

fn print(invocation: &mut Invocation<'_>, tested: &Tested, logs: bool) -> Result<(), Failure> {
    let shown = Shown { notes: false, ..Shown::of(&tested.version, invocation) };
    shown.print(Format::Table, invocation.ui)?;
    if logs {
        invocation.ui.print("\n")?;
        for log in &tested.logs {
            invocation.ui.print(&format!("POD LOGS: {} ({})\n", log.pod, log.container))?;
            invocation.ui.out().write_all(&log.text)?;
            invocation.ui.print("\n")?;
        }
    }
    Ok(())
}

/// The included and the excluded names; other filters are ignored, as in Helm.
fn parse_filters(filters: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut include, mut exclude) = (Vec::new(), Vec::new());
    for filter in filters {
        if let Some(name) = filter.strip_prefix("name=") {
            include.push(name.to_owned());
        } else if let Some(rest) = filter.strip_prefix('!') {
            let rest = rest.strip_prefix([' ', '\t', '\n', '\u{c}', '\r']).unwrap_or(rest);
            exclude.extend(rest.strip_prefix("name=").map(str::to_owned));
        }
    }
    (include, exclude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_choose_and_leave_out() {
        let filters = ["name=a", "!name=b", "! name=c", "kind=x", "!d"].map(str::to_owned);
        assert_eq!(parse_filters(&filters), (vec!["a".to_owned()], vec!["b".to_owned(), "c".to_owned()]));
    }
}
