//! Changes to the list of dependencies in Chart.yaml (or requirements.yaml of old charts). Comments, order and spelling of
//! everything else stay.

use std::fs;
use std::path::{Path, PathBuf};

use pintle_tree::quote::quote;
use pintle_tree::{Map, Node};
use pintle_yaml::outline::{Edits, NodeRef, Outline};

use super::local_path;
use crate::error::{Error, Result, file_error};
use crate::metadata::{Dependency, V1};
use crate::write::{write_below, write_file_error};
use crate::{Chart, load_any_version};

/// The list of dependencies in a file of a chart.
pub struct DependencyFile {
    path: PathBuf,
    text: Vec<u8>,
    /// The dependencies as the chart declares them.
    pub dependencies: Vec<Dependency>,
}

impl DependencyFile {
    /// Opens the list of the chart in a folder.
    ///
    /// # Errors
    /// When the folder is not a chart, or the file cannot be read.
    pub fn open(folder: &Path) -> Result<DependencyFile> {
        if !folder.is_dir() {
            return Err(Error::message("only unpacked charts can be updated"));
        }
        let chart = load_any_version(folder, &mut Vec::new())?;
        let old = folder.join("requirements.yaml");
        // Charts of `v1` keep dependencies in requirements.yaml, but Helm also reads them from Chart.yaml if
        // they are there.
        let is_old =
            chart.metadata.api_version == V1 && (old.exists() || !chart.metadata.declares_dependencies);
        let path = if is_old { old } else { folder.join("Chart.yaml") };
        let text = if path.exists() {
            crate::read_limited(&path, crate::MAX_TEXT).map_err(file_error("open", &path))?
        } else {
            Vec::new()
        };
        Ok(DependencyFile { path, text, dependencies: chart.metadata.dependencies })
    }

    /// Adds a dependency at the end of the list.
    ///
    /// # Errors
    /// When the chart already has a dependency of this name and alias, or the file cannot be edited.
    pub fn add(&mut self, dependency: &Dependency) -> Result<()> {
        let is_same = |other: &Dependency| other.name == dependency.name && other.alias == dependency.alias;
        if self.dependencies.iter().any(is_same) {
            let name = quote(dependency.name.as_bytes());
            return Err(Error::message(format!("the chart already depends on {name}")));
        }
        let node = to_node(dependency);
        self.edit(|root, edits| match root.get("dependencies") {
            Some(list) if list.items().next().is_some() => edits.push(list, &node),
            _ => edits.set(root, "dependencies", &Node::List(vec![node])),
        })?;
        self.dependencies.push(dependency.clone());
        Ok(())
    }

    /// Sets the version of the dependency at a position.
    ///
    /// # Errors
    /// A file that cannot be edited.
    pub fn set_version(&mut self, at: usize, version: &str) -> Result<()> {
        self.edit(|root, edits| {
            let list = root.get("dependencies");
            if let Some(entry) = list.and_then(|list| list.items().nth(at)) {
                match entry.get("version") {
                    Some(node) => edits.replace_scalar(node, version),
                    None => edits.set(entry, "version", &version.into()),
                }
            }
        })?;
        if let Some(dependency) = self.dependencies.get_mut(at) {
            version.clone_into(&mut dependency.version);
        }
        Ok(())
    }

    fn edit(&mut self, change: impl for<'o> FnOnce(NodeRef<'o>, &mut Edits<'o>)) -> Result<()> {
        let wrong = |error: pintle_yaml::Error| {
            Error::message(format!("cannot edit {}: {error}", self.path.display()))
        };
        if self.text.iter().all(u8::is_ascii_whitespace) {
            self.text = b"dependencies: []\n".to_vec();
        }
        let outline = Outline::read_first(&self.text).map_err(wrong)?;
        let Some(root) = outline.roots().next() else { return Ok(()) };
        let mut edits = Edits::new(&outline);
        change(root, &mut edits);
        let text = edits.apply().map_err(wrong)?;
        // If the edited text no longer parses, the edit is rejected.
        pintle_yaml::read(&text).map_err(wrong)?;
        self.text = text;
        Ok(())
    }

    /// Writes the file.
    ///
    /// # Errors
    /// When the file cannot be written; it is then unchanged.
    pub fn write(&self) -> Result<()> {
        let (folder, name) = (self.path.parent().unwrap_or(Path::new("")), self.path.file_name());
        let name = Path::new(name.unwrap_or_default());
        write_below(folder, name, &self.text).map_err(write_file_error(&self.path))
    }
}

fn to_node(dependency: &Dependency) -> Node {
    let mut map = Map::new();
    let fields = [
        ("name", &dependency.name),
        ("version", &dependency.version),
        ("repository", &dependency.repository),
        ("alias", &dependency.alias),
        ("condition", &dependency.condition),
    ];
    for (key, text) in fields.into_iter().filter(|(_, text)| !text.is_empty()) {
        map.insert(key.into(), text.as_str().into());
    }
    Node::Map(map)
}

