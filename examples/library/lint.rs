//! Lints charts and fails when one has errors: `cargo run -p pintle --example lint -- CHART…`.
#![allow(clippy::print_stdout)]

use std::path::Path;

use anyhow::{Result, bail};
use pintle::lint::Severity;
use pintle::ops::{LintRequest, lint};
use pintle::{Session, Silent};

fn main() -> Result<()> {
    let request = LintRequest { namespace: "default".to_owned(), ..LintRequest::default() };
    let mut bad = 0;
    for chart in std::env::args().skip(1) {
        let linted = lint(&Session::offline(), Path::new(&chart), &request, &mut Silent)?;
        for message in &linted.findings.messages {
            println!("{chart}: {message}");
        }
        if let Some(problem) = &linted.problem {
            println!("{chart}: {problem}");
        }
        bad += usize::from(linted.problem.is_some() || linted.findings.worst() == Some(Severity::Error));
    }
    if bad > 0 {
        bail!("{bad} charts have errors");
    }
    Ok(())
}
