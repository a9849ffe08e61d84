//! One page without scripts: a table of templates, and each template with its lines marked.

use super::{CoverageReport, FileCoverage, Share};

const STYLE: &str = "body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}td,th{padding:.2em .8em;\
text-align:left}pre{margin:0;line-height:1.35}.n{color:#777;display:inline-block;width:4em;text-align:right;\
margin-right:1em}.h{background:#e6f4e6}.m{background:#fbdada}.p{background:#fdf2cc}h2{margin-top:2em}";

pub(super) fn write(reports: &[CoverageReport]) -> String {
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Coverage</title><style>{STYLE}</style></head><body>\n"
    );
    for (index, report) in reports.iter().enumerate() {
        push_report(report, index, &mut text);
    }
    text.push_str("</body></html>\n");
    text
}

fn push_report(report: &CoverageReport, index: usize, text: &mut String) {
    text.push_str(&format!(
        "<h1>{}</h1>\n<table><tr><th>template</th><th>lines</th><th>branches</th></tr>\n",
        escaped(&report.chart)
    ));
    for (number, file) in report.files.iter().enumerate() {
        let (lines, branches) = (share(file.lines_share()), share(file.branches_share()));
        let name = escaped(&file.path);
        text.push_str(&format!(
            "<tr><td><a href=\"#f{index}-{number}\">{name}</a></td><td>{lines}</td><td>{branches}</td></tr>\n"
        ));
    }
    let (lines, branches) = (share(report.lines_share()), share(report.branches_share()));
    text.push_str(&format!("<tr><th>all</th><th>{lines}</th><th>{branches}</th></tr></table>\n"));
    text.push_str(&format!("<h2>Values: {}</h2>\n", share(report.values_share())));
    let unread = report.values.iter().filter(|value| !value.read);
    let unread: Vec<String> = unread
        .map(|value| format!("<li>{} (values.yaml:{})</li>", escaped(&value.path), value.line))
        .collect();
    if !unread.is_empty() {
        text.push_str(&format!("<p>Not read:</p><ul>{}</ul>\n", unread.join("")));
    }
    for (number, file) in report.files.iter().enumerate() {
        text.push_str(&format!("<h2 id=\"f{index}-{number}\">{}</h2>\n<pre>", escaped(&file.path)));
        push_lines(file, text);
        text.push_str("</pre>\n");
    }
}

fn push_lines(file: &FileCoverage, text: &mut String) {
    for (index, line) in file.text.to_str_lossy().lines().enumerate() {
        let number = index + 1;
        let branches: Vec<_> = file.branches.iter().filter(|branch| branch.line == number).collect();
        let partial = branches.iter().any(|it| (it.outcome.taken == 0) != (it.outcome.skipped == 0));
        let class = match file.lines.get(&number) {
            None => "",
            Some(0) => "m",
            Some(_) if partial => "p",
            Some(_) => "h",
        };
        let ways: Vec<String> = branches
            .iter()
            .map(|branch| {
                format!(
                    "{} {}: {} yes, {} no",
                    branch.word, branch.condition, branch.outcome.taken, branch.outcome.skipped
                )
            })
            .collect();
        let title =
            if ways.is_empty() { String::new() } else { format!(" title=\"{}\"", escaped(&ways.join("; "))) };
        text.push_str(&format!(
            "<span class=\"n\">{number}</span><span class=\"{class}\"{title}>{}</span>\n",
            escaped(line)
        ));
    }
}

fn share(share: Share) -> String {
    match share.all {
        0 => "–".to_owned(),
        all => format!("{:.1}% ({} of {all})", share.percent(), share.covered),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