/// The chart folders in the order in which to build their dependencies, deepest first and the chart itself last: charts
/// of `file://` repositories, and unpacked charts in `charts/`.
///
/// # Errors
/// When a chart cannot be loaded, a folder does not exist, or charts depend on each other in a cycle.
pub fn build_order(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut order = Vec::new();
    visit(folder, &mut Vec::new(), &mut order)?;
    Ok(order)
}

fn visit(folder: &Path, above: &mut Vec<PathBuf>, order: &mut Vec<PathBuf>) -> Result<()> {
    let whole = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let is_same = |other: &PathBuf| fs::canonicalize(other).is_ok_and(|other| other == whole);
    if order.iter().any(is_same) {
        return Ok(());
    }
    if above.contains(&whole) {
        let circle: Vec<String> =
            above.iter().chain([&whole]).map(|path| path.display().to_string()).collect();
        return Err(Error::message(format!("charts depend on each other: {}", circle.join(" -> "))));
    }
    let chart = load_any_version(folder, &mut Vec::new())?;
    above.push(whole);
    for below in folders_below(folder, &chart)? {
        visit(&below, above, order)?;
    }
    above.pop();
    order.push(folder.to_owned());
    Ok(())
}

fn folders_below(folder: &Path, chart: &Chart) -> Result<Vec<PathBuf>> {
    let mut below = Vec::new();
    for dependency in &chart.metadata.dependencies {
        if dependency.repository.starts_with("file://") {
            below.push(local_path(&dependency.repository, folder)?);
        }
    }
    let entries = fs::read_dir(folder.join("charts")).into_iter().flatten().flatten();
    let mut unpacked: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.join("Chart.yaml").is_file()).collect();
    unpacked.sort();
    below.append(&mut unpacked);
    Ok(below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(folder: &Path, name: &str, more: &str) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(&path).expect("a folder");
        let text = format!("apiVersion: v2 # kept\nname: {name}\nversion: 0.1.0\n{more}");
        fs::write(path.join("Chart.yaml"), text).expect("it is written");
        path
    }

    fn dependency(name: &str, version: &str) -> Dependency {
        Dependency {
            name: name.to_owned(),
            version: version.to_owned(),
            repository: "https://h/charts".to_owned(),
            ..Dependency::default()
        }
    }

    #[test]
    fn dependencies_are_added_and_changed_and_comments_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = chart(folder.path(), "app", "");
        let mut file = DependencyFile::open(&path).expect("a chart");
        file.add(&dependency("db", "^1.0.0")).expect("it is new");
        file.add(&dependency("web", "~2")).expect("it is new");
        let error = file.add(&dependency("web", "~2")).expect_err("it is there").to_string();
        assert_eq!(error, "the chart already depends on \"web\"");
        file.set_version(0, "^1.2.3").expect("it is there");
        file.write().expect("it can be written");
        let text = fs::read_to_string(path.join("Chart.yaml")).expect("it is there");
        assert!(text.starts_with("apiVersion: v2 # kept\nname: app\n"), "{text}");
        let again = DependencyFile::open(&path).expect("a chart").dependencies;
        assert_eq!(again, [dependency("db", "^1.2.3"), dependency("web", "~2")], "{text}");
    }

    #[test]
    fn old_charts_have_a_file_of_their_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = chart(folder.path(), "app", "");
        fs::write(path.join("Chart.yaml"), "apiVersion: v1\nname: app\nversion: 0.1.0\n")
            .expect("it is written");
        let mut file = DependencyFile::open(&path).expect("a chart");
        file.add(&dependency("db", "^1.0.0")).expect("it is new");
        file.write().expect("it can be written");
        assert_eq!(DependencyFile::open(&path).expect("a chart").dependencies, [dependency("db", "^1.0.0")]);
        assert!(path.join("requirements.yaml").is_file());
    }

    #[test]
    fn charts_below_come_first_and_circles_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let near = |name: &str| {
            format!("dependencies:\n- {{name: {name}, version: 0.1.0, repository: 'file://../{name}'}}\n")
        };
        let app = chart(folder.path(), "app", &near("lib"));
        chart(folder.path(), "lib", &near("base"));
        chart(folder.path(), "base", "");
        chart(&app.join("charts"), "inner", "");
        let order = build_order(&app).expect("no circle");
        let names: Vec<String> = order
            .iter()
            .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["base", "lib", "inner", "app"]);
        chart(folder.path(), "base", &near("app"));
        let error = build_order(&app).expect_err("a circle").to_string();
        assert!(error.starts_with("charts depend on each other: "), "{error}");
    }
}
