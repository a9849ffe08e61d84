//! `dependency add` and `dependency upgrade`: change what Chart.yaml asks for, and fetch it.

use std::path::Path;

use pintle::chart::dependency::DependencyFile;
use pintle::chart::metadata::Dependency;
use pintle::repo::repository::download_index;
use pintle::repo::{Getter, Repositories, Wanted};
use pintle_semver::{Constraint, Version};
use pintle_tree::quote::quote;

use crate::command::{ArgCompletion, Command, Operands};
use crate::dependencies::{self, Sources};
use crate::failure::Failure;
use crate::flag::groups::{DEVEL, REMOTE};
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::path::clean;
use crate::remote;
use crate::report::Reporting;

pub(super) static ADD: Command = Command {
    name: "add",
    operands_text: "REFERENCE [CHART]",
    short: "add a dependency to Chart.yaml and fetch it",
    long: "\
Add a chart to the dependencies in Chart.yaml, and update charts/ and Chart.lock. Without --version, the newest version
is looked up, and the range is ^ and this version. CHART is the current folder if not given.

    {program} dependency add bitnami/redis
    {program} dependency add oci://registry.example.com/charts/redis ./web --alias cache
    {program} dependency add redis --repo https://charts.example.com --version ~1.2",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::RemoteChart,
    flags: &[OWN, DEVEL, REMOTE],
    run: Some(add),
    ..Command::BLANK
};

pub(super) static UPGRADE: Command = Command {
    name: "upgrade",
    operands_text: "NAME [CHART]",
    short: "raise the version of a dependency in Chart.yaml and fetch it",
    long: "\
Set the version of a dependency in Chart.yaml to the newest one, and update charts/ and Chart.lock. The kind of the range
is kept: ^1.2.0 becomes ^2.0.0, and 1.2.0 becomes 2.0.0. NAME is the name or the alias of a dependency. CHART is the
current folder if not given.

    {program} dependency upgrade redis ./web",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::NoFiles,
    flags: &[DEVEL, REMOTE],
    run: Some(upgrade),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::text(names::VERSION, "the version or the range of versions")
        .completes(FlagCompletion::ChartVersions),
    Flag::text(names::REPO, "the URL of the repository that has the chart"),
    Flag::text(names::ALIAS, "the name of the chart inside of this chart"),
    Flag::text(names::CONDITION, "the path of the value that enables the chart"),
];

/// The folder of the chart, which is the last operand.
fn folder(invocation: &Invocation<'_>) -> Result<String, Failure> {
    match &invocation.flags.operands[..] {
        [_] => Ok(".".to_owned()),
        [_, folder] => Ok(clean(folder)),
        operands => Err(Failure::usage(format!("{} arguments are too many", operands.len()))
            .hint(format!("usage: {}", invocation.command_path.usage_line()))),
    }
}

fn add(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let folder = folder(invocation)?;
    let reference = invocation.operand(0).to_owned();
    let mut dependency = declared(invocation, &reference)?;
    let mut file = DependencyFile::open(Path::new(&folder)).map_err(pintle::Error::from)?;
    if dependency.version.is_empty() {
        let getter = remote::getter(invocation, remote::TIMEOUT);
        dependency.version = format!("^{}", newest(invocation, &getter, &dependency)?);
    }
    file.add(&dependency).map_err(|error| {
        let name = if dependency.alias.is_empty() { &dependency.name } else { &dependency.alias };
        Failure::from(pintle::Error::from(error)).hint(format!(
            "`{} dependency upgrade {name}` raises its version; --alias adds it a second time",
            invocation.personality.program()
        ))
    })?;
    file.write().map_err(pintle::Error::from)?;
    let Dependency { name, version, repository, .. } = &dependency;
    invocation.ui.print(&format!("Added {name} {version} from {repository}\n"))?;
    let sources = Sources::of_flags(invocation)?;
    dependencies::update_from(&sources, Path::new(&folder), &mut Reporting::new(invocation.ui))
}

/// The dependency that a reference and the flags describe.
fn declared(invocation: &Invocation<'_>, reference: &str) -> Result<Dependency, Failure> {
    let flags = &invocation.flags;
    let wrong = |text: String| {
        Failure::usage(text).hint("give REPOSITORY/NAME, oci://HOST/PATH/NAME, or NAME with --repo URL")
    };
    let (repository, name) = match (flags.text(names::REPO), reference.rsplit_once('/')) {
        ("", Some((repository, name))) if reference.starts_with("oci://") => (repository.to_owned(), name),
        ("", Some((repository, name))) if reference.starts_with("file://") => {
            let path = format!("{repository}/{name}");
            (path, name)
        }
        ("", _) => match reference.split_once('/') {
            Some((repository, name)) => {
                let folders = remote::folders(flags, invocation.environment);
                let known = Repositories::load(&folders.repository_config)?.unwrap_or_default();
                let entry = known.get(repository);
                let entry = entry.ok_or_else(|| wrong(format!("repo {repository} not found")))?;
                (entry.url.clone(), name)
            }
            None => {
                let name = quote(reference.as_bytes());
                return Err(wrong(format!("{name} does not say which repository has the chart")));
            }
        },
        (url, _) => (url.to_owned(), reference),
    };
    Ok(Dependency {
        name: name.to_owned(),
        version: flags.text(names::VERSION).to_owned(),
        repository,
        alias: flags.text(names::ALIAS).to_owned(),
        condition: flags.text(names::CONDITION).to_owned(),
        ..Dependency::default()
    })
}

