//! `version`: prints the version.

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::text_template;

/// `version`
pub(crate) static COMMAND: Command = Command {
    name: "version",
    short: "print the version of {program}",
    long: "\
Print the version.

When called as `helm`, the output has the format of Helm's, which other tools parse.

With --template, the fields Version, GitCommit, GitTreeState, GoVersion and KubeClientVersion are available:

    {program} version --template '{{.Version}}'",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[&[
        Flag::switch(names::SHORT, "print only the version number"),
        Flag::text(names::TEMPLATE, "a Go template for the output"),
        // A flag of Helm 3 that scripts still use.
        Flag::switch(names::CLIENT, "").short('c').deprecated("it has no effect: there is only a client"),
    ]],
    run: Some(run),
    ..Command::BLANK
};

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

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let template = invocation.flags.text(names::TEMPLATE);
    if !template.is_empty() {
        let text = text_template::build(template, &FIELDS).map_err(Failure::usage)?;
        return Ok(invocation.ui.out().write_all(&text)?);
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
