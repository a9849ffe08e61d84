//! `helm-update`: what changes when the reference moves to another version of Helm, as a report to work from.
//!
//! The other version is built, and everything that was recorded from the reference, or is compared with it, is run with it:
//! help pages, our own cases, whole charts if the corpus is present, and the scenarios beside the real Helm. See
//! docs/contributing/following-helm.md.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::helm::{self, bare};
use crate::record;
use crate::shell::{cargo, corpus, output, print_line, program, root, run as run_command};

/// The lines of a change that are shown; the rest is counted.
const MAX_LINES: usize = 120;

/// The arguments of the task.
struct Options {
    /// The version to compare with the reference.
    version: String,
    /// The Go that it is built with.
    toolchain: String,
    /// Where the report is written.
    report: PathBuf,
    /// The sections that are left out.
    skipped: Vec<String>,
}

impl Options {
    fn read(arguments: &[String]) -> Result<Options> {
        let mut options = Options {
            version: String::new(),
            toolchain: helm::TOOLCHAIN.to_owned(),
            report: root().join("target/helm-update.md"),
            skipped: Vec::new(),
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("`{word}` needs a value"));
            match word.as_str() {
                "--go" => value()?.clone_into(&mut options.toolchain),
                "--report" => options.report = value()?.into(),
                "--skip" => options.skipped.push(section_named(value()?)?.to_owned()),
                word if word.starts_with('-') => {
                    bail!("unknown flag `{word}`; the flags are --go, --report and --skip")
                }
                version => version.clone_into(&mut options.version),
            }
        }
        if !options.version.starts_with('v') {
            bail!("name the version: cargo xtask helm-update v4.3.1 [--go go1.27.2] [--report FILE]");
        }
        Ok(options)
    }
}

/// Builds another version of Helm, compares it with the reference, and writes the report.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::read(arguments)?;
    let reference = helm::helm()?;
    let other = helm::of_version(&options.version, &options.toolchain)?;
    let mut report = Report::new(&options);
    for (section, title) in SECTIONS {
        if options.skipped.iter().any(|skipped| skipped == section) {
            report.skip(title, "left out by --skip");
        } else if let Some(changes) = compare(section, &reference, &other)? {
            report.section(title, &changes);
        } else {
            report.skip(title, "the corpus is not here (PINTLE_CORPUS or ../shared)");
        }
        // After each, because the last ones compile for minutes.
        report.write(&options.report)?;
    }
    print_line(&format!("{}\nthe report is {}", report.summary, options.report.display()));
    Ok(())
}

/// The sections of the report, with their titles; the slow ones last.
const SECTIONS: [(&str, &str); 5] = [
    ("libraries", "Libraries"),
    ("help", "Help pages"),
    ("cases", "Recorded cases"),
    ("charts", "Whole charts"),
    ("scenarios", "Scenarios"),
];

fn section_named(name: &str) -> Result<&str> {
    match SECTIONS.iter().any(|(section, _)| *section == name) {
        true => Ok(name),
        false => {
            bail!("there is no section `{name}`; they are {}", SECTIONS.map(|(name, _)| name).join(", "))
        }
    }
}

/// Compares what a section is about. Returns `None` if the corpus is needed and missing.
fn compare(section: &str, reference: &Path, other: &Path) -> Result<Option<Changes>> {
    Ok(Some(match section {
        "libraries" => libraries(reference, other)?,
        "help" => help_pages(reference, other)?,
        "cases" => cases(other)?,
        "charts" => match corpus() {
            Some(corpus) => charts(&corpus, other)?,
            None => return Ok(None),
        },
        _ => scenarios(other)?,
    }))
}

/// A change, with its name and what differs.
struct Change {
    name: String,
    text: String,
}

/// What was compared, and what differs.
#[derive(Default)]
struct Changes {
    compared: usize,
    differing: usize,
    list: Vec<Change>,
}

impl Changes {
    fn add(&mut self, name: impl Into<String>, text: String) {
        self.differing += 1;
        self.list.push(Change { name: name.into(), text });
    }
}

/// The report, in Markdown.
struct Report {
    text: String,
    summary: String,
}

