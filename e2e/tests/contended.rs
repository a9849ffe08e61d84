//! Concurrent operations on one release: one wins, the others fail with a clear error, and nothing is left half done.

use std::process::{Child, Command, Stdio};

use pintle_e2e::{Action, CommandResult, Proxy, Store, TestEnv, TestRelease, is_selected, write_chart};

const WRITERS: usize = 50;

/// The errors of the operations that lost.
const ANSWERS: [&str; 5] = [
    "another operation (install/upgrade/rollback) is in progress",
    "release: already exists",
    "came first",
    "cannot reuse a name that is still in use",
    "there is a release",
];

/// A lease that does not expire while an operation is held, or starved on a busy machine.
const LEASE: [&str; 2] = ["--lease", "1h"];

/// Starts all commands before waiting for the first.
fn at_once(subject: &TestRelease<'_>, words: impl Fn(usize) -> Vec<String>) -> Vec<CommandResult> {
    let begin = |writer: usize| -> Child {
        let words = words(writer);
        let words: Vec<&str> = words.iter().map(String::as_str).chain(LEASE).collect();
        start(subject.command(&words))
    };
    let children: Vec<Child> = (0..WRITERS).map(begin).collect();
    children.into_iter().map(end).collect()
}

/// The successful runs; all others must have one of the expected errors.
fn winners(ran: Vec<CommandResult>) -> Vec<CommandResult> {
    let (won, lost): (Vec<CommandResult>, Vec<CommandResult>) =
        ran.into_iter().partition(|ran| ran.code == Some(0));
    for ran in lost {
        let answers = ANSWERS.iter().filter(|answer| ran.stderr.contains(**answer)).count();
        assert!(ran.code == Some(1) && answers > 0, "code {:?}: {}{}", ran.code, ran.stdout, ran.stderr);
    }
    won
}

fn many_upgrades(env: &TestEnv, store: Store) {
    let subject = TestRelease::new(env, store, "web");
    subject.upgrade("one").succeeded();
    let ran = at_once(&subject, |writer| {
        let word = format!("word=w{writer}");
        ["upgrade", "web", "chart", "--history-max", "0", "--set", &word].map(str::to_owned).into()
    });
    let won = winners(ran);
    let mut revisions: Vec<u64> = won
        .iter()
        .filter_map(|ran| ran.stdout.lines().find_map(|line| line.strip_prefix("REVISION: ")?.parse().ok()))
        .collect();
    revisions.sort_unstable();
    // Each successful run has one revision, and there are no others.
    let expected: Vec<u64> = (2..).take(won.len()).collect();
    assert_eq!(revisions, expected);
    let history: Vec<u64> = subject.history().into_iter().map(|(revision, _)| revision).collect();
    assert_eq!(history, [&[1], expected.as_slice()].concat());
    assert!(!won.is_empty());
    subject.assert_consistent();
    subject.uninstall().succeeded();
    env.assert_empty();
}

fn many_installs(env: &TestEnv, store: Store) {
    let subject = TestRelease::new(env, store, "web");
    let ran = at_once(&subject, |writer| {
        ["install", "web", "chart", "--set", &format!("word=w{writer}")].map(str::to_owned).into()
    });
    assert_eq!(winners(ran).len(), 1);
    assert_eq!(subject.history(), [(1, "deployed".to_owned())]);
    subject.assert_consistent();
    subject.uninstall().succeeded();
    env.assert_empty();
}

fn env(test: &str, store: Store) -> Option<TestEnv> {
    let env = TestEnv::new(test)?;
    write_chart(&env);
    if store == Store::Native {
        TestRelease::new(&env, store, "any").run(&["init"]).succeeded();
    }
    Some(env)
}

#[test]
fn of_fifty_upgrades_in_our_store_one_wins_each_version() {
    let Some(env) = env("fifty_upgrades_native", Store::Native) else { return };
    many_upgrades(&env, Store::Native);
}

#[test]
fn of_fifty_upgrades_in_secrets_one_wins_each_version() {
    let Some(env) = env("fifty_upgrades_secrets", Store::Secrets) else { return };
    many_upgrades(&env, Store::Secrets);
}

