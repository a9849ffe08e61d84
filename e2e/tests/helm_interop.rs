//! Interoperability: the real Helm 4, the real Helm 3 and ours operate in turn on one release, in Helm's stores.

use crate::support;

use pintle_e2e::{CommandResult, Program, TestEnv};
use support::{database, write_chart};

const PROGRAMS: [Program; 3] = [Program::PintleAsHelm, Program::Helm4, Program::Helm3];

/// A test environment with a storage driver.
struct Driver {
    env: TestEnv,
    driver: &'static str,
}

impl Driver {
    fn run(&self, program: Program, arguments: &[&str]) -> CommandResult {
        let mut command = self.env.command(program);
        command.env("HELM_DRIVER", self.driver).args(arguments);
        if let Ok(database) = std::env::var("PINTLE_E2E_POSTGRES") {
            command.env("HELM_DRIVER_SQL_CONNECTION_STRING", database);
        }
        command.output().unwrap_or_else(|error| panic!("cannot run {program:?}: {error}")).into()
    }

    /// Asserts that all programs print the same. Helm 3 prints metadata in another form.
    fn agree(&self, who: &str, revision: &str) {
        for what in ["manifest", "values", "hooks", "notes", "metadata"] {
            let get = |program| {
                let ran = self.run(program, &["get", what, "web", "--revision", revision]).succeeded();
                (ran.stdout, ran.stderr)
            };
            let expected = get(Program::Helm4);
            assert_eq!(get(Program::PintleAsHelm), expected, "{who}: get {what}, revision {revision}");
            if what != "metadata" && self.driver != "sql" {
                assert_eq!(get(Program::Helm3).0, expected.0, "{who}: get {what} of Helm 3");
            }
        }
        let history = |program| self.run(program, &["history", "web"]).succeeded().stdout;
        assert_eq!(history(Program::PintleAsHelm), history(Program::Helm4), "{who}: history");
        let list = |program| self.run(program, &["list"]).succeeded().stdout;
        assert_eq!(list(Program::PintleAsHelm), list(Program::Helm4), "{who}: list");
    }

    /// The life cycle of a release, each step by the next program.
    fn life(&self, turns: [Program; 4]) {
        let who = format!("{} {turns:?}", self.driver);
        let [installs, upgrades, rolls_back, uninstalls] = turns;
        self.run(installs, &["install", "web", "chart", "--set", "text=one"]).succeeded();
        self.agree(&who, "1");
        self.run(upgrades, &["upgrade", "web", "chart", "--set", "text=two", "--set", "more=true"])
            .succeeded();
        self.agree(&who, "2");
        let data = |name: &str| self.env.object("v1", "configmaps", name);
        assert_eq!(data("web").expect("was made")["data"]["text"], "two", "{who}");
        assert!(data("web-more").is_some(), "{who}");
        self.run(rolls_back, &["rollback", "web", "1"]).succeeded();
        self.agree(&who, "3");
        assert_eq!(data("web").expect("is still there")["data"]["text"], "one", "{who}");
        assert!(data("web-more").is_none(), "{who}: what the second version had made");
        self.run(uninstalls, &["uninstall", "web"]).succeeded();
        self.env.wait_for("v1", "configmaps", "web", |object| object.is_none());
        assert_eq!(self.run(Program::Helm4, &["list", "-q"]).succeeded().stdout, "", "{who}");
    }
}

/// Runs life cycles in which each program hands the release to the one `places` further in the list.
fn turns(test: &str, driver: &'static str, places: &[usize]) {
    let Some(env) = TestEnv::new(test) else { return };
    write_chart(&env, "chart");
    let table = Driver { env, driver };
    for first in 0..PROGRAMS.len() {
        for place in places {
            let turn = |step: usize| PROGRAMS[(first + step * place) % PROGRAMS.len()];
            table.life([turn(0), turn(1), turn(2), turn(3)]);
        }
    }
}

#[test]
fn all_programs_share_releases_in_secrets() {
    turns("all_programs_share_releases_in_secrets", "secret", &[1, 2]);
}

#[test]
fn all_programs_share_releases_in_config_maps() {
    turns("all_programs_share_releases_in_config_maps", "configmap", &[2]);
}

#[test]
fn helm_4_and_ours_share_releases_in_a_database() {
    let test = "helm_4_and_ours_share_releases_in_a_database";
    if std::env::var_os("PINTLE_E2E_POSTGRES").is_none() {
        pintle_e2e::skip(&format!("{test} needs PostgreSQL"));
        return;
    }
    let Some(env) = TestEnv::new(test) else { return };
    write_chart(&env, "chart");
    let _database = database(&env);
    let table = Driver { env, driver: "sql" };
    let (ours, real) = (Program::PintleAsHelm, Program::Helm4);
    table.life([ours, real, ours, real]);
    table.life([real, ours, real, ours]);
    table.life([ours, ours, real, real]);
}

#[test]
fn an_uninstalled_release_that_is_kept_can_be_rolled_back_by_the_other() {
    let Some(env) = TestEnv::new("an_uninstalled_release_that_is_kept") else { return };
    write_chart(&env, "chart");
    for (first, second) in [(Program::PintleAsHelm, Program::Helm4), (Program::Helm4, Program::PintleAsHelm)]
    {
        env.run(first, &["install", "web", "chart"]).succeeded();
        env.run(first, &["uninstall", "web", "--keep-history"]).succeeded();
        let list = |program| env.run(program, &["list", "--uninstalled"]).succeeded().stdout;
        assert_eq!(list(first), list(second));
        env.run(second, &["rollback", "web", "1"]).succeeded();
        env.wait_for("v1", "configmaps", "web", |object| object.is_some());
        env.run(second, &["uninstall", "web"]).succeeded();
        env.wait_for("v1", "configmaps", "web", |object| object.is_none());
    }
}