impl Report {
    fn new(options: &Options) -> Report {
        let text = format!(
            "# Helm {} beside the reference {}\n\nBuilt with {} and {}. Lines with `-` are the reference's, or what was \
             recorded from it; lines with `+` are those of {}.\n",
            options.version,
            helm::VERSION,
            options.toolchain,
            helm::TOOLCHAIN,
            options.version,
        );
        Report { text, summary: String::new() }
    }

    fn section(&mut self, title: &str, changes: &Changes) {
        let count = format!("{} of {} differ", changes.differing, changes.compared);
        let _ = write!(self.text, "\n## {title}\n\n{count}.\n");
        let _ = writeln!(self.summary, "{title}: {count}");
        for Change { name, text } in &changes.list {
            let _ = write!(self.text, "\n### `{name}`\n\n```diff\n{}```\n", shortened(text));
        }
    }

    fn write(&self, path: &Path) -> Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        fs::write(path, &self.text).with_context(|| format!("cannot write {}", path.display()))
    }

    fn skip(&mut self, title: &str, reason: &str) {
        let _ = write!(self.text, "\n## {title}\n\nNot compared: {reason}.\n");
        let _ = writeln!(self.summary, "{title}: not compared, {reason}");
    }
}

/// The first lines of a text, with a note about the rest.
fn shortened(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut short: String = lines.iter().take(MAX_LINES).map(|line| format!("{line}\n")).collect();
    if lines.len() > MAX_LINES {
        let _ = writeln!(short, "… {} more lines", lines.len() - MAX_LINES);
    }
    short
}

/// The modules that both programs are built from. Those that differ are where to look for changes that nothing here runs.
fn libraries(reference: &Path, other: &Path) -> Result<Changes> {
    let (before, after) = (modules(reference)?, modules(other)?);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut changes = Changes { compared: names.len(), ..Changes::default() };
    let moved: Vec<&String> =
        names.into_iter().filter(|name| before.get(*name) != after.get(*name)).collect();
    let mut text = String::new();
    for name in &moved {
        for (sign, version) in [('-', before.get(*name)), ('+', after.get(*name))] {
            if let Some(version) = version {
                let _ = writeln!(text, "{sign} {name} {version}");
            }
        }
    }
    // One block for all: they are a list to read, not results to work on one by one.
    if !moved.is_empty() {
        changes.add(format!("{} modules", moved.len()), text);
        changes.differing = moved.len();
    }
    Ok(changes)
}

/// The modules of a program with their versions, by `go version -m`.
fn modules(program: &Path) -> Result<BTreeMap<String, String>> {
    let listed = output(Command::new("go").args(["version", "-m"]).arg(program))?;
    Ok(read_modules(&String::from_utf8_lossy(&listed)))
}

fn read_modules(listed: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if let Some((_, version)) = listed.lines().next().and_then(|line| line.rsplit_once(": ")) {
        found.insert("go".to_owned(), version.trim().to_owned());
    }
    for line in listed.lines() {
        let mut words = line.split_whitespace();
        if let (Some("dep" | "mod"), Some(name), Some(version)) = (words.next(), words.next(), words.next()) {
            found.insert(name.to_owned(), version.to_owned());
        }
    }
    found
}

/// The help of every command that either program has.
fn help_pages(reference: &Path, other: &Path) -> Result<Changes> {
    let (before, after) = (help_of(reference)?, help_of(other)?);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut changes = Changes { compared: names.len(), ..Changes::default() };
    for name in names {
        let page = |pages: &BTreeMap<String, String>| pages.get(name).cloned().unwrap_or_default();
        if before.get(name) != after.get(name) {
            changes.add(format!("helm {name}").trim_end(), diff(&page(&before), &page(&after)));
        }
    }
    Ok(changes)
}

/// The help pages of a program by the words of the command.
fn help_of(program: &Path) -> Result<BTreeMap<String, String>> {
    let mut pages = BTreeMap::new();
    let mut left = vec![String::new()];
    while let Some(path) = left.pop() {
        let words = path.split_whitespace().chain(["--help"]);
        let shown = bare(program).args(words).stdin(Stdio::null()).output().context("cannot run Helm")?;
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        left.extend(subcommands(&text).map(|name| format!("{path} {name}").trim().to_owned()));
        pages.insert(path, text);
    }
    Ok(pages)
}