#[test]
fn of_fifty_installs_in_our_store_one_wins() {
    let Some(env) = env("fifty_installs_native", Store::Native) else { return };
    many_installs(&env, Store::Native);
}

#[test]
fn of_fifty_installs_in_secrets_one_wins() {
    let Some(env) = env("fifty_installs_secrets", Store::Secrets) else { return };
    many_installs(&env, Store::Secrets);
}

#[test]
fn a_history_of_one_version_keeps_nobody_from_upgrading() {
    let Some(env) = env("a_history_of_one_version", Store::Native) else { return };
    for store in [Store::Native, Store::Secrets] {
        let subject = TestRelease::new(&env, store, "web");
        subject.upgrade("one").succeeded();
        // A name that is too long cannot be applied, so the newest revision is a failed one.
        subject.upgrade(&"x".repeat(260)).failed();
        let words = ["upgrade", "web", "chart", "--history-max", "1", "--set", "word=two"];
        subject.run(&words).succeeded();
        subject.run(&words).succeeded();
        subject.assert_consistent();
        subject.uninstall().succeeded();
        env.assert_empty();
    }
}

/// The errors for a release that is being uninstalled or gone.
const GONE: [&str; 4] = ["has no deployed releases", "not found", "there is no release", "came first"];

const UPGRADE: [&str; 7] = ["upgrade", "web", "chart", "--set", "word=two", LEASE[0], LEASE[1]];
const UNINSTALL: [&str; 4] = ["uninstall", "web", LEASE[0], LEASE[1]];

/// Which of the two operations finished last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Winner {
    Upgraded,
    Uninstalled,
}

fn start(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program can be run")
}

fn end(child: Child) -> CommandResult {
    child.wait_with_output().expect("a child ends").into()
}

/// Asserts the invariants of a concurrent upgrade and uninstall: one of them succeeded, the other one failed with a clear
/// error, and the release is complete or gone. Uninstalls it afterwards.
fn one_came_first(subject: &TestRelease<'_>, upgrade: &CommandResult, uninstall: &CommandResult) -> Winner {
    let clear = |ran: &CommandResult, answers: &[&str]| {
        let printed = answers.iter().chain(&ANSWERS).any(|answer| ran.stderr.contains(answer));
        assert!(ran.code == Some(1) && printed, "code {:?}: {}{}", ran.code, ran.stdout, ran.stderr);
    };
    match (upgrade.code, uninstall.code) {
        (_, Some(0)) => {
            if upgrade.code != Some(0) {
                clear(upgrade, &GONE);
            }
            assert_eq!(subject.history(), []);
            subject.env.assert_empty();
            Winner::Uninstalled
        }
        (Some(0), _) => {
            clear(uninstall, &[]);
            subject.assert_consistent();
            assert!(subject.live().iter().all(|object| object.ends_with("two")), "{:?}", subject.live());
            subject.uninstall().succeeded();
            subject.env.assert_empty();
            Winner::Upgraded
        }
        _ => panic!("nobody won: {upgrade:?} {uninstall:?}"),
    }
}

/// Holds an operation before one of its writes, runs another one, and continues the first. `None` if the first finishes
/// before that write.
fn around(
    subject: &TestRelease<'_>,
    held: &[&str],
    write: usize,
    other: &[&str],
) -> Option<[CommandResult; 2]> {
    subject.upgrade("one").succeeded();
    let proxy = Proxy::new(subject.env.cluster());
    proxy.rule(move |seen| if seen.write == write { Action::HoldBefore } else { Action::Pass });
    let mut command = subject.command(held);
    command.env("KUBECONFIG", proxy.kubeconfig());
    let mut child = start(command);
    let is_held = proxy.held(|| child.try_wait().expect("a child can be asked").is_some()).is_some();
    let other = is_held.then(|| subject.run(other));
    proxy.release();
    let held = end(child);
    if other.is_none() {
        held.succeeded();
        subject.run(&["uninstall", "web", "--ignore-not-found"]).succeeded();
        return None;
    }
    Some([held, other?])
}

