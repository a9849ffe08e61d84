//! Links between pages: where each leads on the site, and whether it leads anywhere.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::HeadingLevel;

use crate::shell::root;
use crate::site::contents::Page;
use crate::site::{markdown, relative};

/// Where files that are not on the site can be read.
const SOURCES: &str = "https://github.com/pintle-dev/pintle/tree/main";

/// Every place that a link can lead to.
pub(super) struct Targets {
    /// The page of each source file.
    pages: BTreeMap<String, String>,
    /// The page that has an anchor of a source file.
    anchors: BTreeMap<(String, String), String>,
    /// All pages of the site.
    urls: Vec<String>,
}

impl Targets {
    pub(super) fn of(pages: &[Page]) -> Targets {
        let mut targets = Targets { pages: BTreeMap::new(), anchors: BTreeMap::new(), urls: Vec::new() };
        for page in pages {
            targets.pages.entry(page.source.clone()).or_insert_with(|| page.url.clone());
            targets.urls.push(page.url.clone());
            for heading in markdown::headings(&page.text) {
                let is_title = heading.level == HeadingLevel::H1;
                let url =
                    if is_title { page.url.clone() } else { format!("{}#{}", page.url, heading.anchor) };
                targets.anchors.entry((page.source.clone(), heading.anchor)).or_insert(url);
            }
        }
        targets
    }

    /// The address of a link on a page.
    ///
    /// # Errors
    /// For one that leads nowhere.
    pub(super) fn resolve(&self, page: &Page, link: &str) -> Result<String, String> {
        if link.contains("://") || link.starts_with("mailto:") {
            return Ok(link.to_owned());
        }
        if let Some(name) = link.strip_prefix("site:") {
            return Ok(name.to_owned());
        }
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let source = match path {
            "" => page.source.clone(),
            path => normalized(&Path::new(&page.source).parent().unwrap_or(Path::new("")).join(path)),
        };
        let broken = |what: &str| format!("{}: {link}: {what}", page.source);
        let Some(url) = self.pages.get(&source) else {
            return match root().join(&source).exists() {
                true => Ok(format!("{SOURCES}/{source}")),
                false => Err(broken("no such file")),
            };
        };
        if anchor.is_empty() {
            return Ok(relative(&page.url, url));
        }
        let key = (source, anchor.to_owned());
        let found = self.anchors.get(&key).ok_or_else(|| broken("no such heading"))?;
        Ok(relative(&page.url, found))
    }

    /// Whether the site has a page.
    #[cfg(test)]
    fn has(&self, url: &str) -> bool {
        self.urls.iter().any(|known| known == url)
    }
}

/// A path without `.` and `..`.
fn normalized(path: &Path) -> String {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            Component::Normal(name) => clean.push(name),
            _ => {}
        }
    }
    clean.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(source: &str, url: &str, text: &str) -> Page {
        let (title, text) = (String::new(), text.to_owned());
        Page { section: "", title, source: source.to_owned(), url: url.to_owned(), text, is_part: false }
    }

    #[test]
    fn links_lead_to_pages_to_sources_or_are_broken() {
        let pages = [
            page("docs/guide/a.md", "guide/a.html", "# A\n## Part\n"),
            page("LONG.md", "long.html", "# Long\n"),
            page("LONG.md", "long/end.html", "# The end\n### Detail\n"),
        ];
        let targets = Targets::of(&pages);
        let resolve = |link| targets.resolve(&pages[0], link);
        assert_eq!(resolve("../../LONG.md#detail").as_deref(), Ok("../long/end.html#detail"));
        assert_eq!(resolve("../../LONG.md#the-end").as_deref(), Ok("../long/end.html"));
        assert_eq!(resolve("#part").as_deref(), Ok("../guide/a.html#part"));
        assert_eq!(resolve("../../Cargo.toml"), Ok(format!("{SOURCES}/Cargo.toml")));
        assert_eq!(resolve("https://a.example/b"), Ok("https://a.example/b".to_owned()));
        assert!(resolve("#gone").is_err_and(|text| text.contains("no such heading")));
        assert!(resolve("gone.md").is_err_and(|text| text.contains("no such file")));
        assert!(targets.has("long/end.html"));
    }
}
