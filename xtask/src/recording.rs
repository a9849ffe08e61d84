//! `recording`: the picture of a terminal on the first page of the documentation, made from what the program really prints.
//! The commands run in an empty home folder; what differs between runs is shortened as in the guides.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::runner::features;
use crate::shell::{self, cargo, print_line, root};

/// What is typed. Each command is also in a guide, where a test compares its output.
const COMMANDS: [&str; 4] = [
    "pintle rehearse ./greeter",
    "pintle install hello ./greeter --cluster embedded:try.db --wait",
    "pintle plan upgrade hello ./greeter --set greeting=Ahoy --cluster embedded:try.db",
    "pintle list --cluster embedded:try.db",
];

/// The most lines of output that are shown of one command, and the most characters of a line.
const LINES: usize = 9;
const WIDTH: usize = 92;

/// Seconds until the next command is typed, and for the last picture.
const PAUSE: f64 = 2.5;
const END: f64 = 6.0;

/// Pixels.
const LINE_HEIGHT: f64 = 19.0;
const CHARACTER: f64 = 8.0;

/// A line of the recording.
struct Line {
    text: String,
    is_typed: bool,
}

/// Runs `recording`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        bail!("usage: cargo xtask recording");
    }
    shell::run(
        cargo(&["build", "--quiet", "--workspace", "--bin", "pintle"]).args(features(&["--workspace"])),
    )?;
    let program = shell::program("debug/pintle")?;
    let home = tempfile::tempdir().context("cannot make a temporary folder")?;
    copy(&root().join("examples/charts/greeter"), &home.path().join("greeter"))?;
    let mut pages = Vec::new();
    for command in COMMANDS {
        pages.push((command, record(&program, command, home.path())?));
    }
    let path = root().join("docs/pictures/first-minute.svg");
    fs::write(&path, picture(&pages)).with_context(|| format!("cannot write {}", path.display()))?;
    print_line(&format!("recorded {}", path.display()));
    Ok(())
}

fn record(program: &Path, command: &str, home: &Path) -> Result<Vec<String>> {
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let mut process = Command::new(program);
    process.args(&words).env_clear().env("HOME", home).env("COLUMNS", WIDTH.to_string()).current_dir(home);
    let output = process.stdin(Stdio::null()).output().context("cannot run the program")?;
    // A plan with changes exits with 2.
    let is_expected = output.status.code().is_some_and(|code| code == 0 || (code == 2 && words[0] == "plan"));
    if !is_expected {
        bail!("`{command}` ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(shortened(text.lines().map(str::trim_end).filter(|line| !line.is_empty())))
}

/// The beginning of an output, in the width of the picture.
fn shortened<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    let cut = |line: &str| match line.chars().count() > WIDTH {
        true => line.chars().take(WIDTH - 1).chain(['…']).collect(),
        false => line.to_owned(),
    };
    let all: Vec<String> = lines.map(|line| cut(&line.replace('\t', "  "))).collect();
    match all.len() > LINES {
        true => all[..LINES - 1].iter().cloned().chain(["…".to_owned()]).collect(),
        false => all,
    }
}

/// The picture: each command appears with its output below the one before; where there is no animation, all are shown.
fn picture(pages: &[(&str, Vec<String>)]) -> String {
    let (mut lines, mut starts) = (Vec::new(), Vec::new());
    for (at, (command, output)) in pages.iter().enumerate() {
        let start = at as f64 * PAUSE;
        lines.push(Line { text: format!("$ {command}"), is_typed: true });
        starts.push(start);
        for line in output {
            lines.push(Line { text: line.clone(), is_typed: false });
            starts.push(start + 0.9);
        }
    }
    let whole = pages.len() as f64 * PAUSE + END;
    let (width, height) = (WIDTH as f64 * CHARACTER + 32.0, lines.len() as f64 * LINE_HEIGHT + 28.0);
    let mut body = String::new();
    for (at, (line, start)) in lines.iter().zip(&starts).enumerate() {
        let class = if line.is_typed { "typed" } else { "shown" };
        let y = at as f64 * LINE_HEIGHT + 28.0;
        // What is there from the beginning does not appear.
        let style = match *start > 0.0 {
            true => format!(" style=\"animation-name:at{}\"", (start * 10.0).round()),
            false => String::new(),
        };
        body.push_str(&format!(
            "<text class=\"{class}\" x=\"16\" y=\"{y:.0}\"{style}>{}</text>\n",
            escape(&line.text)
        ));
    }
    let mut names: Vec<u32> = starts.iter().map(|start| (start * 10.0).round() as u32).collect();
    names.dedup();
    let frames: String = names
        .iter()
        .map(|name| {
            let share = f64::from(*name) / 10.0 / whole * 100.0;
            format!(
                "@keyframes at{name}{{0%,{share:.2}%{{opacity:0}}{:.2}%,100%{{opacity:1}}}}\n",
                share + 0.1
            )
        })
        .collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\
         <title>A recording of a terminal</title>\n<style>\n\
         .back{{fill:#10151c;stroke:#323b46}}text{{font:13px ui-monospace,\"DejaVu Sans Mono\",monospace;white-space:pre;fill:#c6d0db}}\
         .typed{{fill:#85bdff;font-weight:600}}\n\
         @media (prefers-reduced-motion:no-preference){{text{{animation:{whole:.1}s linear infinite}}}}\n{frames}</style>\n\
         <rect class=\"back\" x=\"1\" y=\"1\" width=\"{:.0}\" height=\"{:.0}\" rx=\"8\"/>\n{body}</svg>\n",
        width - 2.0,
        height - 2.0
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &target)?,
            false => fs::copy(entry.path(), &target).map(drop)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_output_is_cut_and_says_so() {
        let long = "x".repeat(WIDTH + 1);
        let lines = shortened([long.as_str(); LINES + 1].into_iter());
        assert_eq!(lines.len(), LINES);
        assert_eq!(lines[0].chars().count(), WIDTH);
        assert!(lines[0].ends_with('…'));
        assert_eq!(lines[LINES - 1], "…");
    }

    #[test]
    fn the_picture_on_the_first_page_shows_these_commands() {
        let picture =
            fs::read_to_string(root().join("docs/pictures/first-minute.svg")).expect("it was recorded");
        for command in COMMANDS {
            assert!(picture.contains(&format!(">$ {}<", escape(command))), "record it again: {command}");
        }
        assert!(!picture.contains("error:"), "a recording of a failure");
    }
}
