//! Dependencies from folders: list, update and build, as `helm dependency`.

use std::fs;
use std::path::{Path, PathBuf};

use pintle_chart::File;
use pintle_chart::dependency::{Download, Output, Remote, Status, UpdateContext, build, list, update};
use pintle_chart::metadata::{Dependency, Timestamp};
use pintle_chart::package::{self, Times};
use pintle_semver::{Constraint, Version};

/// A chart `p` next to the charts `a` and `b`, with `loc` and `extra` in its `charts/`.
struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new() -> Self {
        let fixture = Fixture(tempfile::tempdir().expect("a folder for the test"));
        fixture.write("a/Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.2.3\n");
        fixture.write("b/Chart.yaml", "apiVersion: v2\nname: b\nversion: 0.5.0+x\n");
        fixture.write("p/charts/loc/Chart.yaml", "apiVersion: v2\nname: loc\nversion: 2.0.0\n");
        fixture.write("p/charts/extra/Chart.yaml", "apiVersion: v2\nname: extra\nversion: 2.0.0\n");
        fixture.write(
            "p/Chart.yaml",
            "apiVersion: v2\nname: p\nversion: 1.0.0\ndependencies:\n\
             - {name: a, version: \">=1.0.0\", repository: \"file://../a\"}\n\
             - {name: b, version: \"*\", repository: \"file://../b\", tags: [x], alias: bb}\n\
             - {name: loc, version: ~2, repository: \"\"}\n",
        );
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("has a folder")).expect("can be made");
        fs::write(path, text).expect("can be written");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("can be read")
    }

    /// Runs `command` on `p`. Returns its lines, the error last.
    fn run(&self, command: impl FnOnce(UpdateContext<'_>) -> pintle_chart::Result<()>) -> Vec<String> {
        let mut lines = Vec::new();
        let outcome = command(UpdateContext {
            chart_path: &self.path("p"),
            now: Timestamp::from_unix(1_700_000_000, 5_000_000),
            times: Times { all: Some(0), fallback: 0 },
            report: &mut |line| lines.push(line.to_owned()),
            log: &mut Vec::new(),
            remote: None,
        });
        lines.extend(outcome.err().map(|error| format!("Error: {error}")));
        lines
    }

    fn statuses(&self) -> Vec<Status> {
        let rows =
            list(&self.path("p"), &mut Vec::new()).expect("can be listed").rows.expect("has dependencies");
        rows.into_iter().map(|row| row.status).collect()
    }
}

const FETCHED: [&str; 3] = [
    "Saving 3 charts",
    "Dependency loc did not declare a repository. Assuming it exists in the charts directory",
    "Deleting outdated charts",
];

#[test]
fn update_fills_charts_and_writes_the_lock_that_helm_writes() {
    let fixture = Fixture::new();
    assert_eq!(fixture.statuses(), [Status::Missing, Status::Missing, Status::Unpacked]);
    assert_eq!(fixture.run(update), FETCHED);
    assert_eq!(fixture.statuses(), [Status::Ok, Status::Ok, Status::Unpacked]);
    assert_eq!(
        fixture.read("p/Chart.lock"),
        "dependencies:\n- name: a\n  repository: file://../a\n  version: 1.2.3\n- name: b\n  repository: \
         file://../b\n  version: 0.5.0+x\n- name: loc\n  repository: \"\"\n  version: ~2\ndigest: \
         sha256:76c9364a72ce939fc36f2985e0a3dbfc03935d5fd82080e19a7b1e30a6c2ada4\ngenerated: \
         \"2023-11-14T22:13:20.005Z\"\n"
    );
    assert!(fixture.path("p/charts/b-0.5.0+x.tgz").exists());
}

#[test]
fn build_wants_a_lock_that_fits() {
    let fixture = Fixture::new();
    fixture.run(update);
    fs::remove_file(fixture.path("p/charts/a-1.2.3.tgz")).expect("can be removed");
    assert_eq!(fixture.run(build), FETCHED);
    assert!(fixture.path("p/charts/a-1.2.3.tgz").exists());
    fixture.write("p/Chart.yaml", &fixture.read("p/Chart.yaml").replace("~2", "2.x"));
    assert_eq!(
        fixture.run(build),
        [
            "Error: the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml). Please update \
          the dependencies with 'helm dependency update'"
        ]
    );
}

#[test]
fn archives_that_nobody_wants_are_deleted_and_folders_stay() {
    let fixture = Fixture::new();
    fixture.run(update);
    fixture.write("a/Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.3.0\n");
    assert_eq!(fixture.run(update), FETCHED);
    assert!(!fixture.path("p/charts/a-1.2.3.tgz").exists());
    assert!(fixture.path("p/charts/a-1.3.0.tgz").exists());
    assert!(fixture.path("p/charts/extra").exists());
    assert!(fixture.read("p/Chart.lock").contains("version: 1.3.0"));
    let leftovers = fs::read_dir(fixture.path("p")).expect("can be read").flatten();
    assert!(leftovers.into_iter().all(|entry| !entry.file_name().to_string_lossy().starts_with("tmpcharts")));
}

