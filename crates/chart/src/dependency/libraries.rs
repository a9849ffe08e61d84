//! The library charts that the charts of a tree ask for (`libraries:`): resolved together, fetched into `library/` of the root
//! chart and locked in `library.lock`, the way dependencies are fetched into `charts/`. Helm reads neither of them, and its
//! own files are not changed.

use std::io::ErrorKind;

use pintle_semver::Constraint;
use pintle_tree::redact::redacted;

use super::remote::{Output, is_remote};
use super::resolve::resolve_each;
use super::update::{Target, UpdateContext};
use super::{digest, lock};
use crate::error::{Error, Result, file_error};
use crate::library::{self, LibraryError, Request};
use crate::metadata::{Dependency, Lock};
use crate::{Chart, load_any_version};

/// The lock of libraries.
const LOCK: &str = "library.lock";

/// How often libraries are resolved again because those that were fetched ask for others.
const MAX_ROUNDS: usize = 8;

impl UpdateContext<'_> {
    /// Resolves the libraries of the tree, updates `library/`, and writes the lock if it changed. `charts/` is complete.
    pub(super) fn update_libraries(&mut self, chart: Chart) -> Result<()> {
        let chart = self.reload(chart);
        let mut tree = TreeRequests::new(&chart);
        if tree.is_empty() {
            return Ok(());
        }
        self.check_repositories(&mut tree.own)?;
        let requested = tree.dependencies();
        let old = self.library_lock()?;
        let mut locked = self.choose_libraries(&tree)?;
        self.fetch_all(&mut locked, Target::Libraries)?;
        // Libraries may ask for libraries, which is known once they are fetched.
        for _ in 0..MAX_ROUNDS {
            let chart = self.reload(Chart::default());
            if !tree.add_of_libraries(&chart, &locked) {
                break;
            }
            locked = self.choose_libraries(&tree)?;
            self.fetch_all(&mut locked, Target::Libraries)?;
        }
        self.check_libraries(&tree)?;
        let digest = digest(Some(&requested), &locked)?;
        if old.is_some_and(|lock| lock.digest == digest) {
            return Ok(());
        }
        let lock = Lock { generated: self.now.to_string(), digest, dependencies: locked };
        lock::write_named(self.chart_path, &lock, LOCK)
    }

    /// Updates `library/` from the lock; without a lock, like [`UpdateContext::update_libraries`].
    pub(super) fn build_libraries(&mut self, chart: Chart) -> Result<()> {
        let chart = self.reload(chart);
        let mut tree = TreeRequests::new(&chart);
        if tree.is_empty() {
            return Ok(());
        }
        let Some(lock) = self.library_lock()? else { return self.update_libraries(chart) };
        self.check_repositories(&mut tree.own)?;
        if digest(Some(&tree.dependencies()), &lock.dependencies)? != lock.digest {
            return Err(Error::message(
                "the lock file (library.lock) is out of sync with the libraries that the chart and its subcharts ask \
                 for. Please update the dependencies with 'helm dependency update'",
            ));
        }
        self.fetch_locked(lock.dependencies, Target::Libraries)?;
        self.check_libraries(&tree)
    }

    /// The chart with the subcharts that were fetched. A chart that cannot be loaded any more is reported where it is used.
    fn reload(&self, chart: Chart) -> Chart {
        load_any_version(self.chart_path, &mut Vec::new()).unwrap_or(chart)
    }

    /// The highest version of each library that suits all who ask for it.
    fn choose_libraries(&mut self, tree: &TreeRequests) -> Result<Vec<Dependency>> {
        let mut wanted = tree.combined()?;
        self.check_repositories(&mut wanted)?;
        let output = &mut Output { report: self.report, log: self.log };
        if let Some(remote) = &mut self.remote {
            remote.refresh(&wanted, true, output)?;
        }
        let found = resolve_each(&wanted, self.chart_path, self.remote.as_deref_mut(), output)?;
        let chosen = wanted.iter().zip(found);
        chosen.map(|(wanted, found)| found.ok_or_else(|| tree.conflict(wanted))).collect()
    }

    /// Checks that rendering will find a library for all who ask for those that were fetched.
    fn check_libraries(&self, tree: &TreeRequests) -> Result<()> {
        let chart = self.reload(Chart::default());
        for (name, chosen) in library::resolve_each(&chart) {
            match chosen {
                Err(error) if tree.is_fetched(name) => return Err(Error::message(error.to_string())),
                _ => {}
            }
        }
        Ok(())
    }

    fn library_lock(&self) -> Result<Option<Lock>> {
        let path = self.chart_path.join(LOCK);
        match crate::read_limited(&path, crate::MAX_TEXT) {
            Ok(text) => Lock::read(&text, LOCK),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(file_error("open", &path)(error)),
        }
    }
}

