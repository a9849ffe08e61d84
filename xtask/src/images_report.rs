//! `images-report`: how many images of the corpus can be relocated, as a committed page; a lower rate is an error.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::shell::{ci_binary, corpus, output, print_line, program, root};
use crate::steps::Outcome;

/// How much of a rate may be lost to rounding, in per cent.
const TOLERANCE: f64 = 0.05;

/// Makes the report and compares it with the committed page, or renews that.
pub(crate) fn run(arguments: &[String]) -> Result<Outcome> {
    let renew = match arguments {
        [] => false,
        [flag] if flag == "--write" => true,
        _ => bail!("usage: cargo xtask images-report [--write]"),
    };
    let Some(corpus) = corpus() else {
        return Ok(Outcome::skipped("the corpus is not here (PINTLE_CORPUS or ../shared)"));
    };
    ci_binary()?;
    let page = output(Command::new(program("ci/images_report")?).arg(corpus.join("charts")))?;
    let page = String::from_utf8(page).context("the report is no text")?;
    check(&page)?;
    if renew {
        fs::write(page_path(), &page).with_context(|| format!("cannot write {}", page_path().display()))?;
        return Ok(Outcome::Passed);
    }
    let kept = fs::read_to_string(page_path())
        .with_context(|| format!("cannot read {}; --write makes it", page_path().display()))?;
    compare(&page, &kept)?;
    Ok(Outcome::Passed)
}

fn page_path() -> PathBuf {
    root().join("docs/contributing/images-report.md")
}

/// A row of the first table.
#[derive(Debug, PartialEq)]
struct Row {
    name: String,
    images: usize,
    by_values: f64,
    missed: usize,
    strays: usize,
}

fn rows(page: &str) -> Result<Vec<Row>> {
    let lines = page
        .lines()
        .filter(|line| line.starts_with("| default values |") || line.starts_with("| all values"));
    let rows: Result<Vec<Row>> = lines.map(row).collect();
    let rows = rows?;
    if rows.is_empty() { bail!("the report has no table") } else { Ok(rows) }
}

fn row(line: &str) -> Result<Row> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [name, _, _, images, _, by_values, _, missed, strays] = cells[..] else {
        bail!("a row of the report has {} cells: {line}", cells.len());
    };
    let rate = by_values.split_once('(').and_then(|(_, rest)| rest.strip_suffix(" %)"));
    Ok(Row {
        name: name.to_owned(),
        images: images.parse()?,
        by_values: rate.context("a rate is missing")?.parse()?,
        missed: missed.parse()?,
        strays: strays.parse()?,
    })
}

/// Checks that do not depend on the committed page.
fn check(page: &str) -> Result<()> {
    for row in rows(page)? {
        print_line(&format!(
            "{}: {} images, {} % by values, {} missed, {} strays",
            row.name, row.images, row.by_values, row.missed, row.strays
        ));
        if row.missed + row.strays > 0 {
            bail!("{} images were missed, and {} overrides change something else", row.missed, row.strays);
        }
    }
    Ok(())
}

/// Fails where fewer images than before are moved by values.
fn compare(page: &str, kept: &str) -> Result<()> {
    for (now, before) in rows(page)?.iter().zip(&rows(kept)?) {
        if now.by_values + TOLERANCE < before.by_values {
            bail!(
                "{}: values move {} % of the images, and docs/contributing/images-report.md says {} %",
                now.name,
                now.by_values,
                before.by_values
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "| default values | 2 | 2 | 10 | 9 (90.0 %) | 9 (90.0 %) | 1 (10.0 %) | 0 | 0 |\n\
                        | all values files | 2 | 4 | 20 | 19 (95.0 %) | 19 (95.0 %) | 1 (5.0 %) | 0 | 0 |\n\n\
                        The run took 22 s (33 s of processor time)\n";

    #[test]
    fn a_page_is_held_to_the_one_before() {
        assert!(check(PAGE).is_ok() && compare(PAGE, PAGE).is_ok());
        let worse = PAGE.replace("19 (95.0 %) | 1 (", "18 (90.0 %) | 2 (");
        assert!(compare(&worse, PAGE).is_err() && compare(PAGE, &worse).is_ok());
        assert!(check(&PAGE.replace("| 0 | 0 |", "| 1 | 0 |")).is_err());
    }
}
