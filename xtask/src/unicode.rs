//! `unicode`: Go's tables of characters, from `testbed/unicode`, built with the Go of the reference.
//!
//! The crate `tree` gets letters and digits whole; the crate `regex` only what regex-syntax does not have, which is a little
//! as long as that library is one version behind; the tests get hashes of all sets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use crate::shell::{output, print_line, root};
use crate::{go, helm};

const TREE: &str = "crates/tree/src/unicode/tables.rs";
const REGEX: &str = "crates/regex/src/syntax/newer/tables.rs";
const TESTS: &str = "crates/testkit/src/unicode.txt";

/// Compares the tables with Go's, or writes them.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let write = match arguments {
        [] => false,
        [flag] if flag == "--write" => true,
        _ => bail!("usage: cargo xtask unicode [--write]"),
    };
    let mut program = go::command("run", "");
    program.arg(".").current_dir(root().join("testbed/unicode")).env("GOTOOLCHAIN", helm::TOOLCHAIN);
    let facts = String::from_utf8(output(&mut program)?).context("the output of Go is not UTF-8")?;
    let files = [
        (TREE, formatted(&tree_tables(&facts)?)?),
        (REGEX, formatted(&regex_tables(&facts)?)?),
        (TESTS, recorded_sets(&facts)),
    ];
    let mut outdated = Vec::new();
    for (path, text) in files {
        let file = root().join(path);
        if write {
            fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        } else if fs::read_to_string(&file).ok().as_ref() != Some(&text) {
            outdated.push(path);
        }
    }
    if !outdated.is_empty() {
        bail!("not the tables of {}: {}; `--write` renews them", helm::TOOLCHAIN, outdated.join(", "));
    }
    print_line(&format!("unicode: the tables are those of {}", helm::TOOLCHAIN));
    Ok(())
}

/// What follows `word` on the lines that begin with it.
fn lines<'f>(facts: &'f str, word: &str) -> impl Iterator<Item = Vec<&'f str>> {
    facts.lines().filter_map(move |line| {
        let mut parts = line.split(' ');
        (parts.next() == Some(word)).then(|| parts.collect())
    })
}

fn codes(parts: &[&str]) -> Result<Vec<u32>> {
    parts.iter().map(|code| u32::from_str_radix(code, 16).context("a code is not hexadecimal")).collect()
}

fn version(facts: &str) -> Result<&str> {
    lines(facts, "version").next().and_then(|parts| parts.first().copied()).context("Go names no version")
}

fn recorded_sets(facts: &str) -> String {
    let has = |line: &&str| ["version ", "set ", "mapping "].iter().any(|word| line.starts_with(word));
    facts.lines().filter(has).fold(String::new(), |text, line| text + line + "\n")
}

fn tree_tables(facts: &str) -> Result<String> {
    let mut text = format!(
        "//! Letters and digits of Unicode {}; `cargo xtask unicode --write` made this file.\n\n",
        version(facts)?
    );
    let lists = [
        (
            "letters",
            "LETTER_BOUNDS",
            "Where letters begin and where they end: the first one, the first character after it that is none, and so on.",
        ),
        (
            "zeros",
            "DIGIT_ZEROS",
            "The digit zero of each set of decimal digits. Its nine other digits follow it.",
        ),
    ];
    for (word, name, meaning) in lists {
        let parts = lines(facts, word).next().with_context(|| format!("Go lists no {word}"))?;
        let codes = codes(&parts)?;
        write!(text, "/// {meaning}\npub(super) const {name}: [u32; {}] = [", codes.len())?;
        for code in codes {
            write!(text, "0x{code:x}, ")?;
        }
        text.push_str("];\n\n");
    }
    Ok(text)
}

/// A property of regex-syntax; empty if it does not have it.
fn class(pattern: &str) -> ClassUnicode {
    match regex_syntax::parse(pattern).map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        _ => ClassUnicode::empty(),
    }
}

