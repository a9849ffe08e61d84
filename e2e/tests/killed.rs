//! Kills the program at every write of every operation, and then continues.
//!
//! After each kill, `status` must be correct and the next command must work without a repair. CI runs one shard of the kill
//! points per commit.

use std::process::Stdio;

use pintle_e2e::{Action, Proxy, Store, TestEnv, TestRelease, is_selected, write_chart};

/// The operation that is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Install,
    Upgrade,
    Rollback,
    Uninstall,
}

/// When the program is killed: before its n-th write reaches the server, or after that, before the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KillPoint {
    Before(usize),
    After(usize),
}

/// The next command.
#[derive(Clone, Copy, Debug)]
enum Next {
    Upgrade,
    Rollback,
    Uninstall,
}

impl Operation {
    /// Creates the state that the operation starts from.
    fn prepare(self, subject: &TestRelease<'_>) {
        let words: &[&str] = match self {
            Operation::Install => &[],
            Operation::Upgrade => &["one"],
            Operation::Rollback | Operation::Uninstall => &["one", "two"],
        };
        for word in words {
            subject.upgrade(word).succeeded();
        }
    }

    fn words(self, name: &str) -> Vec<&str> {
        match self {
            Operation::Install => vec!["install", name, "chart"],
            Operation::Upgrade => vec!["upgrade", name, "chart", "--set", "word=two"],
            Operation::Rollback => vec!["rollback", name, "1"],
            Operation::Uninstall => vec!["uninstall", name],
        }
    }
}

/// Runs an operation through the proxy and kills it at that kill point. Returns the process id, or `None` if the operation
/// finished before.
fn kill(
    subject: &TestRelease<'_>,
    proxy: &Proxy,
    operation: Operation,
    kill_point: KillPoint,
) -> Option<u32> {
    proxy.rule(move |seen| match kill_point {
        KillPoint::Before(write) if seen.write == write => Action::HoldBefore,
        KillPoint::After(write) if seen.write == write => Action::HoldAfter,
        _ => Action::Pass,
    });
    let mut command = subject.command(&operation.words(&subject.name));
    command.env("KUBECONFIG", proxy.kubeconfig()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program can be run");
    let held = proxy.held(|| child.try_wait().expect("a child can be asked").is_some());
    child.kill().expect("a child can be killed");
    child.wait().expect("a child can be waited for");
    proxy.cut();
    held.map(|_| child.id())
}

/// Asserts that `status` matches the cluster.
fn assert_status_is_correct(subject: &TestRelease<'_>, pid: u32) {
    let Some((status, _)) = subject.status() else {
        assert!(subject.live().is_empty(), "there is no release, but {:?}", subject.live());
        return;
    };
    match status.as_str() {
        "deployed" => assert_eq!(subject.live(), subject.desired()),
        "pending-install" | "pending-upgrade" | "pending-rollback" | "uninstalling" => {
            let printed = subject.run(&["unlock", &subject.name]).succeeded().stdout;
            assert!(printed.contains(&format!(" pid {pid} ")) && printed.contains("(gone)"), "{printed}");
        }
        other => panic!("a release that was interrupted says that it is {other}"),
    }
}

/// Runs the next command as if nothing had happened, and finally uninstalls the release.
fn continue_work(subject: &TestRelease<'_>, next: Next) {
    let history = subject.history();
    match (next, history.first()) {
        (Next::Uninstall, Some(_)) => {
            subject.uninstall().succeeded();
            return;
        }
        (Next::Rollback, Some((oldest, _))) => {
            subject.rollback(*oldest).succeeded();
            subject.assert_consistent();
            subject.upgrade("three").succeeded();
        }
        _ => {
            subject.upgrade("three").succeeded();
            subject.assert_consistent();
            let three = subject.history().last().map_or(0, |(revision, _)| *revision);
            subject.upgrade("four").succeeded();
            // Not to the interrupted word: that upgrade would complete the interrupted one and so clean up after it.
            subject.rollback(three).succeeded();
        }
    }
    subject.assert_consistent();
    subject.uninstall().succeeded();
}

/// The kill points to try, each with its number among all.
fn kill_points(writes: usize) -> Vec<(usize, KillPoint)> {
    let all = (1..=writes).flat_map(|write| [KillPoint::Before(write), KillPoint::After(write)]);
    all.enumerate().filter(|(number, _)| is_selected(*number)).collect()
}

#[allow(clippy::print_stdout, reason = "how far it came is shown when the test fails")]
fn kill_at_every_write(test: &str, operation: Operation, store: Store) {
    let Some(env) = TestEnv::new(test) else { return };
    write_chart(&env);
    if store == Store::Native {
        // CRDs are cluster-wide, so their installation cannot be part of this test.
        TestRelease::new(&env, store, "any").run(&["init"]).succeeded();
    }
    let proxy = Proxy::new(env.cluster());
    let undisturbed = TestRelease::new(&env, store, "undisturbed");
    operation.prepare(&undisturbed);
    assert_eq!(kill(&undisturbed, &proxy, operation, KillPoint::Before(usize::MAX)), None);
    let writes = proxy.writes();
    assert!(writes >= 8, "{:?}", proxy.seen());
    if operation != Operation::Uninstall {
        undisturbed.assert_consistent();
        undisturbed.uninstall().succeeded();
    }
    let nexts = [Next::Upgrade, Next::Rollback, Next::Uninstall];
    for (number, kill_point) in kill_points(writes) {
        let next = nexts[number % nexts.len()];
        let name = format!("{kill_point:?}").to_lowercase().replace(['(', ')'], "");
        let subject = TestRelease::new(&env, store, &name);
        operation.prepare(&subject);
        let killed = kill(&subject, &proxy, operation, kill_point);
        let pid = killed.unwrap_or_else(|| panic!("{operation:?} was over at {kill_point:?} of {writes}"));
        println!("{operation:?} in {store:?} killed at {kill_point:?} of {writes}, then {next:?}");
        assert_status_is_correct(&subject, pid);
        continue_work(&subject, next);
        assert_eq!(subject.history(), []);
        assert_eq!(subject.live(), [].into());
    }
    env.assert_empty();
}

macro_rules! kills {
    ($($test:ident: $operation:ident in $store:ident;)*) => {
        $(
            #[test]
            fn $test() {
                kill_at_every_write(stringify!($test), Operation::$operation, Store::$store);
            }
        )*
    };
}

kills! {
    an_install_in_our_store_survives_being_killed: Install in Native;
    an_upgrade_in_our_store_survives_being_killed: Upgrade in Native;
    a_rollback_in_our_store_survives_being_killed: Rollback in Native;
    an_uninstall_in_our_store_survives_being_killed: Uninstall in Native;
    an_install_in_secrets_survives_being_killed: Install in Secrets;
    an_upgrade_in_secrets_survives_being_killed: Upgrade in Secrets;
    a_rollback_in_secrets_survives_being_killed: Rollback in Secrets;
    an_uninstall_in_secrets_survives_being_killed: Uninstall in Secrets;
}
