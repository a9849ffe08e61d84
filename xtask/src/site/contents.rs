//! Which pages the site has, and in which order.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::shell::root;
use crate::site::markdown::{self, slug};

/// A part of the navigation.
pub(super) struct Section {
    pub(super) title: &'static str,
    /// Sources, relative to the root of the repository.
    sources: &'static [Source],
}

/// Where pages come from.
enum Source {
    /// One page.
    Page(&'static str),
    /// A page that is too long for one: its sections become pages of their own.
    Split(&'static str),
    /// All pages of a folder, by name.
    Folder(&'static str),
}

use Source::{Folder, Page as One, Split};

/// The navigation.
pub(super) const SECTIONS: &[Section] = &[
    Section {
        title: "Start",
        sources: &[
            One("docs/start.md"),
            One("docs/install.md"),
            One("docs/guide/first-release.md"),
            One("docs/guide/embedded.md"),
            One("docs/how-it-works.md"),
        ],
    },
    Section {
        title: "Coming from",
        sources: &[
            One("docs/guide/coming-from-helm.md"),
            One("docs/guide/coming-from-helm-3.md"),
            One("docs/guide/coming-from-flux.md"),
            One("docs/guide/coming-from-argo-cd.md"),
            One("docs/guide/coming-from-helmfile.md"),
            One("docs/guide/coming-from-nelm.md"),
        ],
    },
    Section {
        title: "Operate releases",
        sources: &[
            One("docs/guide/diff.md"),
            One("docs/guide/preview.md"),
            One("docs/guide/upgrade-check.md"),
            One("docs/guide/storage.md"),
            One("docs/guide/hooks.md"),
            One("docs/guide/ui.md"),
            One("docs/guide/controller.md"),
            One("docs/guide/request-sets.md"),
            One("docs/guide/troubleshooting.md"),
        ],
    },
    Section {
        title: "Write charts",
        sources: &[
            One("docs/guide/best-practices.md"),
            One("docs/guide/check.md"),
            One("docs/guide/unittest.md"),
            One("docs/guide/editor.md"),
            One("docs/guide/readme-of-charts.md"),
            One("docs/guide/lua.md"),
        ],
    },
    Section {
        title: "Ship charts",
        sources: &[
            One("docs/guide/ci.md"),
            One("docs/guide/chart-testing.md"),
            One("docs/guide/signing.md"),
            One("docs/guide/images.md"),
            One("docs/guide/air-gap.md"),
        ],
    },
    Section {
        title: "Extend",
        sources: &[
            One("docs/guide/plugins.md"),
            One("docs/guide/lua-plugins.md"),
            One("docs/guide/library.md"),
        ],
    },
    Section {
        title: "Reference",
        sources: &[
            Split("docs/reference/commands.md"),
            One("docs/reference/helm-request.md"),
            One("docs/reference/annotations.md"),
            One("docs/reference/environment.md"),
            One("docs/reference/exit-codes.md"),
            One("docs/reference/lua.md"),
            One("docs/reference/rbac.md"),
            One("docs/reference/controller-budgets.md"),
            One("docs/reference/ui.md"),
        ],
    },
    Section { title: "Compatibility", sources: &[Split("COMPATIBILITY.md")] },
    Section {
        title: "Project",
        sources: &[
            One("docs/faq.md"),
            One("docs/glossary.md"),
            One("SECURITY.md"),
            One("CHANGELOG.md"),
            One("ARCHITECTURE.md"),
            One("CONTRIBUTING.md"),
            One("GOVERNANCE.md"),
            One("CODE_OF_CONDUCT.md"),
            One("crates/README.md"),
            Folder("docs/contributing"),
            Folder("docs/decisions"),
        ],
    },
];

/// Pages of `docs` that are for readers of the repository: on the site, the navigation does the same.
const ONLY_IN_THE_REPOSITORY: [&str; 2] = ["docs/README.md", "docs/guide/README.md"];

/// A page of the site.
pub(super) struct Page {
    pub(super) section: &'static str,
    pub(super) title: String,
    /// The file that it is made from.
    pub(super) source: String,
    /// Its path on the site.
    pub(super) url: String,
    pub(super) text: String,
    /// Whether the navigation leaves it out, because the page before it lists it.
    pub(super) is_part: bool,
}

/// Reads all pages, and refuses pages of `docs` that no section has.
pub(super) fn read() -> Result<Vec<Page>> {
    let mut pages = Vec::new();
    for section in SECTIONS {
        for source in section.sources {
            match source {
                One(path) => pages.push(page(section.title, path)?),
                Split(path) => pages.extend(split(page(section.title, path)?)),
                Folder(path) => {
                    for path in pages_in(path)? {
                        pages.push(Page { is_part: true, ..page(section.title, &path)? });
                    }
                }
            }
        }
    }
    let known: BTreeSet<&str> = pages.iter().map(|page| page.source.as_str()).collect();
    for folder in ["docs", "docs/guide", "docs/reference"] {
        for path in pages_in(folder)? {
            if !known.contains(path.as_str()) && !ONLY_IN_THE_REPOSITORY.contains(&path.as_str()) {
                bail!("{path} is not in the contents of the site (xtask/src/site/contents.rs)");
            }
        }
    }
    Ok(pages)
}

fn pages_in(folder: &str) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(root().join(folder)).with_context(|| format!("cannot read {folder}"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            paths.push(format!("{folder}/{name}"));
        }
    }
    paths.sort();
    Ok(paths)
}

fn page(section: &'static str, source: &str) -> Result<Page> {
    let text = fs::read_to_string(root().join(source)).with_context(|| format!("cannot read {source}"))?;
    let first = text.lines().find_map(|line| line.strip_prefix("# "));
    let title = markdown::plain(first.with_context(|| format!("{source} has no title"))?);
    Ok(Page { section, title, source: source.to_owned(), url: url_of(source), text, is_part: false })
}

fn url_of(source: &str) -> String {
    if source == "docs/start.md" {
        return "index.html".to_owned();
    }
    let path = source.strip_prefix("docs/").unwrap_or(source);
    path.to_lowercase().replace("readme.md", "index.md").replace(".md", ".html")
}

/// The beginning of a page with a list of its sections, and each of these. Sections that begin with the same two words, which
/// are a command and its subcommands, stay together.
fn split(page: Page) -> Vec<Page> {
    let folder = page.url.trim_end_matches(".html").to_owned();
    let mut blocks = page.text.split("\n## ");
    let head = blocks.next().unwrap_or_default().to_owned();
    let mut parts: Vec<Page> = Vec::new();
    for block in blocks {
        let heading = markdown::plain(block.lines().next().unwrap_or_default());
        let joins = parts.last_mut().filter(|last| heading.starts_with(&format!("{} ", last.title)));
        match joins.filter(|last| last.title.contains(' ')) {
            Some(last) => last.text.push_str(&format!("\n## {block}")),
            None => parts.push(Page {
                section: page.section,
                url: format!("{folder}/{}.html", slug(&heading)),
                title: heading,
                source: page.source.clone(),
                text: format!("# {block}"),
                is_part: true,
            }),
        }
    }
    let name = folder.rsplit('/').next().unwrap_or_default();
    let list: String = parts
        .iter()
        .map(|part| {
            let file = part.url.rsplit('/').next().unwrap_or_default();
            format!("- [{}](site:{name}/{file})\n", part.title)
        })
        .collect();
    let mut pages = vec![Page { text: format!("{head}\n\n{list}"), ..page }];
    pages.append(&mut parts);
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_page_becomes_one_per_section_and_keeps_subcommands_together() {
        let long = Page {
            section: "Reference",
            title: "Commands".to_owned(),
            source: "docs/reference/commands.md".to_owned(),
            url: "reference/commands.html".to_owned(),
            text: "# Commands\n\n## pintle\n\nall\n\n## pintle plan\n\na\n\n## pintle plan show\n\nb\n\n## pintle pull\n"
                .to_owned(),
            is_part: false,
        };
        let pages = split(long);
        let urls: Vec<&str> = pages.iter().map(|page| page.url.as_str()).collect();
        let folder = "reference/commands";
        let expected = ["pintle", "pintle-plan", "pintle-pull"].map(|name| format!("{folder}/{name}.html"));
        assert_eq!(urls[0], "reference/commands.html");
        assert_eq!(urls[1..], expected);
        assert!(pages[0].text.contains("- [pintle plan](site:commands/pintle-plan.html)"));
        assert!(
            pages[2].text.contains("# pintle plan\n") && pages[2].text.contains("\n## pintle plan show\n")
        );
    }
}