/// What the charts of a tree ask for, of the libraries that are fetched.
struct TreeRequests {
    /// The path of the root chart.
    root: String,
    /// What the root chart asks for.
    own: Vec<Dependency>,
    /// What other charts ask for, each with the path of the chart.
    others: Vec<(String, Dependency)>,
    /// How many of these are of subcharts; the rest is of libraries.
    of_subcharts: usize,
    /// Libraries that only subcharts ask for, and that they bring themselves.
    brought: Vec<String>,
}

impl TreeRequests {
    fn new(chart: &Chart) -> Self {
        let mut tree = TreeRequests {
            root: chart.full_path(None),
            own: chart.metadata.libraries.clone(),
            others: Vec::new(),
            of_subcharts: 0,
            brought: Vec::new(),
        };
        for subchart in &chart.subcharts {
            add_requests(subchart, &tree.root, &mut tree.others);
        }
        tree.of_subcharts = tree.others.len();
        for (name, chosen) in library::resolve_each(chart) {
            if chosen.is_ok() && !tree.own.iter().any(|library| library.name == name) {
                tree.brought.push(name.to_owned());
            }
        }
        tree.own.retain(|library| {
            tree.others.iter().any(|(_, other)| other.name == library.name) || !library.repository.is_empty()
        });
        tree
    }

    /// Adds what the libraries that were fetched ask for. Returns whether that is something new.
    fn add_of_libraries(&mut self, chart: &Chart, locked: &[Dependency]) -> bool {
        let before = self.others.split_off(self.of_subcharts);
        let is_locked = |library: &&Chart| {
            let Chart { metadata, .. } = library;
            locked.iter().any(|one| one.name == metadata.name && one.version == metadata.version)
        };
        for library in chart.libraries.iter().filter(is_locked) {
            add_requests(library, &self.root, &mut self.others);
        }
        self.others[self.of_subcharts..] != before
    }

