//! Lists of plugins, for `plugin install --file`.

use std::path::Path;

use pintle_plugin::Plugin;
use pintle_tree::Node;

use super::install::{self, RequestedPlugin};
use super::installed;
use crate::failure::{Failure, reason};
use crate::invocation::Invocation;
use crate::read;

/// An entry of a list.
struct Listed {
    name: String,
    wanted: RequestedPlugin,
}

/// Installs the plugins of a list that are not installed yet.
///
/// # Errors
///
/// A list that is not valid, and the first plugin that cannot be installed.
pub(super) fn install(invocation: &mut Invocation<'_>, file: &str) -> Result<(), Failure> {
    if !invocation.flags.operands.is_empty() {
        return Err(Failure::usage("--file cannot be used together with a source"));
    }
    let text = read::file(file, read::MAX_SETTINGS)
        .map_err(|error| Failure::usage(format!("open {file}: {}", reason(&error))))?;
    let listed = parse(&text, file)?;
    for entry in listed {
        let present = installed(invocation)?;
        match present.iter().find(|plugin| plugin.metadata.name == entry.name) {
            Some(plugin) => skip(invocation, plugin, &entry)?,
            None => add(invocation, &entry)?,
        }
    }
    Ok(())
}

/// Says that a plugin is installed already. Another version than the listed one is not replaced.
fn skip(invocation: &mut Invocation<'_>, plugin: &Plugin, entry: &Listed) -> Result<(), Failure> {
    let version = &plugin.metadata.version;
    let wanted = entry.wanted.version.trim_start_matches('v');
    if pintle_semver::Version::parse(wanted).is_ok() && wanted != version.as_str() {
        invocation.ui.warn(&format!(
            "plugin {} {version} is installed, and the list has {}; uninstall it to replace it",
            entry.name, entry.wanted.version
        ));
        return Ok(());
    }
    invocation.ui.print(&format!("Already installed: {}\n", entry.name))
}

fn add(invocation: &mut Invocation<'_>, entry: &Listed) -> Result<(), Failure> {
    let plugin = install_one(invocation, entry)?;
    if plugin.metadata.name != entry.name {
        super::uninstall::remove(invocation, &plugin)?;
        return Err(Failure::usage(format!(
            "{} is the plugin `{}`, and the list has it as `{}`; it was removed again",
            entry.wanted.source, plugin.metadata.name, entry.name
        )));
    }
    invocation.ui.print(&format!("Installed plugin: {}\n", entry.name))
}

fn install_one(invocation: &mut Invocation<'_>, entry: &Listed) -> Result<Plugin, Failure> {
    install::install(invocation, &entry.wanted).map_err(|mut failure| {
        failure.text = format!("plugin {}: {}", entry.name, failure.text);
        failure.own = failure.own.take().map(|own| format!("plugin `{}`: {own}", entry.name));
        failure
    })
}

fn parse(text: &[u8], file: &str) -> Result<Vec<Listed>, Failure> {
    let wrong = |reason: String| Failure::usage(format!("{file}: {reason}"));
    let tree = pintle_yaml::read_strict(text).map_err(|error| wrong(error.to_string()))?;
    let list = tree.get("plugins").unwrap_or(&tree);
    let Node::List(items) = list else {
        return Err(wrong("it has no list `plugins`".to_owned())
            .hint("each entry has a name and a source, and may have a version and a checksum"));
    };
    let mut listed = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let entry =
            entry(item, Path::new(file)).map_err(|reason| wrong(format!("plugins[{at}]: {reason}")))?;
        if listed.iter().any(|other: &Listed| other.name == entry.name) {
            return Err(wrong(format!("the plugin `{}` is listed twice", entry.name)));
        }
        listed.push(entry);
    }
    Ok(listed)
}

const FIELDS: [&str; 4] = ["name", "source", "version", "checksum"];

fn entry(item: &Node, file: &Path) -> Result<Listed, String> {
    let map = item.as_map().ok_or("it is not a map")?;
    if let Some(other) = map.keys().map(|key| key.to_str_lossy()).find(|key| !FIELDS.contains(&key.as_ref()))
    {
        return Err(format!("unknown field `{other}`: there are {}", FIELDS.join(", ")));
    }
    let text = |name: &str| match map.get(name) {
        None | Some(Node::Nil) => Ok(String::new()),
        Some(value) => value.as_str().map(str::to_owned).ok_or_else(|| format!("`{name}` is no text")),
    };
    let (name, mut source) = (text("name")?, text("source")?);
    for (field, value) in [("name", &name), ("source", &source)] {
        if value.is_empty() {
            return Err(format!("`{field}` is missing"));
        }
    }
    // Paths are relative to the list.
    if source.starts_with("./") || source.starts_with("../") {
        let folder = file.parent().unwrap_or(Path::new("."));
        source = crate::path::clean(&folder.join(&source).to_string_lossy());
    }
    Ok(Listed {
        name,
        wanted: RequestedPlugin { source, version: text("version")?, checksum: text("checksum")? },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text.as_bytes(), "plugins.yaml").err().map(|failure| failure.text.clone()).unwrap_or_default()
    }

    #[test]
    fn lists_are_read_whole_or_refused() {
        let text = b"plugins:\n- {name: a, source: ./x, version: v1.0.0}\n- {name: b, source: 'https://h/b.tgz', checksum: 'sha256:00'}\n";
        let listed = parse(text, "dir/plugins.yaml").unwrap();
        assert_eq!(
            (listed[0].wanted.source.as_str(), listed[1].wanted.checksum.as_str()),
            ("dir/x", "sha256:00")
        );
        for (text, expected) in [
            ("a: 1\n", "plugins.yaml: it has no list `plugins`"),
            ("plugins:\n- {name: a}\n", "plugins.yaml: plugins[0]: `source` is missing"),
            ("plugins:\n- {name: 1, source: x}\n", "plugins.yaml: plugins[0]: `name` is no text"),
            (
                "plugins:\n- {name: a, source: x, url: y}\n",
                "plugins.yaml: plugins[0]: unknown field `url`: there are name, source, version, checksum",
            ),
            (
                "plugins:\n- {name: a, source: x}\n- {name: a, source: z}\n",
                "plugins.yaml: the plugin `a` is listed twice",
            ),
        ] {
            assert_eq!(error(text), expected);
        }
    }
}
