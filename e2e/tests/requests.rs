//! The requests of operations: nothing is read twice, so that only the server's response times count.

use std::collections::BTreeSet;

use pintle_e2e::{ProxiedRequest, Proxy, Store, TestEnv, TestRelease, write_chart};

/// The objects of the test chart. An uninstall reads each once, to see who owns it.
const OBJECTS: usize = 4;

/// The requests of one run of the program.
fn requests(subject: &TestRelease<'_>, words: &[&str]) -> Vec<ProxiedRequest> {
    let proxy = Proxy::new(subject.env.cluster());
    let output = subject.command(words).env("KUBECONFIG", proxy.kubeconfig()).output();
    let output = output.expect("the program can be run");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    proxy.seen()
}

/// What was asked for more than once.
fn repeated(seen: &[ProxiedRequest]) -> Vec<&str> {
    let mut asked = BTreeSet::new();
    let reads = seen.iter().filter(|seen| seen.method == "GET").map(|seen| seen.path.as_str());
    reads.filter(|path| !asked.insert(*path)).collect()
}

#[test]
fn rolling_back_and_uninstalling_ask_for_nothing_twice() {
    let Some(env) = TestEnv::new("ask_for_nothing_twice") else { return };
    write_chart(&env);
    // Two of them ask other stores whether they have the name, too.
    for (store, rollback, uninstall) in
        [(Store::Native, 26, 19 + OBJECTS), (Store::Secrets, 22, 15 + OBJECTS)]
    {
        let subject = TestRelease::new(&env, store, "web");
        subject.upgrade("one").succeeded();
        subject.upgrade("two").succeeded();
        let seen = requests(&subject, &["rollback", "web", "1", "--no-hooks"]);
        assert_eq!(repeated(&seen), [""; 0], "{store:?}");
        assert!(seen.len() <= rollback, "{store:?}: {} requests: {seen:#?}", seen.len());
        let seen = requests(&subject, &["uninstall", "web", "--no-hooks"]);
        // Before a release goes, its versions are counted once more.
        let again = repeated(&seen).into_iter().filter(|path| !path.contains("/releaseversions?"));
        assert_eq!(again.collect::<Vec<_>>(), [""; 0], "{store:?}");
        assert!(seen.len() <= uninstall, "{store:?}: {} requests: {seen:#?}", seen.len());
    }
}
