//! `plugin list`: lists plugins.

use pintle_plugin::{Plugin, signing_status};
use pintle_tree::{Map, Node};

use super::{locations, trace};
use crate::command::{ArgCompletion, Command};
use crate::env::Setting;
use crate::failure::Failure;
use crate::flag::deploy::OUTPUT;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::output::format::{Format, print_data};
use crate::output::grid::print_rows;
use crate::plugins;

/// `plugin list`
pub(super) static COMMAND: Command = Command {
    name: "list",
    aliases: &["ls"],
    short: "list installed plugins",
    long: "\
List the installed plugins with their versions and types.

PROVENANCE shows whether a plugin came with a signature for its archive. It does not show whether the key is trusted:
`{program} plugin verify` does.",
    completion: ArgCompletion::NothingUpTo(0),
    flags: &[OWN, OUTPUT],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[Flag::text(
    names::TYPE,
    "list only plugins of this type: cli/v1, getter/v1, postrenderer/v1 or uploader/v1",
)];

const HEADER: [&str; 6] = ["NAME", "VERSION", "TYPE", "APIVERSION", "PROVENANCE", "SOURCE"];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let directory = invocation.environment.setting(Setting::Plugins);
    trace(invocation, "pluginDirs", vec![("directory", directory)]);
    let folders = plugins::folders(invocation.environment);
    let mut found = plugins::load(invocation.personality, &folders, invocation.ui)?;
    let wanted = invocation.flags.text(names::TYPE).to_owned();
    found.retain(|plugin| wanted.is_empty() || plugin.metadata.plugin_type.name() == wanted);
    let locations = locations(invocation.environment);
    let status = |plugin: &Plugin| {
        let is_own = plugin.dir.starts_with(&locations.own);
        signing_status(if is_own { &locations.own } else { &locations.data }, &plugin.metadata)
    };
    let rows: Vec<[String; 6]> = found.iter().map(|plugin| row(plugin, status(plugin))).collect();
    match Format::from_flags(&invocation.flags) {
        Format::Table => {
            let header = HEADER.map(str::to_owned).to_vec();
            let rows: Vec<Vec<String>> =
                std::iter::once(header).chain(rows.into_iter().map(|row| row.to_vec())).collect();
            print_rows(invocation, &rows, 0)
        }
        format => {
            let items = rows.into_iter().map(|row| {
                let entries = HEADER.iter().zip(row).map(|(name, value)| {
                    let name =
                        if *name == "APIVERSION" { "apiVersion".to_owned() } else { name.to_lowercase() };
                    (name.as_str().into(), Node::from(value))
                });
                Node::Map(Map::from_entries(entries.collect()))
            });
            print_data(invocation.ui, format, &Node::List(items.collect()))
        }
    }
}

fn row(plugin: &Plugin, provenance: &str) -> [String; 6] {
    let metadata = &plugin.metadata;
    let source = if metadata.source_url.is_empty() { "unknown" } else { &metadata.source_url };
    [
        metadata.name.clone(),
        metadata.version.clone(),
        metadata.plugin_type.name().to_owned(),
        metadata.api_version.name().to_owned(),
        provenance.to_owned(),
        source.to_owned(),
    ]
}
