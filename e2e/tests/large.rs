//! Releases that are larger than what one object can hold.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_e2e::{CommandResult, Program, TestEnv};
use serde_json::Value;

const MEBIBYTE: usize = 1 << 20;

/// Text that compression makes a quarter smaller and no more.
fn noise(length: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let letter = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(LETTERS[(state >> 58) as usize])
    };
    (0..length).map(letter).collect()
}

/// Writes a chart with `objects` ConfigMaps of `size` bytes each, and files of a megabyte beside them.
fn write_chart(env: &TestEnv, objects: usize, size: usize, files: usize) {
    env.write("big/Chart.yaml", "apiVersion: v2\nname: big\nversion: 1.0.0\n");
    env.write("big/values.yaml", "stage: one\n");
    let text = noise(size);
    for number in 0..objects {
        let object = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: part-{number}\ndata:\n  stage: {{{{ .Values.stage }}}}\n  \
             text: {number}{text}\n"
        );
        env.write(&format!("big/templates/part-{number}.yaml"), &object);
    }
    for number in 0..files {
        env.write(&format!("big/files/{number}"), &noise(1_000_000 + number));
    }
}

/// The Secrets with the payload of releases, and how many bytes they hold.
fn payload(env: &TestEnv) -> (usize, usize) {
    let secrets = env.objects("v1", "secrets");
    let parts = secrets.iter().filter(|secret| secret["type"] == "helm.sh/release-payload.v3");
    let sizes: Vec<usize> = parts
        .map(|secret| {
            let text = secret["data"]["payload"].as_str().expect("a part has a payload");
            STANDARD.decode(text).expect("a payload is base64").len()
        })
        .collect();
    (sizes.len(), sizes.iter().sum())
}

fn stage(env: &TestEnv) -> Option<String> {
    let object = env.object("v1", "configmaps", "part-0")?;
    object["data"]["stage"].as_str().map(str::to_owned)
}

/// Takes a release through its whole life, and gives how many Secrets and bytes its first version took.
fn live(env: &TestEnv) -> (usize, usize) {
    let run = |arguments: &[&str]| env.run(Program::Pintle, arguments).succeeded();
    run(&["install", "big", "big"]);
    assert_eq!(stage(env).as_deref(), Some("one"));
    let first = payload(env);
    let manifest = run(&["get", "manifest", "big"]).stdout;
    run(&["upgrade", "big", "big", "--set", "stage=two"]);
    assert_eq!(stage(env).as_deref(), Some("two"));
    run(&["rollback", "big", "1"]);
    assert_eq!(stage(env).as_deref(), Some("one"));
    assert!(run(&["get", "manifest", "big"]).stdout == manifest, "the manifest is another one");
    let history = run(&["history", "big", "-o", "json"]).stdout;
    let history: Vec<Value> = serde_json::from_str(&history).expect("history prints JSON");
    let states: Vec<&str> = history.iter().filter_map(|version| version["status"].as_str()).collect();
    assert_eq!(states, ["superseded", "superseded", "deployed"]);
    run(&["uninstall", "big"]);
    nothing_is_left(env);
    first
}

/// Waits until the garbage collector has taken what belonged to the release.
fn nothing_is_left(env: &TestEnv) {
    for (version, plural) in [
        ("v1", "configmaps"),
        ("v1", "secrets"),
        ("helm.sh/v3", "releases"),
        ("helm.sh/v3", "releaseversions"),
    ] {
        env.wait_for(version, plural, "", |list| {
            let items = list.and_then(|list| list["items"].as_array());
            let left = items.into_iter().flatten();
            left.filter(|object| object["metadata"]["name"] != "kube-root-ca.crt").count() == 0
        });
    }
}

#[test]
fn a_release_larger_than_a_mebibyte_lives_and_leaves_nothing() {
    let Some(env) = TestEnv::new("a_release_larger_than_a_mebibyte") else { return };
    write_chart(&env, 2, 600_000, 0);
    let (secrets, bytes) = live(&env);
    assert!(secrets > 1 && bytes > MEBIBYTE, "{bytes} bytes in {secrets} Secrets");
}

#[test]
fn a_release_larger_than_ten_mebibytes_lives_and_leaves_nothing() {
    let Some(env) = TestEnv::new("a_release_larger_than_ten_mebibytes") else { return };
    write_chart(&env, 1, 1_000, 14);
    let (secrets, bytes) = live(&env);
    assert!(secrets > 10 && bytes > 10 * MEBIBYTE, "{bytes} bytes in {secrets} Secrets");
}

#[test]
fn a_release_that_fits_no_secret_is_refused_as_helm_refuses_it_and_nothing_is_applied() {
    let Some(env) = TestEnv::new("a_release_that_fits_no_secret") else { return };
    // The last is too large for a request, too.
    for files in [2, 5] {
        write_chart(&env, 1, 1_000, files);
        for driver in ["secret", "configmap"] {
            let run = |program| {
                let mut command = env.command(program);
                let output = command.args(["install", "big", "big"]).env("HELM_DRIVER", driver).output();
                CommandResult::from(output.expect("the program can be run")).failed()
            };
            let (helm, ours) = (run(Program::Helm4), run(Program::PintleAsHelm));
            assert_eq!(helm.stderr, ours.stderr);
            let advice = run(Program::Pintle).stderr;
            assert!(advice.contains("without HELM_DRIVER") && advice.contains("1048576"), "{advice}");
        }
    }
    assert_eq!(stage(&env), None);
    nothing_is_left(&env);
}
