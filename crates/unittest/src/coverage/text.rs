//! The report for people: what is not covered, so that the next test is easy to choose.

use super::{CoverageReport, FileCoverage, Share};

pub(super) fn write(report: &CoverageReport) -> String {
    let mut text = format!("\n### Coverage [ {} ]\n\n  lines  branches  template\n", report.chart);
    for file in &report.files {
        text.push_str(&row(file.lines_share(), file.branches_share(), &file.path));
        for line in details(file) {
            text.push_str(&format!("                   {line}\n"));
        }
    }
    let (lines, branches) = (report.lines_share(), report.branches_share());
    let all = format!(
        "all: {} of {} lines, {} of {} branches",
        lines.covered, lines.all, branches.covered, branches.all
    );
    text.push_str(&row(lines, branches, &all));
    let values = report.values_share();
    text.push_str(&format!(
        "\nValues: {:.1}%, {} of {} keys of values.yaml are read\n",
        values.percent(),
        values.covered,
        values.all
    ));
    for value in report.values.iter().filter(|value| !value.read) {
        text.push_str(&format!("  not read: {} (values.yaml:{})\n", value.path, value.line));
    }
    text
}

fn row(lines: Share, branches: Share, name: &str) -> String {
    let branches = match branches.all {
        0 => "-".to_owned(),
        _ => format!("{:.1}%", branches.percent()),
    };
    format!("{:>6.1}%  {branches:>8}  {name}\n", lines.percent())
}

fn details(file: &FileCoverage) -> Vec<String> {
    let mut details = Vec::new();
    if file.lines_share().covered == 0 {
        let is_partial = file.path.rsplit('/').next().is_some_and(|name| name.starts_with('_'));
        return vec![if is_partial { "no test includes it" } else { "no test renders it" }.to_owned()];
    }
    let missed = ranges(file);
    if !missed.is_empty() {
        details.push(format!("not run: {}", missed.join(", ")));
    }
    for branch in &file.branches {
        let name = format!("{} {} (line {})", branch.word, branch.condition, branch.line);
        let is_loop = branch.word == "range";
        match (branch.outcome.taken, branch.outcome.skipped) {
            // The enclosing block did not run either, and is reported itself.
            (0, 0) => {}
            (0, _) if is_loop => details.push(format!("never with items: {name}")),
            (0, _) => details.push(format!("never true: {name}")),
            (_, 0) if is_loop => details.push(format!("never empty: {name}")),
            (_, 0) => details.push(format!("never false: {name}")),
            _ => {}
        }
    }
    details
}

/// The lines that did not run, adjacent ones as ranges. Lines that do nothing do not separate them.
fn ranges(file: &FileCoverage) -> Vec<String> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    let mut open = false;
    for (line, hits) in &file.lines {
        match ranges.last_mut() {
            Some((_, end)) if *hits == 0 && open => *end = *line,
            _ if *hits == 0 => ranges.push((*line, *line)),
            _ => {}
        }
        open = *hits == 0;
    }
    let shown = |(start, end): (usize, usize)| match start == end {
        true => start.to_string(),
        false => format!("{start}-{end}"),
    };
    ranges.into_iter().map(shown).collect()
}
