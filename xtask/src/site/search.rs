//! The index of the search: every section with its text. It is a script and not data, because pages that are read from a
//! disk may load no data.

use anyhow::Result;
use pulldown_cmark::HeadingLevel;
use serde_json::{Value, json};

use crate::site::contents::Page;
use crate::site::markdown::Rendered;

/// All sections of all pages.
#[derive(Default)]
pub(super) struct Index {
    sections: Vec<Value>,
}

/// The text of a section that is searched; what is longer is a table of which the beginning says enough.
const LONGEST: usize = 2_000;

impl Index {
    pub(super) fn add(&mut self, page: &Page, rendered: &Rendered) {
        // Reasons of decisions and lists for contributors would hide the pages for users.
        if page.source.starts_with("docs/contributing") || page.source.starts_with("docs/decisions") {
            return;
        }
        for heading in &rendered.headings {
            let url = match heading.level {
                HeadingLevel::H1 => page.url.clone(),
                _ => format!("{}#{}", page.url, heading.anchor),
            };
            let words: Vec<&str> = heading.body.split_whitespace().collect();
            let text: String = words.join(" ").chars().take(LONGEST).collect();
            self.sections.push(json!([url, page.title, heading.text, text]));
        }
    }

    pub(super) fn script(&self) -> Result<String> {
        Ok(format!("window.searchIndex = {};\n", serde_json::to_string(&self.sections)?))
    }
}
