//! `plugin grant`: grants plugins in Lua the permissions that they request.

use super::installed;
use super::uninstall::{for_each, names};
use crate::command::{ArgCompletion, Command};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::plugins::permissions::{self, PERMISSIONS};

/// `plugin grant PLUGIN...`
pub(super) static COMMAND: Command = Command {
    name: "grant",
    operands_text: "<plugin>...",
    short: "grant plugins in Lua the permissions that they request",
    long: "\
Grant plugins in Lua the permissions that their manifests request. `{program} plugin install` asks for them; this is for
plugins that came another way, and for updates that request more.

    {program} plugin grant envsubst
    {program} plugin grant envsubst --accept-perms os",
    completion: ArgCompletion::Plugins,
    flags: &[PERMISSIONS],
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let names = names(invocation, "grant permissions to")?;
    let found = installed(invocation)?;
    for_each(invocation, &names, &found, ("grant permissions to", "Granted permissions to"), permissions::ask)
}
