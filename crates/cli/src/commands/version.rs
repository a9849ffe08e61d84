//! `version`: prints the version.

use pintle_tree::Node;

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::flag::deploy::OUTPUT;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::output::format::{Format, Record, print_data};
use crate::personality::Personality;
use crate::text_template;

/// `version`
pub(crate) static COMMAND: Command = Command {
    long: "\
Print the version.

With -o json, it says what the program was built from and with: commit and date (if they are known), target, compiler, features,
and the versions of Helm and Kubernetes that it follows. When called as `helm`, the output has the format of Helm's.

With --template, the fields Version, GitCommit, GitTreeState, GoVersion and KubeClientVersion are available:

    {program} version --template '{{.Version}}'",
    flags: &[FLAGS, OUTPUT],
    as_helm: Some(&AS_HELM),
    ..BOTH
};

/// Helm prints no JSON.
static AS_HELM: Command = Command { flags: &[FLAGS], ..BOTH };

const BOTH: Command = Command {
    name: "version",
    short: "print the version of {program}",
    long: "\
Print the version.

When called as `helm`, the output has the format of Helm's, which other tools parse.

With --template, the fields Version, GitCommit, GitTreeState, GoVersion and KubeClientVersion are available:

    {program} version --template '{{.Version}}'",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    run: Some(run),
    ..Command::BLANK
};

const FLAGS: &[Flag] = &[
    Flag::switch(names::SHORT, "print only the version number"),
    Flag::text(names::TEMPLATE, "a Go template for the output"),
    // A flag of Helm 3 that scripts still use.
    Flag::switch(names::CLIENT, "").short('c').deprecated("it has no effect: there is only a client"),
];

/// The Helm version that this program emulates.
pub(crate) const HELM: &str = "v4.3.1";
const GO: &str = "go1.27.2";
const KUBERNETES: &str = "v1.37";
const FIELDS: [(&str, &str); 5] = [
    ("Version", HELM),
    ("GitCommit", ""),
    ("GitTreeState", ""),
    ("GoVersion", GO),
    ("KubeClientVersion", KUBERNETES),
];
const OWN: &str = env!("CARGO_PKG_VERSION");

/// The features of Cargo that change what the program can do, and whether they are on.
const FEATURES: [(&str, bool); 1] = [("wasm", cfg!(feature = "wasm"))];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let template = invocation.flags.text(names::TEMPLATE);
    if !template.is_empty() {
        let text = text_template::build(template, &FIELDS).map_err(Failure::usage)?;
        return Ok(invocation.ui.out().write_all(&text)?);
    }
    if invocation.personality == Personality::Pintle {
        let format = Format::from_flags(&invocation.flags);
        if format.is_data() {
            return print_data(invocation.ui, format, &build_info());
        }
    }
    let text = match (invocation.personality, invocation.flags.on(names::SHORT)) {
        (Personality::Helm, true) => HELM.to_owned(),
        (Personality::Helm, false) => format!(
            "version.BuildInfo{{Version:\"{HELM}\", GitCommit:\"\", GitTreeState:\"\", GoVersion:\"{GO}\", \
             KubeClientVersion:\"{KUBERNETES}\"}}"
        ),
        (Personality::Pintle, true) => OWN.to_owned(),
        (Personality::Pintle, false) => {
            format!("pintle {OWN} (as Helm {}, Kubernetes {})", &HELM[1..], &KUBERNETES[1..])
        }
    };
    invocation.ui.print(&format!("{text}\n"))
}

/// What the program was built from and with, as the build script found it.
fn build_info() -> Record {
    let known = |text: Option<&'static str>| text.filter(|text| !text.is_empty()).map(Node::from);
    let features = FEATURES.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| Node::from(*name));
    Record::default()
        .with("version", OWN)
        .with_option("commit", known(option_env!("PINTLE_BUILD_COMMIT")))
        .with_option("date", known(option_env!("PINTLE_BUILD_DATE")))
        .with("target", env!("PINTLE_BUILD_TARGET"))
        .with_option("rustc", known(option_env!("PINTLE_BUILD_RUSTC")))
        .with("features", Node::List(features.collect()))
        .with("helm", &HELM[1..])
        .with("kubernetes", &KUBERNETES[1..])
}
