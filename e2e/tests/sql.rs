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