fn regex_tables(facts: &str) -> Result<String> {
    let mut text = format!(
        "//! What Unicode {} has and regex-syntax does not; `cargo xtask unicode --write` made this file.\n\n\
         use super::Row;\n\n",
        version(facts)?
    );
    let rows = newer_characters(facts)?;
    write!(
        text,
        "/// Characters that were assigned since, or have changed.\npub(super) const CHARACTERS: [Row; {}] = [",
        rows.len()
    )?;
    for (first, last, category, script) in rows {
        writeln!(text, "('\\u{{{first:x}}}', '\\u{{{last:x}}}', \"{category}\", \"{script}\"),")?;
    }
    let cases = newer_cases(facts)?;
    let count = cases.len();
    write!(
        text,
        "];\n\n/// Characters that are equal but for their case.\npub(super) const CASES: [(char, char); {count}] = ["
    )?;
    for (upper, lower) in cases {
        writeln!(text, "('\\u{{{upper:x}}}', '\\u{{{lower:x}}}'),")?;
    }
    Ok(text + "];\n")
}

/// The parts of Go's rows in which the category or the script is not the one of regex-syntax.
fn newer_characters(facts: &str) -> Result<Vec<(u32, u32, String, String)>> {
    let mut known = BTreeMap::new();
    let mut rows = Vec::new();
    for parts in lines(facts, "character") {
        let [first, last, category, script] = parts[..] else { bail!("not a row of characters: {parts:?}") };
        let [first, last] = codes(&[first, last])?[..] else { bail!("not a range: {parts:?}") };
        // As the crate `regex` spells it.
        let script = match script.replace('_', "").to_ascii_lowercase() {
            text if text == "-" => text,
            text => text[..1].to_ascii_uppercase() + &text[1..],
        };
        let range = ClassUnicodeRange::new(
            char::from_u32(first).context("a row begins with a surrogate")?,
            char::from_u32(last).context("a row ends with a surrogate")?,
        );
        let mut same = ClassUnicode::new([range]);
        let of_script = match script.as_str() {
            // Go has no name for what belongs to none.
            "-" => r"\p{sc=Zzzz}".to_owned(),
            name => format!(r"\p{{sc={name}}}"),
        };
        for pattern in [format!(r"\p{{gc={category}}}"), of_script] {
            same.intersect(known.entry(pattern.clone()).or_insert_with(|| class(&pattern)));
        }
        let mut newer = ClassUnicode::new([range]);
        newer.difference(&same);
        for range in newer.ranges() {
            rows.push((range.start().into(), range.end().into(), category.to_owned(), script.clone()));
        }
    }
    Ok(rows)
}

/// Pairs of characters that are equal but for their case in Go alone.
fn newer_cases(facts: &str) -> Result<Vec<(u32, u32)>> {
    let mut pairs = Vec::new();
    for parts in lines(facts, "fold") {
        let codes = codes(&parts)?;
        let characters: Vec<char> = codes.iter().filter_map(|code| char::from_u32(*code)).collect();
        let mut all = ClassUnicode::new(characters.iter().map(|one| ClassUnicodeRange::new(*one, *one)));
        let mut known = ClassUnicode::new([ClassUnicodeRange::new(characters[0], characters[0])]);
        known.try_case_fold_simple().context("regex-syntax has its case tables")?;
        all.difference(&known);
        if all.ranges().is_empty() {
            continue;
        }
        ensure!(
            codes.len() == 2
                && known.iter().eq([ClassUnicodeRange::new(characters[0], characters[0])].iter()),
            "regex-syntax knows a part of the cases {parts:?}, which the table cannot express"
        );
        pairs.push((codes[0], codes[1]));
    }
    Ok(pairs)
}

fn formatted(text: &str) -> Result<String> {
    let mut command = Command::new("rustfmt");
    command.args(["--edition", "2024", "--config-path"]).arg(root());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot run rustfmt")?;
    child.stdin.take().context("rustfmt takes no text")?.write_all(text.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "rustfmt ended with {}", output.status);
    String::from_utf8(output.stdout).context("rustfmt wrote something else than text")
}