    /// All who ask for a library, the root chart first.
    fn of<'t>(&'t self, name: &'t str) -> impl Iterator<Item = (&'t str, &'t Dependency)> {
        let own = self.own.iter().map(|library| (self.root.as_str(), library));
        let others = self.others.iter().map(|(from, library)| (from.as_str(), library));
        own.chain(others).filter(move |(_, library)| library.name == name)
    }

    /// The repository of a library: the root chart's choice, or the first of the others. Folders of other charts may not be
    /// there, since charts are also packed.
    fn repository(&self, name: &str) -> Option<&str> {
        let own = self.own.iter().filter(|library| library.name == name);
        let own = own.map(|library| library.repository.as_str()).find(|repository| !repository.is_empty());
        let other = || {
            let others = self.others.iter().map(|(_, library)| library);
            others.filter(|library| library.name == name).find(|library| is_remote(library))
        };
        own.or_else(|| Some(other()?.repository.as_str()))
    }

    /// The names of the libraries that are fetched, in the order in which they are asked for. One without a repository is
    /// expected in `library/` or among the subcharts, which rendering checks.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let all = self.own.iter().chain(self.others.iter().map(|(_, library)| library));
        for library in all {
            let name = library.name.as_str();
            if !names.contains(&name) && self.is_fetched(name) {
                names.push(name);
            }
        }
        names
    }

    fn is_fetched(&self, name: &str) -> bool {
        self.repository(name).is_some() && !self.brought.iter().any(|brought| brought == name)
    }

    fn is_empty(&self) -> bool {
        self.names().is_empty()
    }

    /// What the root chart and its subcharts ask for, for the digest of the lock.
    fn dependencies(&self) -> Vec<Dependency> {
        let of_subcharts = self.others[..self.of_subcharts].iter().map(|(_, library)| library);
        let all = self.own.iter().chain(of_subcharts);
        all.filter(|library| self.is_fetched(&library.name)).cloned().collect()
    }

    /// Each library once, with a range that all of its ranges together amount to.
    fn combined(&self) -> Result<Vec<Dependency>> {
        let one = |name: &str| {
            let ranges: Vec<&str> =
                self.of(name).map(|(_, library)| any_if_empty(&library.version)).collect();
            for (from, library) in self.of(name) {
                let range = any_if_empty(&library.version);
                Constraint::parse(range).map_err(|error| {
                    let request = Request { from: from.to_owned(), range: range.to_owned() };
                    let (name, reason) = (name.to_owned(), error.to_string());
                    Error::message(LibraryError::BadRange { name, request, reason }.to_string())
                })?;
            }
            Ok(Dependency {
                name: name.to_owned(),
                version: all_of(&ranges),
                repository: self.repository(name).unwrap_or_default().to_owned(),
                ..Dependency::default()
            })
        };
        self.names().into_iter().map(one).collect()
    }

    /// The error for a library of which no version suits all.
    fn conflict(&self, wanted: &Dependency) -> Error {
        let mut text = format!("no version of library {} satisfies all:", wanted.name);
        for (from, library) in self.of(&wanted.name) {
            text.push_str(&format!("\n  {from} asks for {}", any_if_empty(&library.version)));
        }
        text.push_str(&format!("\n  looked for in {}", redacted(&wanted.repository)));
        Error::message(text)
    }
}

/// Adds what a chart and its subcharts ask for.
fn add_requests(chart: &Chart, parent: &str, requests: &mut Vec<(String, Dependency)>) {
    let path = chart.full_path(Some(parent));
    requests.extend(chart.metadata.libraries.iter().map(|library| (path.clone(), library.clone())));
    for subchart in &chart.subcharts {
        add_requests(subchart, &path, requests);
    }
}

fn any_if_empty(range: &str) -> &str {
    if range.is_empty() { "*" } else { range }
}

/// A range that is satisfied by versions that satisfy all of `ranges`. Alternatives (`||`) bind less than a comma, so every
/// combination of them becomes one.
fn all_of(ranges: &[&str]) -> String {
    let mut all = vec![String::new()];
    let mut distinct: Vec<&str> = Vec::new();
    for range in ranges {
        if distinct.contains(range) {
            continue;
        }
        distinct.push(range);
        let join = |so_far: &String, one: &str| match so_far.is_empty() {
            true => one.trim().to_owned(),
            false => format!("{so_far}, {}", one.trim()),
        };
        all = all.iter().flat_map(|so_far| range.split("||").map(move |one| join(so_far, one))).collect();
    }
    match distinct[..] {
        // As it is written, for messages.
        [only] => only.to_owned(),
        _ => all.join(" || "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_semver::Version;

    #[test]
    fn ranges_of_several_charts_are_combined() {
        assert_eq!(all_of(&["^2.1.0"]), "^2.1.0");
        assert_eq!(all_of(&["^1 || ^2"]), "^1 || ^2");
        assert_eq!(all_of(&["^2.1.0", "~2.1.0", "^2.1.0"]), "^2.1.0, ~2.1.0");
        let both = all_of(&["^1 || ^2", "1.5.0 - 2.0.5 || >=9"]);
        let range = Constraint::parse(&both).expect("a good range");
        for (version, suits) in
            [("1.4.0", false), ("1.5.0", true), ("2.0.5", true), ("2.1.0", false), ("9.0.0", false)]
        {
            assert_eq!(
                range.check(&Version::parse(version).expect("a version")),
                suits,
                "{version} in {both}"
            );
        }
    }
}
