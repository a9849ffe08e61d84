//! The report of a rehearsal for people.

use pintle::rehearse::{Finding, Rehearsal, Severity, Stage};

/// The report as text.
pub(super) fn text(report: &Rehearsal) -> String {
    let mut out = format!(
        "Rehearsal of {} in namespace {} on Kubernetes {}\n",
        report.release, report.namespace, report.kube_version
    );
    for stage in &report.stages {
        add_stage(&mut out, stage);
    }
    for (title, severity) in
        [("Problems", Severity::Error), ("Warnings", Severity::Warning), ("Notes", Severity::Note)]
    {
        let found: Vec<&Finding> = report.findings.iter().filter(|it| it.severity == severity).collect();
        if found.is_empty() {
            continue;
        }
        out.push_str(&format!("\n{title}:\n"));
        for finding in found {
            add_finding(&mut out, finding);
        }
    }
    let verdict = match report.worst() {
        Some(Severity::Error) => "the chart does not work",
        Some(Severity::Warning) => "the chart works, with warnings",
        _ => "the chart works",
    };
    out.push_str(&format!("\n{verdict}\n"));
    out
}

fn add_stage(out: &mut String, stage: &Stage) {
    let word = if stage.error.is_empty() { "ok" } else { "failed" };
    out.push_str(&format!("\n{} {}: {word}\n", stage.name, stage.chart));
    for object in &stage.objects {
        let mark = if object.ready { "ok  " } else { "FAIL" };
        out.push_str(&format!("  {mark} {}: {}\n", object.object, object.message));
    }
    for hook in &stage.hooks {
        out.push_str(&format!("  hook {} ({}): {}\n", hook.object, hook.events.join(","), hook.phase));
        for line in hook.log.lines() {
            out.push_str(&format!("       | {line}\n"));
        }
    }
    let told = stage.events.len();
    if told > 0 {
        let bad = stage.events.iter().filter(|event| event.kind == "Warning").count();
        out.push_str(&format!("  {told} events, {bad} of them warnings\n"));
    }
}

/// Where something was found, as far as it is known.
pub(super) fn place(finding: &Finding) -> String {
    match (finding.file.as_str(), finding.line, finding.rendered_line) {
        ("", _, _) => String::new(),
        (file, 0, 0) => file.to_owned(),
        (file, 0, rendered) => format!("{file} (line {rendered} as rendered)"),
        (file, line, _) => format!("{file}:{line}"),
    }
}

fn add_finding(out: &mut String, finding: &Finding) {
    let mut words = vec![finding.stage.to_owned()];
    words.extend([place(finding), finding.object.clone()].into_iter().filter(|word| !word.is_empty()));
    let message = finding.message.trim_end().replace('\n', "\n    ");
    out.push_str(&format!("  {}: {message}\n", words.join(": ")));
}
