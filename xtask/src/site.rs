//! `site`: the documentation as a web site: one folder of files that works from a server and from a disk, without a network.
//! The pages are those of the repository; [`contents::SECTIONS`] is the order in which they are offered.

mod browser;
mod contents;
mod layout;
mod links;
mod markdown;
mod search;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::dist::archive::{self, Entry};
use crate::shell::{print_line, root};
use crate::site::contents::{Page, SECTIONS};
use crate::steps::Outcome;

/// The files that every page uses.
const ASSETS: [(&str, &str); 2] = [
    ("style.css", include_str!("../../docs/theme/style.css")),
    ("site.js", include_str!("../../docs/theme/site.js")),
];

/// Runs `site [--output FOLDER] [--browser]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut folder = root().join("target/site");
    let mut in_browser = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--output" => folder = words.next().context("--output needs a folder")?.into(),
            "--browser" => in_browser = true,
            _ => bail!("usage: cargo xtask site [--output FOLDER] [--browser]"),
        }
    }
    let files = files()?;
    write(&files, &folder)?;
    let size: usize = files.values().map(Vec::len).sum();
    print_line(&format!("{} files, {:.1} MB in {}", files.len(), size as f64 / 1e6, folder.display()));
    if in_browser {
        browser::check(&files)?
    } else {
        return Ok(());
    };
    print_line("the browser found nothing wrong");
    Ok(())
}

/// Reads the site in a browser, where one is installed.
pub(crate) fn in_browser() -> Result<Outcome> {
    if browser::program().is_none() {
        return Ok(Outcome::skipped("no browser is installed; Debian's package is `chromium`"));
    }
    browser::check(&files()?).map(|()| Outcome::Passed)
}

/// Compares links and contents without writing anything; a step of every check.
pub(crate) fn check() -> Result<()> {
    files().map(drop)
}

/// The site as an archive, for reading without a network.
pub(crate) fn packed(version: &str, epoch: u64) -> Result<Vec<u8>> {
    let entry = |(path, content)| Entry::file(format!("pintle-docs-v{version}/{path}"), content);
    let entries: Vec<Entry> = files()?.into_iter().map(entry).collect();
    archive::tar_gz(&entries, epoch)
}

/// All files of the site by path.
fn files() -> Result<BTreeMap<String, Vec<u8>>> {
    let pages = contents::read()?;
    let targets = links::Targets::of(&pages);
    let mut problems = Vec::new();
    let mut files = BTreeMap::new();
    let mut index = search::Index::default();
    for (at, page) in pages.iter().enumerate() {
        let rendered = markdown::render(page, &targets, &mut problems);
        index.add(page, &rendered);
        files.insert(page.url.clone(), layout::page(&pages, at, &rendered).into_bytes());
    }
    if !problems.is_empty() {
        bail!("{} broken links:\n{}", problems.len(), problems.join("\n"));
    }
    files.insert("search-index.js".to_owned(), index.script()?.into_bytes());
    for (name, text) in ASSETS {
        files.insert(name.to_owned(), text.as_bytes().to_vec());
    }
    for entry in fs::read_dir(root().join("docs/pictures")).context("there are no pictures")? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let content = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        files.insert(format!("pictures/{name}"), content);
    }
    Ok(files)
}

/// Replaces the folder, so that no page of an earlier build is left.
fn write(files: &BTreeMap<String, Vec<u8>>, folder: &Path) -> Result<()> {
    let is_ours = !folder.exists() || folder.join("search-index.js").is_file() || is_empty(folder);
    if !is_ours {
        bail!("{} has other files; name a folder of its own", folder.display());
    }
    let _ = fs::remove_dir_all(folder);
    for (path, content) in files {
        let path: PathBuf = folder.join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// The path from one page to another, relative so that the site works in any folder.
fn relative(from: &str, to: &str) -> String {
    let depth = from.matches('/').count();
    "../".repeat(depth) + to
}

/// The sections of the navigation with the pages of each.
fn sections(pages: &[Page]) -> impl Iterator<Item = (&'static str, Vec<&Page>)> {
    SECTIONS
        .iter()
        .map(|section| (section.title, pages.iter().filter(|page| page.section == section.title).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_has_no_broken_links_and_needs_no_other_server() {
        let files = files().expect("the site is built");
        assert!(files.contains_key("index.html"));
        for (path, content) in files.iter().filter(|(path, _)| path.ends_with(".html")) {
            let text = String::from_utf8_lossy(content);
            assert!(!text.contains("src=\"http") && !text.contains("@import"), "{path} loads from elsewhere");
            assert_eq!(text.matches("<h1").count(), 1, "{path} has one title");
        }
        let styles = String::from_utf8_lossy(&files["style.css"]);
        assert!(
            !styles.contains("url(") && !styles.contains("@font-face"),
            "no fonts and pictures are loaded"
        );
    }

    #[test]
    fn a_folder_with_other_files_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("thesis.txt"), "years of work").expect("written");
        let files = BTreeMap::from([("search-index.js".to_owned(), Vec::new())]);
        assert!(write(&files, folder.path()).is_err());
        let own = folder.path().join("site");
        for _ in 0..2 {
            write(&files, &own).expect("written");
        }
        assert!(folder.path().join("thesis.txt").is_file());
    }

    #[test]
    fn paths_between_pages_are_relative() {
        assert_eq!(relative("index.html", "guide/a.html"), "guide/a.html");
        assert_eq!(relative("reference/commands/plan.html", "style.css"), "../../style.css");
    }
}
