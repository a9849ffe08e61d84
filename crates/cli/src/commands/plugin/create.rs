//! `plugin create`: makes a plugin in Lua to start from.

use std::fs;
use std::path::Path;

use pintle_plugin::Metadata;

use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::{Failure, reason};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;

/// `plugin create NAME`
pub(super) static COMMAND: Command = Command {
    name: "create",
    operands_text: "NAME",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::NothingUpTo(0),
    short: "create a plugin in Lua",
    long: "\
Create a directory with a plugin in Lua that works: a manifest, a script and a description. The plugin needs no program
besides {program}, on any platform.

    {program} plugin create hello
    {program} plugin install ./hello
    {program} hello world",
    flags: &[OWN],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[Flag::text(names::TYPE, "what the plugin is: cli, getter, postrenderer or uploader")
    .or("cli")
    .completes(FlagCompletion::Words(&["cli", "getter", "postrenderer", "uploader"]))];

/// The files of a new plugin of a type. `@name@` is its name.
struct Template {
    name: &'static str,
    manifest: &'static str,
    script: &'static str,
    readme: &'static str,
}

const TEMPLATES: [Template; 4] = [
    Template {
        name: "cli",
        manifest: include_str!("create/cli.yaml"),
        script: include_str!("create/cli.lua"),
        readme: include_str!("create/cli.md"),
    },
    Template {
        name: "getter",
        manifest: include_str!("create/getter.yaml"),
        script: include_str!("create/getter.lua"),
        readme: include_str!("create/getter.md"),
    },
    Template {
        name: "postrenderer",
        manifest: include_str!("create/postrenderer.yaml"),
        script: include_str!("create/postrenderer.lua"),
        readme: include_str!("create/postrenderer.md"),
    },
    Template {
        name: "uploader",
        manifest: include_str!("create/uploader.yaml"),
        script: include_str!("create/uploader.lua"),
        readme: include_str!("create/uploader.md"),
    },
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let folder = invocation.operand(0).to_owned();
    let name = crate::path::base(&folder).to_owned();
    let wanted = invocation.flags.text(names::TYPE);
    let word = wanted.strip_suffix("/v1").unwrap_or(wanted);
    let Some(template) = TEMPLATES.iter().find(|template| template.name == word) else {
        return Err(Failure::usage(format!("there is no plugin type `{wanted}`"))
            .hint("it may be cli, getter, postrenderer or uploader"));
    };
    let manifest = template.manifest.replace("@name@", &name);
    // The parser that will load the manifest also validates the name.
    Metadata::parse(manifest.as_bytes()).map_err(|_| {
        Failure::usage(format!("`{name}` cannot be the name of a plugin"))
            .hint("a name has letters, digits, _ and -")
    })?;
    let files = [
        ("plugin.yaml", manifest),
        ("plugin.lua", template.script.replace("@name@", &name)),
        ("README.md", template.readme.replace("@name@", &name)),
    ];
    write(Path::new(&folder), &files)?;
    invocation.ui.print(&format!("Created plugin: {folder}\n"))
}

/// Writes all files to a temporary folder and renames it, so that there is never a partial plugin.
fn write(folder: &Path, files: &[(&str, String)]) -> Result<(), Failure> {
    if fs::symlink_metadata(folder).is_ok() {
        return Err(Failure::usage(format!("`{}` exists already", folder.display())));
    }
    let failed = |error: std::io::Error| {
        Failure::run_time(format!("cannot create `{}`: {}", folder.display(), reason(&error)))
    };
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed)?;
    let unfinished = tempfile::Builder::new().prefix(".plugin-").tempdir_in(parent).map_err(failed)?;
    let made = unfinished.path().join("plugin");
    fs::create_dir(&made).map_err(failed)?;
    for (name, text) in files {
        fs::write(made.join(name), text).map_err(failed)?;
    }
    fs::rename(&made, folder).map_err(failed)
}
