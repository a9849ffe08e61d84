//! Releases in PostgreSQL over TLS: certificates are verified as the connection string says, as in the real Helm.

use crate::support;

use pintle_e2e::{CommandResult, Program, TestEnv, skip};
use support::{database, write_chart};

/// A database that accepts its user over TLS only, with a certificate for `localhost`.
struct Database {
    /// Its connection string, without TLS parameters.
    address: String,
    /// The CA file for its certificate.
    authority: String,
}

impl Database {
    fn of(test: &str) -> Option<Database> {
        let variables = ["PINTLE_E2E_POSTGRES_TLS", "PINTLE_E2E_POSTGRES_CA"].map(std::env::var);
        let [Ok(address), Ok(authority)] = variables else {
            skip(&format!("{test} needs PostgreSQL"));
            return None;
        };
        Some(Database { address, authority })
    }

    fn run(&self, env: &TestEnv, program: Program, security: &str, words: &[&str]) -> CommandResult {
        let security = security.replace("AUTHORITY", &self.authority);
        let mut address = format!("{}?{security}", self.address);
        if let Some(rest) = security.strip_prefix("by-number&") {
            address = format!("{}?{rest}", self.address.replace("localhost", "127.0.0.1"));
        }
        let mut command = env.command(program);
        command.env("HELM_DRIVER", "sql").env("HELM_DRIVER_SQL_CONNECTION_STRING", address).args(words);
        command.output().expect("the program can be run").into()
    }
}

#[test]
fn the_database_is_trusted_as_far_as_the_connection_string_says() {
    let test = "the_database_is_trusted";
    let (Some(env), Some(database)) = (TestEnv::new(test), Database::of(test)) else { return };
    let _turn = self::database(&env);
    for (security, is_let_in) in [
        ("sslmode=disable", false),
        ("sslmode=require", true),
        ("", true),
        ("by-number&sslmode=require", true),
        ("sslmode=verify-ca&sslrootcert=AUTHORITY", true),
        ("by-number&sslmode=verify-ca&sslrootcert=AUTHORITY", true),
        ("sslmode=verify-full&sslrootcert=AUTHORITY", true),
        ("by-number&sslmode=verify-full&sslrootcert=AUTHORITY", false),
        ("sslmode=verify-full", false),
        ("sslmode=verify-ca", false),
        ("sslmode=verify-full&sslrootcert=/no/such/file", false),
    ] {
        for program in [Program::Helm4, Program::PintleAsHelm, Program::Pintle] {
            let ran = database.run(&env, program, security, &["list"]);
            assert_eq!(ran.code == Some(0), is_let_in, "{program:?} {security}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_release_lives_in_a_database_that_is_checked() {
    let test = "a_release_lives_in_a_database_that_is_checked";
    let (Some(env), Some(database)) = (TestEnv::new(test), Database::of(test)) else { return };
    let _turn = self::database(&env);
    write_chart(&env, "chart");
    let full = "sslmode=verify-full&sslrootcert=AUTHORITY";
    let run = |program, words: &[&str]| database.run(&env, program, full, words).succeeded();
    run(Program::Pintle, &["install", "web", "chart", "--set", "text=one"]);
    run(Program::Helm4, &["upgrade", "web", "chart", "--set", "text=two"]);
    run(Program::Pintle, &["rollback", "web", "1"]);
    assert_eq!(env.object("v1", "configmaps", "web").expect("is there")["data"]["text"], "one");
    let manifest = |program| run(program, &["get", "manifest", "web"]).stdout;
    assert_eq!(manifest(Program::Pintle), manifest(Program::Helm4));
    run(Program::Pintle, &["uninstall", "web"]);
    assert!(env.object("v1", "configmaps", "web").is_none());
}

#[test]
fn a_release_that_was_moved_out_of_a_database_leaves_a_marker_at_which_helm_stops() {
    let test = "a_release_that_was_moved_out_of_a_database";
    let Ok(address) = std::env::var("PINTLE_E2E_POSTGRES") else {
        skip(&format!("{test} needs PostgreSQL"));
        return;
    };
    let Some(env) = TestEnv::new(test) else { return };
    let _turn = self::database(&env);
    write_chart(&env, "chart");
    let run = |program, words: &[&str]| -> CommandResult {
        let mut command = env.command(program);
        command.env("HELM_DRIVER_SQL_CONNECTION_STRING", &address).args(words);
        if !matches!(program, Program::Pintle) || words.contains(&"sql") {
            command.env("HELM_DRIVER", "sql");
        }
        command.output().expect("the program can be run").into()
    };
    run(Program::Helm4, &["install", "web", "chart", "--set", "text=one"]).succeeded();
    run(Program::Helm4, &["upgrade", "web", "chart", "--set", "text=two"]).succeeded();
    let mut adopt = env.command(Program::Pintle);
    adopt.env("HELM_DRIVER", "sql").env("HELM_DRIVER_SQL_CONNECTION_STRING", &address);
    let adopted: CommandResult =
        adopt.args(["adopt", "web", "--to", "native"]).output().expect("it runs").into();
    adopted.succeeded();
    for program in [Program::Helm4, Program::Helm3] {
        for (words, said) in [
            (&["install", "web", "chart"][..], "still in use"),
            (&["upgrade", "web", "chart"], "is in progress"),
            (&["upgrade", "--install", "web", "chart"], "is in progress"),
            (&["rollback", "web"], "release has no 2 version"),
            (&["uninstall", "web"], "pintle adopt web --to sql"),
            (&["uninstall", "web", "--keep-history"], "pintle adopt web --to sql"),
        ] {
            let refused = run(program, words).failed();
            assert!(refused.stderr.contains(said), "{program:?} {words:?}: {}", refused.stderr);
        }
        let history = run(program, &["history", "web"]).succeeded().stdout;
        assert!(
            history.contains("pending-upgrade") && history.contains("pintle adopt web --to sql"),
            "{history}"
        );
    }
    let text = || env.object("v1", "configmaps", "web").expect("is there")["data"]["text"].clone();
    run(Program::Pintle, &["upgrade", "web", "chart", "--set", "text=three"]).succeeded();
    assert_eq!(text(), "three");
    // Back in the database, the marker is gone, and Helm goes on.
    run(Program::Pintle, &["adopt", "web", "--to", "sql"]).succeeded();
    run(Program::Helm4, &["upgrade", "web", "chart", "--set", "text=four"]).succeeded();
    run(Program::Helm4, &["rollback", "web", "1"]).succeeded();
    assert_eq!(text(), "one");
    run(Program::Helm4, &["uninstall", "web"]).succeeded();
    run(Program::Helm4, &["install", "web", "chart"]).succeeded();
    run(Program::Helm4, &["uninstall", "web"]).succeeded();
}
