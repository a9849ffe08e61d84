//! The report of a rehearsal as JUnit XML, which CI systems display: a suite per stage, a case per object and hook.

use pintle::rehearse::{Finding, Rehearsal, Severity, Stage};

use super::text::position;

struct Case {
    name: String,
    failures: Vec<String>,
    output: String,
}

/// The report as XML.
pub(super) fn xml(report: &Rehearsal) -> String {
    let suites: Vec<(&Stage, Vec<Case>)> =
        report.stages.iter().map(|stage| (stage, cases(report, stage))).collect();
    let tests: usize = suites.iter().map(|(_, cases)| cases.len()).sum();
    let failed = |cases: &[Case]| cases.iter().filter(|case| !case.failures.is_empty()).count();
    let failures: usize = suites.iter().map(|(_, cases)| failed(cases)).sum();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out.push_str(&format!(
        "<testsuites name={} tests=\"{tests}\" failures=\"{failures}\">\n",
        quoted(&format!("rehearsal of {} on Kubernetes {}", report.release, report.kube_version))
    ));
    for (stage, cases) in &suites {
        out.push_str(&format!(
            "  <testsuite name={} tests=\"{}\" failures=\"{}\">\n",
            quoted(&format!("{} {}", stage.name, stage.chart)),
            cases.len(),
            failed(cases)
        ));
        for case in cases {
            add_case(&mut out, stage, case);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn cases(report: &Rehearsal, stage: &Stage) -> Vec<Case> {
    let found: Vec<&Finding> = report.findings.iter().filter(|it| it.stage == stage.name).collect();
    let mut cases = vec![Case { name: stage.name.to_owned(), failures: Vec::new(), output: String::new() }];
    for object in &stage.objects {
        let failures = if object.ready { Vec::new() } else { vec![object.message.clone()] };
        cases.push(Case { name: object.object.clone(), failures, output: String::new() });
    }
    for hook in &stage.hooks {
        let failures =
            if hook.phase == "Succeeded" { Vec::new() } else { vec![format!("it ended {}", hook.phase)] };
        cases.push(Case { name: format!("hook {}", hook.object), failures, output: hook.log.clone() });
    }
    for finding in found {
        let position = position(finding);
        let text = if position.is_empty() {
            finding.message.clone()
        } else {
            format!("{position}: {}", finding.message)
        };
        let at = cases.iter().position(|case| !finding.object.is_empty() && case.name == finding.object);
        let case = &mut cases[at.unwrap_or(0)];
        if finding.severity == Severity::Error {
            case.failures.push(text);
        } else {
            case.output.push_str(&format!("{}: {text}\n", finding.severity.as_str()));
        }
    }
    cases
}

fn add_case(out: &mut String, stage: &Stage, case: &Case) {
    out.push_str(&format!("    <testcase classname={} name={}", quoted(stage.name), quoted(&case.name)));
    if case.failures.is_empty() && case.output.is_empty() {
        out.push_str("/>\n");
        return;
    }
    out.push_str(">\n");
    for failure in &case.failures {
        let first = failure.lines().next().unwrap_or_default();
        out.push_str(&format!("      <failure message={}>{}</failure>\n", quoted(first), escaped(failure)));
    }
    if !case.output.is_empty() {
        out.push_str(&format!("      <system-out>{}</system-out>\n", escaped(&case.output)));
    }
    out.push_str("    </testcase>\n");
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text).replace('"', "&quot;").replace('\n', "&#10;"))
}

/// XML 1.0 cannot represent most control characters, not even escaped.
fn escaped(text: &str) -> String {
    let allowed = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    let text: String = text.chars().filter(allowed).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_text_is_escaped_or_left_out() {
        assert_eq!(quoted("a<\"b\"\u{1}>&\n"), "\"a&lt;&quot;b&quot;&gt;&amp;&#10;\"");
    }
}