/// The commands that a help page lists.
fn subcommands(page: &str) -> impl Iterator<Item = &str> {
    let listed = page.lines().skip_while(|line| *line != "Available Commands:").skip(1);
    let listed = listed.take_while(|line| line.starts_with("  "));
    listed.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help")
}

/// Our own small charts, as they were recorded.
fn cases(other: &Path) -> Result<Changes> {
    let mut changes = Changes::default();
    for case in record::all()? {
        let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let recorded = record::recorded(&case).with_context(|| format!("case {name}"))?;
        let now = record::run_case(other, &case).with_context(|| format!("case {name}"))?;
        changes.compared += 1;
        let mut text = String::new();
        if recorded.exit != now.exit {
            let _ = write!(text, "- exit {}\n+ exit {}\n", recorded.exit, now.exit);
        }
        for (before, after) in [(&recorded.out, &now.out), (&recorded.err, &now.err)] {
            if before != after {
                text.push_str(&diff(&String::from_utf8_lossy(before), &String::from_utf8_lossy(after)));
            }
        }
        if !text.is_empty() {
            changes.add(name, text);
        }
    }
    Ok(changes)
}

/// Real charts, as they were recorded; run by the program that also runs ours.
fn charts(corpus: &Path, other: &Path) -> Result<Changes> {
    run_command(&mut cargo(&["build", "--quiet", "--package", "pintle-conformance"]))?;
    let mut command = Command::new(program("debug/pintle-conformance")?);
    command.arg("render").args([corpus.join("charts"), corpus.join("goldens/render")]);
    command.args(["--show", "1000000"]).arg("--binary").arg(other);
    // It ends with 1 if anything differs.
    let shown = command.stdin(Stdio::null()).output().context("cannot run pintle-conformance")?;
    if !matches!(shown.status.code(), Some(0 | 1)) {
        bail!("{command:?} ended with {}: {}", shown.status, String::from_utf8_lossy(&shown.stderr));
    }
    Ok(read_charts(&String::from_utf8_lossy(&shown.stdout)))
}

/// Reads the rows `render stdout passed/total (percent %)` and the indented differences below them.
fn read_charts(shown: &str) -> Changes {
    let mut changes = Changes::default();
    let mut chart = "";
    for line in shown.lines() {
        match line.strip_prefix("    ") {
            Some(difference)
                if !difference.starts_with("except ") && !difference.contains("remove it from") =>
            {
                let (case, text) = difference.split_once(": ").unwrap_or((difference, ""));
                changes.add(format!("{chart} {case}"), format!("  {text}\n"));
            }
            Some(_) => {}
            None => {
                let mut words = line.split_whitespace();
                chart = words.next().unwrap_or_default();
                let total = words.find_map(|count| count.split_once('/')?.1.parse().ok());
                changes.compared = changes.compared.max(total.unwrap_or(0));
            }
        }
    }
    changes
}

/// The scenarios that the tests of the program run beside the real Helm: ours is compared with the other version.
fn scenarios(other: &Path) -> Result<Changes> {
    let arguments = ["test", "--quiet", "--package", "pintle-cli", "--test", "it", "--", "beside_helm::"];
    let mut command = cargo(&arguments);
    command.env("PINTLE_HELM", other).env_remove("PINTLE_TEST_WITHOUT_GO");
    let shown = command.stdin(Stdio::null()).output().context("cannot run the tests of the program")?;
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    if !text.contains("test result:") {
        bail!("{command:?} ended with {}: {}", shown.status, String::from_utf8_lossy(&shown.stderr));
    }
    Ok(read_scenarios(&text))
}

/// Reads the output of failed tests, which lists each command that differs.
fn read_scenarios(shown: &str) -> Changes {
    let mut changes = Changes::default();
    for line in shown.lines() {
        let counted = line.split_once("test result: ").map(|(_, counts)| counts);
        for count in counted.into_iter().flat_map(|counts| counts.split(';')) {
            let words: Vec<&str> = count.split_whitespace().collect();
            if let [.., number, "passed" | "failed"] = words.as_slice() {
                changes.compared += number.parse::<usize>().unwrap_or(0);
            }
        }
    }
    for block in shown.split("\n---- ").skip(1) {
        let (name, text) = block.split_once(" stdout ----\n").unwrap_or((block, ""));
        let text = text.split("\nnote: run with `RUST_BACKTRACE").next().unwrap_or_default();
        let text = text.split("\nfailures:\n").next().unwrap_or_default();
        changes.add(name, text.lines().map(|line| format!("  {line}\n")).collect());
    }
    changes
}

