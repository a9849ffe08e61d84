//! `compare`: any chart through both programs.

use std::os::unix::fs::symlink;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use crate::helm::{bare, helm};
use crate::shell::{ci_binary, print_line, root};

/// Renders each chart with both programs and shows the first difference of each stream.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let split = arguments.iter().position(|argument| argument == "--");
    let (charts, extra) = match split {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (arguments, &[][..]),
    };
    if charts.is_empty() {
        bail!("name at least one chart: cargo xtask compare CHART… [-- ARGS]");
    }
    let theirs = helm()?;
    let folder = root().join("target/compare");
    std::fs::create_dir_all(&folder)?;
    let ours = folder.join("helm");
    let _ = std::fs::remove_file(&ours);
    symlink(ci_binary()?, &ours).context("cannot link our program under the name helm")?;
    let mut different = 0;
    for chart in charts {
        let render = |program: &std::path::Path| {
            bare(program).args(["template", "release-name", chart]).args(extra).stdin(Stdio::null()).output()
        };
        let (want, got) = (render(&theirs)?, render(&ours)?);
        let mut differences = Vec::new();
        if want.status.code() != got.status.code() {
            differences.push(format!("exit: helm {}, pintle {}", want.status, got.status));
        }
        for (stream, want, got) in
            [("stdout", &want.stdout, &got.stdout), ("stderr", &want.stderr, &got.stderr)]
        {
            if want != got {
                differences.push(format!("{stream}: {}", first_difference(want, got)));
            }
        }
        print_line(&format!("{chart}: {}", if differences.is_empty() { "same" } else { "DIFFERENT" }));
        for difference in &differences {
            print_line(&format!("    {difference}"));
        }
        different += usize::from(!differences.is_empty());
    }
    if different > 0 {
        bail!("{different} of {} charts differ", charts.len());
    }
    Ok(())
}

fn first_difference(want: &[u8], got: &[u8]) -> String {
    let (want, got) = (String::from_utf8_lossy(want), String::from_utf8_lossy(got));
    let (mut left, mut right) = (want.lines(), got.lines());
    for number in 1.. {
        let (a, b) = (left.next(), right.next());
        if a != b || a.is_none() {
            let show = |line: Option<&str>| line.map_or("<end>".to_owned(), |line| format!("{line:?}"));
            return format!("line {number}\n      helm   {}\n      pintle {}", show(a), show(b));
        }
    }
    String::new()
}
