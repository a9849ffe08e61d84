//! `adopt`: moves the records of a release from one store to another.

use std::sync::Arc;

use pintle::Session;
use pintle::ops::{AdoptRequest, Adopted};

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;

/// `adopt RELEASE_NAME [...]`
pub(crate) static COMMAND: Command = Command {
    name: "adopt",
    operands_text: "RELEASE_NAME [...]",
    short: "move a release from Helm's records to Pintle's, or back",
    long: "\
Move the records of all versions of a release to another store. The objects of the release are not changed. Every other
command works in the store that has the release; only this one moves it.

    {program} adopt web
    {program} adopt web --to secret

A release that leaves a store of Helm's leaves a marker there: Helm then shows it as pending-upgrade, with a description
that says where it is, and refuses to install, upgrade or uninstall it. The marker goes when the release comes back or is
uninstalled. If the command is interrupted, nothing is lost, and repeating it finishes the move.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::Releases,
    flags: &[OWN],
    run: Some(run),
    ..Command::BLANK
};

/// The stores that releases can be moved to.
const STORES: &[&str] = &["native", "secret", "configmap", "sql"];

static OWN: &[Flag] = &[Flag::text(
    names::TO,
    "the store to move to: native (Release objects), or secret, configmap or sql in Helm's format",
)
.or("native")
.completes(FlagCompletion::Words(STORES))];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let word = invocation.flags.text(names::TO).to_owned();
    if !STORES.contains(&word.as_str()) {
        return Err(Failure::usage(format!("`--to {word}` is no store for releases"))
            .hint("the stores are native, secret, configmap and sql"));
    }
    let connection = Connection::open(invocation)?;
    let stores = connection.every_store(invocation, &word)?;
    let Some(to) = stores.iter().find(|store| store.driver_word() == word).map(Arc::clone) else {
        return Err(Failure::usage(format!("`--to {word}` needs a cluster")));
    };
    let session = Session { other_stores: stores, excluded_stores: Vec::new(), ..connection.session.clone() };
    for name in invocation.flags.operands.clone() {
        let request = AdoptRequest { name, namespace: connection.namespace.clone(), to: Arc::clone(&to) };
        let adopted = connection.run(pintle::ops::adopt(&session, &request))?;
        invocation.ui.print(&describe(&request.name, adopted))?;
    }
    Ok(())
}

/// Says what was done, and what Helm sees of the release from now on.
fn describe(name: &str, adopted: Adopted) -> String {
    let store = match adopted.to {
        "native" => "Release objects",
        "secret" => "Helm's Secrets",
        "configmap" => "Helm's ConfigMaps",
        _ => "the database",
    };
    if adopted.versions == 0 {
        return format!(
            "release \"{name}\" does not exist any more; its marker was deleted, and the name is free\n"
        );
    }
    let done = match (adopted.from, adopted.versions) {
        (None, _) => return format!("release \"{name}\" is already stored in {store}\n"),
        (Some(_), 1) => format!("release \"{name}\" moved to {store} with 1 version"),
        (Some(_), versions) => format!("release \"{name}\" moved to {store} with {versions} versions"),
    };
    let seen = match (adopted.from, adopted.to) {
        (_, "secret") => "Helm sees it as its own release".to_owned(),
        (_, to @ ("configmap" | "sql")) => format!("Helm sees it with HELM_DRIVER={to}"),
        (from, _) => format!(
            "Helm shows it as pending-upgrade and refuses to work on it; `pintle adopt {name} --to {}` brings it back",
            from.unwrap_or("secret")
        ),
    };
    format!("{done}\n{seen}\n")
}
