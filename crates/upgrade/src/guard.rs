//! Reads that do not honour a value: those of the notes, and those that only decide whether to fail.

use pintle_chart::Chart;
use pintle_render::uses::{Segment, Usage, Uses, ValueUse};

/// How many lines after a condition are searched for `fail`.
const WINDOW: usize = 3;

/// Reads that are no ordinary ones.
#[derive(Debug, Default)]
pub(crate) struct SpecialReads {
    /// Those that only check a value.
    pub(crate) checks: Vec<ValueUse>,
    /// Values that templates name as text, for helpers that follow computed paths.
    pub(crate) named: Vec<ValueUse>,
}

/// Takes the reads out that only check a value, and makes those that seem to read everything more precise.
pub(crate) fn take_special(chart: &Chart, uses: &mut Uses) -> SpecialReads {
    let charts = charts(chart);
    let mut computed = Vec::new();
    let (mut checks, mut honoured) = (Vec::new(), Vec::new());
    for found in std::mem::take(&mut uses.uses) {
        if let Some(prefix) = charts.iter().find(|prefix| is_computed(chart, prefix, &found)) {
            if !computed.contains(prefix) {
                computed.push(prefix.clone());
            }
        } else if found.path.is_empty() && !reads_all_values(chart, &found) {
            // Nothing is read.
        } else if only_checks(chart, &found) {
            checks.push(found);
        } else {
            honoured.push(found);
        }
    }
    uses.uses = honoured;
    let named = if computed.is_empty() { Vec::new() } else { named_reads(chart, &computed) };
    SpecialReads { checks, named }
}

fn only_checks(chart: &Chart, found: &ValueUse) -> bool {
    found.file.ends_with("NOTES.txt") || found.usage == Usage::Tested && message(chart, found).is_some()
}

/// Where the values of each chart are, subcharts first.
fn charts(chart: &Chart) -> Vec<Vec<Segment>> {
    fn add(chart: &Chart, at: &[Segment], found: &mut Vec<Vec<Segment>>) {
        for subchart in &chart.subcharts {
            let below = [at, &[Segment::Key(subchart.name().into())]].concat();
            add(subchart, &below, found);
        }
        found.push(at.to_vec());
    }
    let mut found = Vec::new();
    add(chart, &[], &mut found);
    found
}

/// Whether a read follows a computed path from the values of a chart, as helpers do that take a path as text.
fn is_computed(chart: &Chart, prefix: &[Segment], found: &ValueUse) -> bool {
    let is_any = found.path.get(prefix.len()) == Some(&Segment::Any) && found.path.starts_with(prefix);
    is_any && !reads_all_values(chart, found)
}

/// The values that templates name as text, as in `(dict "key" "auth.password")`: what helpers with computed paths read.
fn named_reads(chart: &Chart, prefixes: &[Vec<Segment>]) -> Vec<ValueUse> {
    let mut found = Vec::new();
    add_named(chart, chart.name(), prefixes, &mut found);
    found
}

fn add_named(chart: &Chart, at: &str, prefixes: &[Vec<Segment>], found: &mut Vec<ValueUse>) {
    for file in &chart.templates {
        let text = file.data.text();
        for (number, line) in text.to_str_lossy().lines().enumerate().filter(|(_, line)| line.contains('"')) {
            let names_keys = ["\"key", "Key\"", "Values\"", "\"keys"].iter().any(|word| line.contains(word));
            for (column, literal) in literals(line) {
                if !(literal.contains('.') || names_keys) {
                    continue;
                }
                let keys = literal.split('.').map(|key| Segment::Key(key.into()));
                for prefix in prefixes {
                    found.push(ValueUse {
                        path: prefix.iter().cloned().chain(keys.clone()).collect(),
                        file: format!("{at}/{}", file.name),
                        line: number + 1,
                        column,
                        usage: Usage::Used,
                    });
                }
            }
        }
    }
    for subchart in &chart.subcharts {
        add_named(subchart, &format!("{at}/charts/{}", subchart.name()), prefixes, found);
    }
}

/// The texts in quotes on a line that could be paths, with their columns.
fn literals(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut column = 0;
    let parts = line.split('"').enumerate().map(move |(number, part)| {
        let at = column;
        column += part.len() + 1;
        (number, at, part)
    });
    let is_path = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic())
            && part.split('.').all(|key| !key.is_empty())
            && part.chars().all(|at| at.is_ascii_alphanumeric() || matches!(at, '.' | '_' | '-'))
    };
    parts.filter(move |(number, _, part)| number % 2 == 1 && is_path(part)).map(|(_, at, part)| (at, part))
}

/// Whether what seems to read the whole context does. A template that includes another file for its checksum gives it the
/// context, but what that file reads is known; and contexts that went through lists seem to be printed.
fn reads_all_values(chart: &Chart, found: &ValueUse) -> bool {
    let text = source(chart, &found.file).unwrap_or_default();
    let line = text.lines().nth(found.line.saturating_sub(1)).unwrap_or_default();
    if line.contains("BasePath") || line.contains("sha256sum") {
        return false;
    }
    let whole_values = line.match_indices(".Values").any(|(at, word)| {
        !line[at + word.len()..].starts_with(|next: char| next == '.' || next.is_alphanumeric())
    });
    // A computed name may be that of any template.
    let includes_any = line.contains("include (") || line.contains("include $");
    whole_values || includes_any || line.contains("toYaml") || line.contains("toJson")
}

/// The lines of a `fail` that a condition leads to, if it does.
pub(crate) fn message(chart: &Chart, found: &ValueUse) -> Option<String> {
    let text = source(chart, &found.file)?;
    let lines: Vec<&str> = text.lines().skip(found.line.saturating_sub(1)).take(WINDOW + 1).collect();
    let first = lines.first()?;
    // One action that both tests and fails, or a block that begins here and fails.
    if fails(first) {
        return Some((*first).trim().to_owned());
    }
    if !first.contains("if ") {
        return None;
    }
    let body = lines.iter().skip(1).take_while(|line| !line.contains("end") && !line.contains("else"));
    let body: Vec<&str> = body.copied().collect();
    body.iter().any(|line| fails(line)).then(|| body.join(" ").trim().to_owned())
}

fn fails(line: &str) -> bool {
    line.contains("{{") && line.split(|at: char| !at.is_alphanumeric()).any(|word| word == "fail")
}

/// The text of a template by its path, as in `root/charts/sub/templates/x.yaml`.
pub(crate) fn source(chart: &Chart, path: &str) -> Option<String> {
    let rest = path.strip_prefix(chart.name())?.strip_prefix('/')?;
    if let Some(below) = rest.strip_prefix("charts/") {
        let subchart = chart
            .subcharts
            .iter()
            .find(|subchart| below.strip_prefix(subchart.name()).is_some_and(|rest| rest.starts_with('/')))?;
        return source(subchart, below);
    }
    let file = chart.templates.iter().find(|file| file.name == rest)?;
    Some(file.data.text().to_str_lossy().into_owned())
}
