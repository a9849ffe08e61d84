//! Conversion of context fields that are not trees.

use pintle_events::{Context, Dependency, SourceFile};
use pintle_tree::{Map, Node, Str};

use super::frame::Root;

/// A context field as a tree; `None` if the event does not have it.
pub(super) fn built(context: &Context, root: Root) -> Option<Node> {
    match root {
        Root::Chart => context.chart().map(|facts| {
            let maintainers = facts.maintainers.iter().map(|known| {
                map(&[("name", text(&known.name)), ("email", text(&known.email)), ("url", text(&known.url))])
            });
            map(&[
                ("apiVersion", text(&facts.api_version)),
                ("name", text(&facts.name)),
                ("version", text(&facts.version)),
                ("description", text(&facts.description)),
                ("keywords", texts(&facts.keywords)),
                ("home", text(&facts.home)),
                ("sources", texts(&facts.sources)),
                ("maintainers", Node::List(maintainers.collect())),
                ("icon", text(&facts.icon)),
                ("appVersion", text(&facts.app_version)),
                ("kubernetesVersions", text(&facts.kubernetes_versions)),
            ])
        }),
        Root::Release => context.release().map(|facts| {
            map(&[
                ("name", text(&facts.name)),
                ("namespace", text(&facts.namespace)),
                ("revision", Node::Int(i64::try_from(facts.number).unwrap_or(i64::MAX))),
                ("isInstall", Node::Bool(facts.is_install)),
                ("isUpgrade", Node::Bool(facts.is_upgrade)),
            ])
        }),
        Root::Capabilities => context.capabilities().map(|facts| {
            map(&[
                ("helmVersion", text(&facts.helm_version)),
                ("kubernetesVersion", text(&facts.kubernetes_version)),
                ("apiVersions", texts(&facts.api_versions)),
            ])
        }),
        Root::Readiness => context.readiness().map(|facts| {
            map(&[
                ("apiVersion", text(&facts.api_version)),
                ("kind", text(&facts.kind)),
                ("namespace", text(&facts.namespace)),
                ("name", text(&facts.name)),
                ("state", text(&facts.state)),
                ("message", text(&facts.message)),
                ("ready", Node::Bool(facts.ready)),
            ])
        }),
        Root::Files => context.chart().map(|_| sources(context.files())),
        Root::Templates => context.chart().map(|_| sources(context.templates())),
        Root::Dependencies => context.chart().map(|_| dependencies(context.dependencies())),
        // These are trees already, and large; they are read where they are.
        Root::Values | Root::Objects => None,
    }
}

fn text(text: &str) -> Node {
    Node::from(text)
}

fn texts(texts: &[String]) -> Node {
    Node::List(texts.iter().map(|item| text(item)).collect())
}

fn map(entries: &[(&str, Node)]) -> Node {
    Node::Map(entries.iter().map(|(key, node)| (Str::from(*key), node.clone())).collect())
}

fn sources(files: &[SourceFile]) -> Node {
    let file = |file: &SourceFile| map(&[("name", text(&file.name)), ("data", Node::Str(file.data.clone()))]);
    Node::List(files.iter().map(file).collect())
}

fn dependencies(dependencies: &[Dependency]) -> Node {
    let one = |dependency: &Dependency| {
        let mut entries = vec![
            ("name", text(&dependency.name)),
            ("version", text(&dependency.version)),
            ("repository", text(&dependency.repository)),
        ];
        if !dependency.alias.is_empty() {
            entries.push(("alias", text(&dependency.alias)));
        }
        map(&entries)
    };
    Node::List(dependencies.iter().map(one).collect())
}

/// Converts a tree back to files.
///
/// # Errors
/// What is not a valid file, as text.
pub(super) fn read_sources(root: Root, tree: &Node) -> Result<Vec<SourceFile>, String> {
    rows(root, tree, &["name", "data"])?
        .map(|(path, map)| {
            let name = required(&path, map, "name")?;
            // A file name becomes a path when the chart is packed; it must not leave the folder.
            let safe = !name.is_empty()
                && !name.starts_with('/')
                && !name.contains('\\')
                && !name.split('/').any(|part| part.is_empty() || part == "." || part == "..");
            if !safe {
                return Err(format!("{path}.name must be a path inside the chart, not {name:?}"));
            }
            match map.get("data") {
                Some(Node::Str(data)) => Ok(SourceFile { name, data: data.clone() }),
                _ => Err(format!("{path}.data must be a string")),
            }
        })
        .collect()
}

/// Converts a tree back to dependencies.
///
/// # Errors
/// What is not a valid dependency, as text.
pub(super) fn read_dependencies(tree: &Node) -> Result<Vec<Dependency>, String> {
    rows(Root::Dependencies, tree, &["name", "version", "repository", "alias"])?
        .map(|(path, map)| {
            let optional =
                |key| if map.contains_key(key) { required(&path, map, key) } else { Ok(String::new()) };
            Ok(Dependency {
                name: required(&path, map, "name")?,
                version: optional("version")?,
                repository: optional("repository")?,
                alias: optional("alias")?,
            })
        })
        .collect()
}

type Row<'a> = (String, &'a Map<Node>);

/// The maps of a list, with their paths.
fn rows<'a>(root: Root, tree: &'a Node, known: &[&str]) -> Result<impl Iterator<Item = Row<'a>>, String> {
    let list = match tree {
        Node::List(list) => list.as_slice(),
        // An empty Lua table may be either a list or a map.
        Node::Map(map) if map.is_empty() => &[],
        _ => return Err(format!("{} must be a list", root.as_str())),
    };
    let mut rows = Vec::with_capacity(list.len());
    for (index, node) in list.iter().enumerate() {
        let path = format!("{}[{}]", root.as_str(), index + 1);
        let map = node.as_map().ok_or_else(|| format!("{path} must be a table"))?;
        if let Some(key) = map.keys().find(|key| !known.iter().any(|known| **key == *known)) {
            return Err(format!("{path} has no field `{key}`; its fields are {}", known.join(", ")));
        }
        rows.push((path, map));
    }
    Ok(rows.into_iter())
}

fn required(path: &str, map: &Map<Node>, key: &str) -> Result<String, String> {
    let text = map.get(key).and_then(Node::as_str);
    text.map(str::to_owned).ok_or_else(|| format!("{path}.{key} must be a string"))
}