/// The writes before which an operation is held: the first ones, where the winner is decided, and the selected shard.
fn held_writes() -> impl Iterator<Item = usize> {
    (1..).filter(|write| *write <= 4 || is_selected(*write))
}

/// Holds one of the two before each of its writes while the other runs.
#[allow(clippy::print_stdout, reason = "who had the last word is shown when the test fails")]
fn upgrades_and_uninstalls(env: &TestEnv, store: Store) {
    let subject = TestRelease::new(env, store, "web");
    let mut last = Vec::new();
    for write in held_writes() {
        let Some([upgrade, uninstall]) = around(&subject, &UPGRADE, write, &UNINSTALL) else { break };
        last.push(one_came_first(&subject, &upgrade, &uninstall));
    }
    println!("{store:?}, before each write of an upgrade: {last:?}");
    // Before its first write, an upgrade is not visible to others. From the pending record to the final one, it holds the
    // release.
    assert!(last.first() == Some(&Winner::Uninstalled) && last.contains(&Winner::Upgraded), "{last:?}");
    last.clear();
    for write in held_writes() {
        let Some([uninstall, upgrade]) = around(&subject, &UNINSTALL, write, &UPGRADE) else { break };
        last.push(one_came_first(&subject, &upgrade, &uninstall));
    }
    println!("{store:?}, before each write of an uninstall: {last:?}");
    assert!(last.len() >= 4 && last.contains(&Winner::Uninstalled), "{last:?}");
    // Without holding either: the invariants hold in any order.
    for _ in 0..5 {
        subject.upgrade("one").succeeded();
        let [upgrade, uninstall] = [start(subject.command(&UPGRADE)), start(subject.command(&UNINSTALL))];
        one_came_first(&subject, &end(upgrade), &end(uninstall));
    }
}

#[test]
fn of_an_upgrade_and_an_uninstall_in_our_store_one_comes_first() {
    let Some(env) = env("upgrade_and_uninstall_native", Store::Native) else { return };
    upgrades_and_uninstalls(&env, Store::Native);
}

#[test]
fn of_an_upgrade_and_an_uninstall_in_secrets_one_comes_first() {
    let Some(env) = env("upgrade_and_uninstall_secrets", Store::Secrets) else { return };
    upgrades_and_uninstalls(&env, Store::Secrets);
}

/// Leaves an upgrade whose program was killed halfway.
fn leave_interrupted_upgrade(subject: &TestRelease<'_>) {
    let proxy = Proxy::new(subject.env.cluster());
    proxy.rule(|seen| if seen.write == 10 { Action::HoldBefore } else { Action::Pass });
    let mut command = subject.command(&["upgrade", &subject.name, "chart", "--set", "word=dead"]);
    let mut child = command.env("KUBECONFIG", proxy.kubeconfig()).spawn().expect("the program can be run");
    assert!(proxy.held(|| child.try_wait().expect("a child can be asked").is_some()).is_some());
    child.kill().expect("a child can be killed");
    child.wait().expect("a child can be waited for");
    proxy.cut();
    assert_eq!(subject.status().expect("there is a record").0, "pending-upgrade");
}

#[test]
fn of_fifty_that_take_over_from_a_dead_one_one_wins_each_version() {
    let Some(env) = env("fifty_take_over", Store::Native) else { return };
    for store in [Store::Native, Store::Secrets] {
        let subject = TestRelease::new(&env, store, "web");
        subject.upgrade("one").succeeded();
        leave_interrupted_upgrade(&subject);
        let ran = at_once(&subject, |_| {
            ["upgrade", "web", "chart", "--history-max", "0"].map(str::to_owned).into()
        });
        let won = winners(ran).len() as u64;
        let history: Vec<u64> = subject.history().into_iter().map(|(revision, _)| revision).collect();
        assert!(won > 0);
        assert_eq!(history, (1..=won + 2).collect::<Vec<u64>>());
        subject.assert_consistent();
        subject.uninstall().succeeded();
        env.assert_empty();
    }
}