#[test]
fn unavailable_services_are_reported() {
    let fixture = Fixture::new();
    fixture.write("a/Chart.yaml", "apiVersion: v2\nname: a\nversion: 0.1.0\n");
    assert_eq!(
        fixture.run(update),
        ["Error: can't get a valid version for 1 subchart(s): \"a\" (repository \"file://../a\", version \
          \">=1.0.0\"). Make sure a matching chart version exists in the repo, or change the version constraint in \
          Chart.yaml"]
    );
    fs::remove_dir_all(fixture.path("a")).expect("can be removed");
    let missing = fixture.path("a");
    assert_eq!(fixture.run(update), [format!("Error: directory {} not found", missing.display())]);
    fixture
        .write("p/Chart.yaml", &fixture.read("p/Chart.yaml").replace("file://../a", "https://example.com"));
    let lines = fixture.run(update);
    assert!(lines[0].contains("no repositories can be reached here"), "{lines:?}");
}

#[test]
fn listing_warns_about_undeclared_charts_and_wrong_versions() {
    let fixture = Fixture::new();
    fixture.write("p/charts/loc/Chart.yaml", "apiVersion: v2\nname: loc\nversion: 3.0.0\n");
    let listing = list(&fixture.path("p"), &mut Vec::new()).expect("can be listed");
    assert_eq!(listing.rows.expect("has dependencies")[2].status, Status::WrongVersion);
    let stranger = fixture.path("p/charts/extra");
    assert_eq!(listing.warnings, [format!("WARNING: {:?} is not in Chart.yaml.", stranger)]);
    fixture.run(update);
    assert_eq!(
        list(&fixture.path("a"), &mut Vec::new()).expect("can be listed").warnings,
        [format!("WARNING: no dependencies at {}", fixture.path("a/charts").display())]
    );
    assert!(list(Path::new("/nowhere"), &mut Vec::new()).is_err());
}

#[test]
fn several_archives_are_too_many_unless_only_one_names_a_version() {
    let fixture = Fixture::new();
    fixture.run(update);
    let archive = fixture.path("p/charts/a-1.2.3.tgz");
    fs::copy(&archive, fixture.path("p/charts/a-other-1.0.0.tgz")).expect("can be copied");
    assert_eq!(fixture.statuses()[0], Status::Ok);
    fs::copy(&archive, fixture.path("p/charts/a-2.0.0.tgz")).expect("can be copied");
    assert_eq!(fixture.statuses()[0], Status::TooManyMatches);
}

#[test]
fn charts_of_repositories_are_refused_where_none_can_be_reached() {
    let fixture = Fixture::new();
    fixture
        .write("p/Chart.yaml", &fixture.read("p/Chart.yaml").replace("file://../b", "https://example.com"));
    let refused = "Error: dependency b comes from https://example.com, and no repositories can be reached here; use a \
                   file:// repository or put the chart into charts/";
    assert_eq!(fixture.run(update), [refused]);
    assert_eq!(fixture.run(build), [refused]);
    assert!(!fixture.path("p/Chart.lock").exists());
}

/// A repository with some versions of the library `common`, of which 2.3.0 asks for the library `base`.
struct Shelf;

impl Shelf {
    const VERSIONS: [(&'static str, &'static str); 6] = [
        ("common", "2.1.0"),
        ("common", "2.1.7"),
        ("common", "2.3.0"),
        ("common", "3.0.0"),
        ("base", "1.0.0"),
        ("base", "1.4.0"),
    ];
}

impl Remote for Shelf {
    fn replace_aliases(&mut self, _: &mut [Dependency]) -> pintle_chart::Result<()> {
        Ok(())
    }

    fn check_known(&mut self, _: &[Dependency]) -> pintle_chart::Result<()> {
        Ok(())
    }

    fn refresh(&mut self, _: &[Dependency], _: bool, _: &mut Output<'_>) -> pintle_chart::Result<()> {
        Ok(())
    }

    fn newest(
        &mut self,
        _: usize,
        dependency: &Dependency,
        range: &Constraint,
        _: &mut Output<'_>,
    ) -> pintle_chart::Result<Option<String>> {
        let versions = Shelf::VERSIONS.iter().filter(|(name, _)| *name == dependency.name);
        let suits = |version: &&str| Version::parse(version).is_ok_and(|version| range.check(&version));
        Ok(versions.map(|(_, version)| *version).rfind(suits).map(str::to_owned))
    }

    fn download(
        &mut self,
        locked: &[Dependency],
        folder: &Path,
        output: &mut Output<'_>,
        body: &mut dyn FnMut(&mut Download<'_>, &mut Output<'_>),
    ) -> pintle_chart::Result<()> {
        let mut fetch = |at: usize, _: &mut Output<'_>| {
            let Dependency { name, version, .. } = &locked[at];
            let head = format!("apiVersion: v2\nname: {name}\nversion: {version}\ntype: library\n");
            let mut files = vec![File::new("Chart.yaml", head.as_bytes())];
            if version == "2.3.0" {
                let asks =
                    "libraries:\n- {name: base, version: ~1.0.0, repository: 'https://charts.example.com'}\n";
                files.push(File::new("requirements.yaml", asks.as_bytes()));
            }
            let chart = pintle_chart::load_files(files)?;
            package::package(
                chart,
                package::Overrides::default(),
                folder,
                Times { all: Some(0), fallback: 0 },
            )?;
            Ok(())
        };
        body(&mut fetch, output);
        Ok(())
    }
}