/// The newest version of a dependency, from its repository as it is now.
fn newest(invocation: &Invocation<'_>, getter: &Getter, dependency: &Dependency) -> Result<String, Failure> {
    let Dependency { name, repository, .. } = dependency;
    let flags = &invocation.flags;
    if let Some(folder) = repository.strip_prefix("file://") {
        let chart = pintle::chart::load_any_version(Path::new(folder), &mut Vec::new());
        return Ok(chart.map_err(pintle::Error::from)?.metadata.version);
    }
    let wanted = Wanted { version: remote::devel(flags).to_owned(), ..remote::wanted(flags, "") };
    let wanted = if repository.starts_with("oci://") {
        Wanted { reference: format!("{repository}/{name}"), repo_url: String::new(), ..wanted }
    } else {
        let folders = remote::folders(flags, invocation.environment);
        let known = Repositories::load(&folders.repository_config)?.unwrap_or_default();
        let alias = repository.strip_prefix('@').or_else(|| repository.strip_prefix("alias:"));
        let is_it = |url: &str| pintle::repo::address::equal(url, repository);
        match known.entries.iter().find(|entry| alias == Some(&entry.name) || is_it(&entry.url)) {
            // The configured credentials are used, and the index is downloaded first, so that it is current.
            Some(entry) => {
                download_index(getter, entry, &folders.repository_cache)?;
                Wanted { reference: format!("{}/{name}", entry.name), repo_url: String::new(), ..wanted }
            }
            None => Wanted { reference: name.clone(), repo_url: repository.clone(), ..wanted },
        }
    };
    let resolved = remote::resolver(invocation, getter).resolve(&wanted)?;
    Ok(resolved.source.version)
}

fn upgrade(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let folder = folder(invocation)?;
    let wanted = invocation.operand(0).to_owned();
    let mut file = DependencyFile::open(Path::new(&folder)).map_err(pintle::Error::from)?;
    let is_it = |one: &Dependency| one.name == wanted || one.alias == wanted;
    let Some(at) = file.dependencies.iter().position(is_it) else {
        let names: Vec<&str> = file.dependencies.iter().map(|one| one.name.as_str()).collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(Failure::usage(format!("the chart does not depend on {}", quote(wanted.as_bytes())))
            .hint(format!("its dependencies: {known}")));
    };
    let mut dependency = file.dependencies[at].clone();
    if let Some(path) = dependency.repository.strip_prefix("file://").filter(|path| !path.starts_with('/')) {
        dependency.repository = format!("file://{folder}/{path}");
    }
    if dependency.repository.is_empty() {
        return Err(Failure::usage(format!("{} has no repository", quote(wanted.as_bytes())))
            .hint("a chart that is kept in charts/ is upgraded there"));
    }
    let getter = remote::getter(invocation, remote::TIMEOUT);
    let newest = newest(invocation, &getter, &dependency)?;
    let range = raised(&dependency.version, &newest);
    let name = &dependency.name;
    if range == dependency.version {
        invocation.ui.print(&format!("{name} {range} allows {newest}, the newest version\n"))?;
    } else {
        file.set_version(at, &range).map_err(pintle::Error::from)?;
        file.write().map_err(pintle::Error::from)?;
        invocation.ui.print(&format!("Upgraded {name} from {} to {range}\n", dependency.version))?;
    }
    let sources = Sources::of_flags(invocation)?;
    dependencies::update_from(&sources, Path::new(&folder), &mut Reporting::new(invocation.ui))
}

/// A range of the same kind that begins at a version; the same range if it is of another kind and allows the version.
fn raised(range: &str, newest: &str) -> String {
    let trimmed = range.trim();
    let rest = trimmed.trim_start_matches(['^', '~', '=', 'v']);
    let sign = trimmed.chars().next().filter(|sign| matches!(sign, '^' | '~'));
    if Version::parse(rest).is_ok() {
        // Ranges such as `^1` and `~1.2` stay as short as they are, if the version is in them.
        let allows = |range: &str| {
            Constraint::parse(range)
                .is_ok_and(|range| Version::parse(newest).is_ok_and(|it| range.check(&it)))
        };
        if sign.is_some() && rest.matches('.').count() < 2 && allows(trimmed) {
            return range.to_owned();
        }
        return format!("{}{newest}", sign.map(String::from).unwrap_or_default());
    }
    let fits = Constraint::parse(range).ok().zip(Version::parse(newest).ok());
    if fits.is_some_and(|(range, version)| range.check(&version)) {
        return range.to_owned();
    }
    format!("^{newest}")
}

#[cfg(test)]
mod tests {
    use super::raised;

    #[test]
    fn ranges_keep_their_kind() {
        for (range, newest, raised_to) in [
            ("^1.2.0", "2.0.0", "^2.0.0"),
            ("~1.2.0", "1.3.1", "~1.3.1"),
            ("1.2.0", "2.0.0", "2.0.0"),
            ("^1", "1.9.0", "^1"),
            ("^1", "2.0.0", "^2.0.0"),
            (">=1.0.0", "2.0.0", ">=1.0.0"),
            ("<2", "2.0.0", "^2.0.0"),
            ("1.x", "2.0.0", "^2.0.0"),
            ("*", "2.0.0", "*"),
        ] {
            assert_eq!(raised(range, newest), raised_to, "{range}");
        }
    }
}
