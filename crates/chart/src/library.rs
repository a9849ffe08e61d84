//! Resolution of library charts.
//!
//! Any chart of a tree may request libraries (`libraries:` with a version constraint). For each name, one version is
//! used for the whole tree: the highest that satisfies all requests, from `library/` folders and subcharts of type
//! library.

use std::collections::BTreeMap;
use std::fmt;

use pintle_semver::{Constraint, Version};

use crate::{Chart, File};

/// A request for a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The full path of the requesting chart.
    pub from: String,
    /// The version constraint.
    pub range: String,
}

/// Why the libraries of a tree cannot be resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LibraryError {
    /// A constraint is invalid.
    BadRange {
        /// The library.
        name: String,
        /// The request.
        request: Request,
        /// Why it is invalid.
        reason: String,
    },
    /// No available version satisfies all requests.
    Unsatisfied {
        /// The library.
        name: String,
        /// All requests.
        requests: Vec<Request>,
        /// The available versions, lowest first.
        present: Vec<String>,
    },
}

impl fmt::Display for LibraryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LibraryError::BadRange { name, request, reason } => {
                let Request { from, range } = request;
                write!(formatter, "{from} asks for library {name} with the bad range `{range}`: {reason}")
            }
            LibraryError::Unsatisfied { name, requests, present } => {
                write!(formatter, "no version of library {name} satisfies all:")?;
                for Request { from, range } in requests {
                    write!(formatter, "\n  {from} asks for {range}")?;
                }
                match present.is_empty() {
                    true => write!(formatter, "\n  none is present in library/ or charts/"),
                    false => write!(formatter, "\n  present: {}", present.join(", ")),
                }
            }
        }
    }
}

impl std::error::Error for LibraryError {}

/// Resolves the libraries of the tree below `root`, sorted by name.
///
/// # Errors
/// When a constraint is invalid, or no version of a library satisfies all requests.
pub fn resolve(root: &Chart) -> Result<Vec<&Chart>, LibraryError> {
    resolve_each(root).into_iter().map(|(_, chosen)| chosen).collect()
}

/// Resolves each library of the tree below `root` by itself, sorted by name.
pub(crate) fn resolve_each(root: &Chart) -> Vec<(&str, Result<&Chart, LibraryError>)> {
    let mut tree = Tree::default();
    tree.add(root, None);
    let Tree { requests, mut present } = tree;
    let one = |(name, requests)| (name, choose(name, requests, present.remove(name).unwrap_or_default()));
    requests.into_iter().map(one).collect()
}

/// The templates of a library that are used: partials, whose base name starts with `_` and which hold `define`s only.
pub fn templates(library: &Chart) -> impl Iterator<Item = &File> {
    library.templates.iter().filter(|file| crate::path::base(&file.name).starts_with('_'))
}

/// The requests and the available libraries of a tree.
#[derive(Default)]
struct Tree<'a> {
    requests: BTreeMap<&'a str, Vec<Request>>,
    present: BTreeMap<&'a str, Vec<&'a Chart>>,
}

impl<'a> Tree<'a> {
    fn add(&mut self, chart: &'a Chart, parent: Option<&str>) {
        let path = chart.full_path(parent);
        for requested in &chart.metadata.libraries {
            let request = Request { from: path.clone(), range: requested.version.clone() };
            self.requests.entry(&requested.name).or_default().push(request);
        }
        for library in &chart.libraries {
            self.present.entry(library.name()).or_default().push(library);
            self.add(library, Some(&path));
        }
        for subchart in &chart.subcharts {
            if subchart.is_library() {
                self.present.entry(subchart.name()).or_default().push(subchart);
            }
            self.add(subchart, Some(&path));
        }
    }
}

/// The highest of `present` that satisfies all `requests`.
fn choose<'a>(
    name: &str,
    requests: Vec<Request>,
    present: Vec<&'a Chart>,
) -> Result<&'a Chart, LibraryError> {
    let mut ranges = Vec::with_capacity(requests.len());
    for request in &requests {
        // An empty constraint accepts any version.
        let range = if request.range.is_empty() { "*" } else { &request.range };
        ranges.push(Constraint::parse(range).map_err(|error| LibraryError::BadRange {
            name: name.to_owned(),
            request: request.clone(),
            reason: error.to_string(),
        })?);
    }
    let mut versions: Vec<(Version, &Chart)> = present
        .into_iter()
        .filter_map(|chart| Version::parse(&chart.metadata.version).ok().map(|version| (version, chart)))
        .collect();
    // Stable, and searched from the end: of equal versions the last one in the tree is chosen.
    versions.sort_by(|(a, _), (b, _)| a.compare(b));
    let satisfies = |version: &Version| ranges.iter().all(|range| range.check(version));
    match versions.iter().rev().find(|(version, _)| satisfies(version)) {
        Some((_, chart)) => Ok(chart),
        None => Err(LibraryError::Unsatisfied {
            name: name.to_owned(),
            requests,
            present: versions.iter().map(|(version, _)| version.to_string()).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{Dependency, Metadata};

    fn chart(name: &str, version: &str, asks: &[(&str, &str)]) -> Chart {
        let libraries = asks
            .iter()
            .map(|(name, range)| Dependency {
                name: (*name).into(),
                version: (*range).into(),
                ..Dependency::default()
            })
            .collect();
        let metadata =
            Metadata { name: name.into(), version: version.into(), libraries, ..Metadata::default() };
        Chart { metadata, ..Chart::default() }
    }

    fn tree() -> Chart {
        let mut root = chart("root", "1.0.0", &[("common", "^2.1.0")]);
        root.libraries = vec![chart("common", "2.1.5", &[]), chart("common", "3.0.0", &[])];
        let mut child = chart("child", "1.0.0", &[("common", ">=2.0.0")]);
        child.libraries = vec![chart("common", "2.4.0", &[])];
        root.subcharts = vec![child];
        root
    }

    #[test]
    fn the_highest_version_that_suits_all_wins_wherever_it_is() {
        let root = tree();
        let chosen = resolve(&root).expect("one suits all");
        assert_eq!(chosen.len(), 1);
        assert_eq!(chosen[0].metadata.version, "2.4.0");
    }

    #[test]
    fn a_conflict_names_who_asks_for_what() {
        let mut root = tree();
        root.subcharts[0].metadata.libraries[0].version = "~1.0".into();
        let error = resolve(&root).expect_err("nothing suits both").to_string();
        assert_eq!(
            error,
            "no version of library common satisfies all:\n  root asks for ^2.1.0\n  root/charts/child asks for \
             ~1.0\n  present: 2.1.5, 2.4.0, 3.0.0"
        );
    }

    #[test]
    fn subcharts_of_type_library_serve_too() {
        let mut root = chart("root", "1.0.0", &[("common", "")]);
        let mut library = chart("common", "1.0.0", &[]);
        root.subcharts = vec![library.clone()];
        assert!(resolve(&root).is_err());
        library.metadata.kind = "library".into();
        root.subcharts = vec![library];
        assert_eq!(resolve(&root).expect("one suits")[0].name(), "common");
    }

    #[test]
    fn only_partials_of_a_library_count() {
        let mut library = chart("common", "1.0.0", &[]);
        library.templates = ["templates/_a.tpl", "templates/b.yaml", "templates/x/_c.yaml"]
            .map(|name| File::new(name, &b""[..]))
            .to_vec();
        assert_eq!(templates(&library).count(), 2);
    }
}
