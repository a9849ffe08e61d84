//! Markdown to HTML, with the anchors that GitHub gives to headings, so that links work there and here.

use std::collections::BTreeMap;

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

use crate::site::contents::Page;
use crate::site::links::Targets;

/// A heading of a page.
pub(super) struct Heading {
    pub(super) level: HeadingLevel,
    pub(super) text: String,
    pub(super) anchor: String,
    /// The plain text below it, for the search.
    pub(super) body: String,
}

/// What a page became.
pub(super) struct Rendered {
    pub(super) html: String,
    pub(super) headings: Vec<Heading>,
}

/// Renders a page; links that lead nowhere are added to the problems.
pub(super) fn render(page: &Page, targets: &Targets, problems: &mut Vec<String>) -> Rendered {
    let headings = headings(&page.text);
    let mut anchors = headings.iter().map(|heading| heading.anchor.clone());
    let events = parser(&page.text).filter_map(|event| match event {
        // Comments say how the commands of a page are tested.
        Event::Html(_)
        | Event::InlineHtml(_)
        | Event::Start(Tag::HtmlBlock)
        | Event::End(TagEnd::HtmlBlock) => None,
        Event::Start(Tag::Heading { level, classes, attrs, .. }) => {
            let id = anchors.next().map(CowStr::from);
            Some(Event::Start(Tag::Heading { level, id, classes, attrs }))
        }
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = match targets.resolve(page, &dest_url) {
                Ok(url) => url.into(),
                Err(problem) => {
                    problems.push(problem);
                    dest_url
                }
            };
            Some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
        }
        Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
            let name = dest_url.rsplit('/').next().unwrap_or_default();
            let dest_url = super::relative(&page.url, &format!("pictures/{name}")).into();
            Some(Event::Start(Tag::Image { link_type, dest_url, title, id }))
        }
        // Wide tables scroll by themselves; the page does not.
        Event::Start(Tag::Table(_)) | Event::End(TagEnd::Table) => Some(event),
        other => Some(other),
    });
    let mut text = String::new();
    html::push_html(&mut text, events);
    let text = text
        .replace("<table>", "<div class=\"table\" tabindex=\"0\"><table>")
        .replace("</table>", "</table></div>");
    let text = text.replace("<pre>", "<pre tabindex=\"0\">");
    Rendered { html: prompts(&text), headings }
}

/// Marks what is typed in fences that also show output.
fn prompts(html: &str) -> String {
    let mut inside = false;
    let mut text = String::with_capacity(html.len());
    for line in html.split_inclusive('\n') {
        inside |= line.contains("<code class=\"language-console\">");
        match line.rfind("$ ").filter(|at| inside && (*at == 0 || line[..*at].ends_with("console\">"))) {
            Some(at) => {
                let (before, typed) = line.split_at(at);
                let typed = typed.trim_end_matches('\n');
                text.push_str(&format!("{before}<b>{typed}</b>\n"));
            }
            None => text.push_str(line),
        }
        inside &= !line.contains("</code>");
    }
    text
}

/// The headings of a text with their anchors.
pub(super) fn headings(text: &str) -> Vec<Heading> {
    let mut found: Vec<Heading> = Vec::new();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    let mut open = false;
    for event in parser(text) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                open = true;
                found.push(Heading {
                    level,
                    text: String::new(),
                    anchor: String::new(),
                    body: String::new(),
                });
            }
            Event::End(TagEnd::Heading(_)) => {
                open = false;
                let Some(heading) = found.last_mut() else { continue };
                let slug = slug(&heading.text);
                let seen = count.entry(slug.clone()).or_default();
                heading.anchor = if *seen == 0 { slug } else { format!("{slug}-{seen}") };
                *seen += 1;
            }
            Event::Text(text) | Event::Code(text) => match found.last_mut() {
                Some(heading) if open => heading.text.push_str(&text),
                Some(heading) => {
                    heading.body.push_str(&text);
                    heading.body.push(' ');
                }
                None => {}
            },
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = found.last_mut() {
                    heading.body.push(' ');
                }
            }
            _ => {}
        }
    }
    found
}

fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
}

/// The anchor of a heading: lower case, without punctuation, with `-` for spaces.
pub(super) fn slug(text: &str) -> String {
    let kept = text.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// A line of Markdown without its marks.
pub(super) fn plain(line: &str) -> String {
    let words = parser(line).filter_map(|event| match event {
        Event::Text(text) | Event::Code(text) => Some(text.into_string()),
        _ => None,
    });
    words.collect()
}

/// Text for HTML.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_the_anchors_of_github() {
        let anchors = |text: &str| headings(text).into_iter().map(|one| one.anchor).collect::<Vec<_>>();
        assert_eq!(
            anchors("# The `irr` tool, v2\n## Same\n## Same\n"),
            ["the-irr-tool-v2", "same", "same-1"]
        );
        assert_eq!(slug("Order of objects (HIP-0025)"), "order-of-objects-hip-0025");
    }

    #[test]
    fn what_is_typed_is_marked() {
        let marked =
            prompts("<pre><code class=\"language-console\">$ ls\nno $ here\n</code></pre>\n<p>$ 5</p>\n");
        assert_eq!(
            marked,
            "<pre><code class=\"language-console\"><b>$ ls</b>\nno $ here\n</code></pre>\n<p>$ 5</p>\n"
        );
    }
}
