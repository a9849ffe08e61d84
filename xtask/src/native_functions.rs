//! `native-functions`: measures every native function of templates and scripts on arguments up to ten megabytes, and
//! writes docs/contributing/native-functions.md.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::shell::{cargo, root, run as run_command};

const DOCUMENT: &str = "docs/contributing/native-functions.md";

/// A table of the document, and the test that writes its rows to the file that a variable names.
struct Table {
    heading: &'static str,
    package: &'static str,
    test: &'static str,
    variable: &'static str,
}

const TABLES: [Table; 2] = [
    Table {
        heading: "## Template functions\n",
        package: "pintle-sprig",
        test: "growth::no_template_function_takes_longer_than_it_is_charged_for",
        variable: "PINTLE_NATIVE_FUNCTIONS",
    },
    Table {
        heading: "## Functions of scripts\n",
        package: "pintle-lua",
        test: "growth::no_native_function_takes_the_square_of_the_time",
        variable: "PINTLE_NATIVE_LUA",
    },
];

/// Runs `native-functions [BYTES]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let path = root().join(DOCUMENT);
    let mut text = fs::read_to_string(&path).with_context(|| format!("cannot read {DOCUMENT}"))?;
    for table in &TABLES {
        let rows = tempfile::NamedTempFile::new()?;
        let mut test = cargo(&["test", "--quiet", "--profile", "perf", "--package", table.package]);
        test.args(["--test", "it", "--", "--exact", table.test]).env(table.variable, rows.path());
        if let [most] = arguments {
            test.env("PINTLE_NATIVE_MOST", most);
        }
        run_command(&mut test)?;
        text = replaced(&text, table.heading, &read_rows(rows.path())?)?;
    }
    fs::write(&path, text).with_context(|| format!("cannot write {DOCUMENT}"))
}

fn read_rows(path: &Path) -> Result<String> {
    let rows = fs::read_to_string(path)?;
    ensure!(!rows.is_empty(), "the test wrote no rows");
    Ok(rows)
}

/// The document with other rows in the first table below a heading.
fn replaced(text: &str, heading: &str, rows: &str) -> Result<String> {
    const RULE: &str = "|---|";
    let section = text.find(heading).with_context(|| format!("{DOCUMENT} has no {heading:?}"))?;
    let rule = section + text[section..].find(RULE).context("there is no table below the heading")?;
    let first = rule + text[rule..].find('\n').context("the table has no rows")? + 1;
    let end = text[first..].find("\n\n").map_or(text.len(), |end| first + end + 1);
    Ok(format!("{}{rows}{}", &text[..first], &text[end..]))
}
