//! Runs kubectl and helm scenarios on the embedded cluster and on a real one: see `README.md`.

pub(crate) mod mask;
mod refused;
mod scenario;
pub(crate) mod side;

use std::path::PathBuf;

use pintle_testkit::skip;

use self::scenario::{Recording, Scenario};
use self::side::{Side, Tools};

/// Runs a scenario where possible, and compares it with its recording.
fn run(name: &str) {
    let scenario = Scenario::read(name);
    let tools = match Tools::find(&scenario) {
        Ok(tools) => tools,
        Err(missing) => return skip(&missing),
    };
    let real = std::env::var_os("PINTLE_CLIENTS_KUBECONFIG").map(PathBuf::from);
    let recorded = Recording::read(name);
    if let Some(kubeconfig) = real {
        let recording = scenario.run(&Side::real(&kubeconfig), &tools);
        if std::env::var_os("PINTLE_CLIENTS_RECORD").is_some() {
            return recording.write(name);
        }
        if recorded.kubectl == tools.kubectl_version {
            recorded.compare(&recording, "the real cluster");
        }
        return recording.compare(&scenario.run(&Side::embedded(), &tools), "the embedded cluster");
    }
    if recorded.kubectl != tools.kubectl_version {
        return skip(&format!("recorded with kubectl {}", recorded.kubectl));
    }
    recorded.compare(&scenario.run(&Side::embedded(), &tools), "the embedded cluster");
}

macro_rules! scenarios {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })*

        #[test]
        fn every_scenario_file_is_listed() {
            let listed = [$(stringify!($name)),*];
            let files = std::fs::read_dir(scenario::folder()).expect("the scenarios exist");
            for file in files {
                let name = file.expect("the folder can be read").path();
                let stem = name.file_stem().and_then(|stem| stem.to_str()).expect("names are text");
                assert!(listed.contains(&stem), "{stem} is not in the list");
            }
        }
    };
}

scenarios! {
    access config_map custom daemon_set deployment helm helm_fails helm_three job look pod service stateful_set
}
