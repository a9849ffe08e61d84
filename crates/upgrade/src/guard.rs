//! Reads that do not honour a value: those of the notes, and those that only decide whether to fail.

use pintle_chart::Chart;
use pintle_render::uses::{Usage, Uses, ValueUse};

/// How many lines after a condition are searched for `fail`.
const WINDOW: usize = 3;

/// Takes the reads out that only check a value.
pub(crate) fn take_checks(chart: &Chart, uses: &mut Uses) -> Vec<ValueUse> {
    let (checks, honoured) =
        std::mem::take(&mut uses.uses).into_iter().partition(|found| only_checks(chart, found));
    uses.uses = honoured;
    checks
}

fn only_checks(chart: &Chart, found: &ValueUse) -> bool {
    if found.file.ends_with("NOTES.txt") {
        return true;
    }
    found.usage == Usage::Tested && message(chart, found).is_some()
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
        let subchart = chart.subcharts.iter().find(|subchart| {
            below.strip_prefix(subchart.name()).is_some_and(|rest| rest.starts_with('/'))
        })?;
        return source(subchart, below);
    }
    let file = chart.templates.iter().find(|file| file.name == rest)?;
    Some(file.data.text().to_str_lossy().into_owned())
}
