//! LCOV tracefiles, which editors and coverage services read.

use super::{CoverageReport, FileCoverage};

pub(super) fn write(reports: &[CoverageReport]) -> String {
    let mut text = String::new();
    for report in reports {
        let folder = report.chart.trim_end_matches('/');
        for file in &report.files {
            text.push_str(&format!("TN:\nSF:{folder}/{}\n", file.path));
            push_file(file, &mut text);
        }
        if report.values.is_empty() {
            continue;
        }
        text.push_str(&format!("TN:\nSF:{folder}/values.yaml\n"));
        for value in &report.values {
            text.push_str(&format!("DA:{},{}\n", value.line, u8::from(value.read)));
        }
        let share = report.values_share();
        text.push_str(&format!("LF:{}\nLH:{}\nend_of_record\n", share.all, share.covered));
    }
    text
}

fn push_file(file: &FileCoverage, text: &mut String) {
    for (block, branch) in file.branches.iter().enumerate() {
        let reached = branch.outcome.taken + branch.outcome.skipped > 0;
        for (way, count) in [branch.outcome.taken, branch.outcome.skipped].into_iter().enumerate() {
            // A branch that was never reached has no count.
            let count = if reached { count.to_string() } else { "-".to_owned() };
            text.push_str(&format!("BRDA:{},{block},{way},{count}\n", branch.line));
        }
    }
    let share = file.branches_share();
    text.push_str(&format!("BRF:{}\nBRH:{}\n", share.all, share.covered));
    for (line, hits) in &file.lines {
        text.push_str(&format!("DA:{line},{hits}\n"));
    }
    let share = file.lines_share();
    text.push_str(&format!("LF:{}\nLH:{}\nend_of_record\n", share.all, share.covered));
}