/// The lines that differ, with `-` and `+`: a longest common subsequence.
fn diff(before: &str, after: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    // How many lines the rests have in common.
    let mut common = vec![vec![0_u32; after.len() + 1]; before.len() + 1];
    for one in (0..before.len()).rev() {
        for other in (0..after.len()).rev() {
            common[one][other] = match before[one] == after[other] {
                true => common[one + 1][other + 1] + 1,
                false => common[one + 1][other].max(common[one][other + 1]),
            };
        }
    }
    let (mut one, mut other) = (0, 0);
    let mut text = String::new();
    while one < before.len() || other < after.len() {
        if one < before.len() && other < after.len() && before[one] == after[other] {
            (one, other) = (one + 1, other + 1);
        } else if other == after.len()
            || (one < before.len() && common[one + 1][other] >= common[one][other + 1])
        {
            let _ = writeln!(text, "- {}", before[one]);
            one += 1;
        } else {
            let _ = writeln!(text, "+ {}", after[other]);
            other += 1;
        }
    }
    if text.is_empty() {
        text.push_str("  only line breaks differ\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_names_what_changed() {
        let options =
            Options::read(&["v4.2.4".to_owned(), "--go".to_owned(), "go1.26.8".to_owned()]).unwrap();
        assert_eq!((options.version.as_str(), options.toolchain.as_str()), ("v4.2.4", "go1.26.8"));
        assert!(Options::read(&[]).is_err() && Options::read(&["--fast".to_owned()]).is_err());
        let skipping =
            |name: &str| Options::read(&["v4.2.4".to_owned(), "--skip".to_owned(), name.to_owned()]);
        assert_eq!(skipping("charts").unwrap().skipped, ["charts"]);
        assert!(skipping("all").is_err());
        let mut report = Report::new(&options);
        let mut changes = Changes { compared: 2, ..Changes::default() };
        changes.add("helm history", diff("a\nb\nc\n", "a\nx\nc\nd\n"));
        report.section("Help pages", &changes);
        assert!(
            report.text.ends_with(
                "## Help pages\n\n1 of 2 differ.\n\n### `helm history`\n\n```diff\n- b\n+ x\n+ d\n```\n"
            ),
            "{}",
            report.text
        );
        assert_eq!(report.summary, "Help pages: 1 of 2 differ\n");
        let long: String = (0..180).map(|number| format!("+ {number}\n")).collect();
        assert!(shortened(&long).ends_with("… 60 more lines\n"));
    }

    #[test]
    fn outputs_of_other_programs_are_read() {
        let modules =
            read_modules("/x/helm: go1.27.2\n\tpath\thelm.sh/helm\n\tdep\tk8s.io/api\tv0.37.1\th1:x=\n");
        assert_eq!(modules["go"], "go1.27.2");
        assert_eq!(modules["k8s.io/api"], "v0.37.1");
        let page = "x\n\nAvailable Commands:\n  create      new\n  help        Help\n  env         e\n\nFlags:\n  -h\n";
        assert_eq!(subcommands(page).collect::<Vec<_>>(), ["create", "env"]);
        let charts = read_charts(
            "render exit 5/5 (100.00 %)\nrender stdout 4/5 (80.00 %)\n    a-1 [default]: line 3\n",
        );
        assert_eq!((charts.compared, charts.list.len()), (5, 1));
        assert_eq!(charts.list[0].name, "render a-1 [default]");
        let scenarios = read_scenarios(
            "failures:\n\n---- beside_helm::x stdout ----\n1 of 9 commands differ:\n$ helm\nnote: run with \
             `RUST_BACKTRACE=1`\n\n\nfailures:\n    beside_helm::x\n\ntest result: FAILED. 14 passed; 1 failed; 0 ignored\n",
        );
        assert_eq!((scenarios.compared, scenarios.list[0].name.as_str()), (15, "beside_helm::x"));
        assert_eq!(scenarios.list[0].text, "  1 of 9 commands differ:\n  $ helm\n");
    }
}
