//! `package`: packages charts into archives.

use std::path::Path;

use pintle::Silent;
use pintle::ops::PackageRequest;

use crate::command::Command;
use crate::env::Setting;
use crate::failure::Failure;
use crate::flag::groups::REMOTE;
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::report::Reporting;
use crate::scripts::{self, SCRIPTS};
use crate::{chart_reference, clock, dependencies, provenance};

/// `package [CHART_PATH] [...]`
pub(crate) static COMMAND: Command = Command {
    name: "package",
    operands_text: "[CHART_PATH] [...]",
    short: "package a chart into an archive",
    long: "Package chart directories into archives that are named after the chart and its version.",
    flags: &[OWN, REMOTE, SCRIPTS],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::SIGN, "sign the archive with a PGP key"),
    Flag::text(names::KEY, "the name of the key to sign with"),
    Flag::text(names::KEYRING, "the file of keys to sign with").or_setting(Setting::Keyring),
    Flag::text(names::PASSPHRASE_FILE, "the file with the passphrase of the key; - for standard input"),
    Flag::text(names::VERSION, "write this version into the archive's Chart.yaml")
        .completes(FlagCompletion::Nothing),
    Flag::text(names::APP_VERSION, "write this appVersion into the archive's Chart.yaml")
        .completes(FlagCompletion::Nothing),
    Flag::text(names::DESTINATION, "the directory to write the archive to").short('d').or("."),
    Flag::switch(names::DEPENDENCY_UPDATE, "update dependencies from Chart.yaml before packaging").short('u'),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    if invocation.flags.operands.is_empty() {
        return Err(Failure::usage("need at least one argument, the path to the chart")
            .hint(format!("usage: {}", invocation.command_path.usage_line())));
    }
    let epoch = dependencies::epoch(invocation)?;
    let signer = provenance::Signer::from_flags(invocation)?;
    let session = scripts::offline_session(invocation)?;
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    for chart in invocation.flags.operands.clone() {
        if let Err(error) = std::fs::metadata(&chart) {
            let text = format!("stat {chart}: {}", crate::failure::reason(&error));
            return Err(Failure::usage(text).with_pintle_text(format!("there is no chart at `{chart}`")));
        }
        let path = chart_reference::absolute(&chart);
        let now = clock::now();
        if invocation.flags.on(names::DEPENDENCY_UPDATE) {
            dependencies::update(invocation, Path::new(&path), &mut Silent)?;
        }
        let request = PackageRequest {
            chart: path,
            version: given(invocation.flags.text(names::VERSION)),
            app_version: given(invocation.flags.text(names::APP_VERSION)),
            destination: match invocation.flags.text(names::DESTINATION) {
                // Helm prints the absolute path of the current directory.
                "." => chart_reference::absolute("."),
                folder => folder.into(),
            },
            epoch,
            now,
        };
        let mut reporter = Reporting::new(invocation.ui);
        let archive = pintle::ops::package(&session, &request, &mut reporter)?;
        if let Some(signer) = &signer {
            signer.sign(invocation, &archive)?;
        }
        let line = format!("Successfully packaged chart and saved it to: {}\n", archive.display());
        invocation.ui.print(&line)?;
    }
    Ok(())
}
