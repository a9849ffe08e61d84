//! Runs kubectl and helm scenarios on the embedded cluster and on a real one: see `README.md`.

mod blur;
mod refused;
mod side;
mod story;

use std::path::PathBuf;

use self::side::{Side, Tools};
use self::story::{Said, Story};

/// Reports that a scenario was skipped.
#[allow(clippy::print_stdout, reason = "it is for whoever runs the tests")]
fn skip(why: &str) {
    println!("skipped: {why}");
}

/// Runs a scenario where possible, and compares it with its recording.
fn tell(name: &str) {
    let story = Story::read(name);
    let tools = match Tools::find(&story) {
        Ok(tools) => tools,
        Err(missing) => return skip(&missing),
    };
    let real = std::env::var_os("PINTLE_CLIENTS_KUBECONFIG").map(PathBuf::from);
    let recorded = Said::read(name);
    if let Some(kubeconfig) = real {
        let said = story.play(&Side::real(&kubeconfig), &tools);
        if std::env::var_os("PINTLE_CLIENTS_RECORD").is_some() {
            return said.write(name);
        }
        if recorded.kubectl == tools.kubectl_version {
            recorded.compare(&said, "the real cluster");
        }
        return said.compare(&story.play(&Side::embedded(), &tools), "the embedded cluster");
    }
    if recorded.kubectl != tools.kubectl_version {
        return skip(&format!("recorded with kubectl {}", recorded.kubectl));
    }
    recorded.compare(&story.play(&Side::embedded(), &tools), "the embedded cluster");
}

macro_rules! stories {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            tell(stringify!($name));
        })*

        #[test]
        fn every_scenario_file_is_listed() {
            let told = [$(stringify!($name)),*];
            let files = std::fs::read_dir(story::folder()).expect("the stories are there");
            for file in files {
                let name = file.expect("the folder can be read").path();
                let stem = name.file_stem().and_then(|stem| stem.to_str()).expect("names are text");
                assert!(told.contains(&stem), "{stem} is not in the list");
            }
        }
    };
}

stories! {
    access config_map custom daemon_set deployment helm helm_fails helm_three job look pod service stateful_set
}