/// Builds a chart that asks for `common` with one range, and whose subchart asks with another.
fn with_libraries(own: &str, of_subchart: &str) -> (Fixture, Vec<String>) {
    let fixture = Fixture(tempfile::tempdir().expect("a folder for the test"));
    let asks = |range: &str| {
        format!(
            "libraries:\n- {{name: common, version: \"{range}\", repository: 'https://charts.example.com'}}\n"
        )
    };
    fixture.write("p/Chart.yaml", "apiVersion: v2\nname: p\nversion: 1.0.0\n");
    if !own.is_empty() {
        fixture.write("p/requirements.yaml", &asks(own));
    }
    fixture.write("p/charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n");
    fixture.write("p/charts/db/requirements.yaml", &asks(of_subchart));
    let lines = run_with_shelf(&fixture, build);
    (fixture, lines)
}

fn run_with_shelf(
    fixture: &Fixture,
    command: impl FnOnce(UpdateContext<'_>) -> pintle_chart::Result<()>,
) -> Vec<String> {
    let (mut lines, mut log) = (Vec::new(), Vec::new());
    let outcome = command(UpdateContext {
        chart_path: &fixture.path("p"),
        now: Timestamp::from_unix(1_700_000_000, 0),
        times: Times { all: Some(0), fallback: 0 },
        report: &mut |line| lines.push(line.to_owned()),
        log: &mut log,
        remote: Some(&mut Shelf),
    });
    lines.extend(log.iter().map(ToString::to_string));
    lines.extend(outcome.err().map(|error| format!("Error: {error}")));
    lines
}

fn names(fixture: &Fixture, folder: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(fixture.path(folder)) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn libraries_of_the_whole_tree_are_resolved_together_and_locked() {
    let (fixture, lines) = with_libraries("^2.1.0", "~2.1.0");
    assert_eq!(names(&fixture, "p/library"), ["common-2.1.7.tgz"], "{lines:?}");
    assert!(fixture.read("p/library.lock").contains("version: 2.1.7"));
    assert!(!lines.iter().any(|line| line.contains("handled in Chart.yaml")), "{lines:?}");
    // From the lock again, and out of sync once the subchart asks for something else.
    fs::remove_dir_all(fixture.path("p/library")).expect("it was there");
    run_with_shelf(&fixture, build);
    assert_eq!(names(&fixture, "p/library"), ["common-2.1.7.tgz"]);
    let asks = "libraries:\n- {name: common, version: ^2.2, repository: 'https://charts.example.com'}\n";
    fixture.write("p/charts/db/requirements.yaml", asks);
    let lines = run_with_shelf(&fixture, build);
    assert!(lines.last().is_some_and(|line| line.contains("library.lock) is out of sync")), "{lines:?}");
    run_with_shelf(&fixture, update);
    assert!(names(&fixture, "p/library").contains(&"common-2.3.0.tgz".to_owned()));
}

#[test]
fn a_conflict_about_a_library_names_who_asks_for_what_and_fetches_nothing() {
    let (fixture, lines) = with_libraries("^2", "^3");
    assert_eq!(
        lines.last().map(String::as_str),
        Some(
            "Error: no version of library common satisfies all:\n  p asks for ^2\n  p/charts/db asks for ^3\n  \
             looked for in https://charts.example.com"
        )
    );
    assert!(names(&fixture, "p/library").is_empty() && !fixture.path("p/library.lock").exists());
    let (_, lines) = with_libraries("^2", "not a range");
    assert!(
        lines
            .last()
            .is_some_and(|line| line.contains("p/charts/db asks for library common with the bad range"))
    );
}

#[test]
fn libraries_of_subcharts_and_of_libraries_are_fetched_too() {
    let (fixture, _) = with_libraries("", "^2");
    assert_eq!(names(&fixture, "p/library"), ["base-1.0.0.tgz", "common-2.3.0.tgz"]);
    assert!(
        pintle_chart::library::resolve(
            &pintle_chart::load(&fixture.path("p"), &mut Vec::new()).expect("loads")
        )
        .is_ok()
    );
    // What a subchart brings itself is left alone.
    let fixture = Fixture(tempfile::tempdir().expect("a folder for the test"));
    fixture.write("p/Chart.yaml", "apiVersion: v2\nname: p\nversion: 1.0.0\n");
    fixture.write("p/charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n");
    let asks = "libraries:\n- {name: common, version: ^2, repository: 'https://charts.example.com'}\n";
    fixture.write("p/charts/db/requirements.yaml", asks);
    let library = "apiVersion: v2\nname: common\nversion: 2.0.0\ntype: library\n";
    fixture.write("p/charts/db/library/common/Chart.yaml", library);
    run_with_shelf(&fixture, build);
    assert!(names(&fixture, "p/library").is_empty());
}
