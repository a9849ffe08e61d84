//! The frame around a page: navigation, search, contents, neighbours.

use pulldown_cmark::HeadingLevel;

use crate::site::contents::Page;
use crate::site::markdown::{Rendered, escape};
use crate::site::{relative, sections};

/// A whole page of the site.
pub(super) fn page(pages: &[Page], at: usize, rendered: &Rendered) -> String {
    let page = &pages[at];
    let to = |url: &str| relative(&page.url, url);
    let title =
        if page.url == "index.html" { "Pintle".to_owned() } else { format!("{} · Pintle", page.title) };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <link rel=\"icon\" href=\"{icon}\">\n<link rel=\"stylesheet\" href=\"{style}\">\n\
         <script src=\"{script}\" defer></script>\n</head>\n<body data-root=\"{root}\">\n\
         <a class=\"skip\" href=\"#content\">Skip to the text</a>\n\
         <header><a class=\"name\" href=\"{home}\">Pintle</a>\n\
         <form role=\"search\"><input type=\"search\" name=\"q\" placeholder=\"Search ( / )\" aria-label=\"Search the documentation\" \
         autocomplete=\"off\"></form></header>\n\
         <div class=\"frame\">\n<nav aria-label=\"Pages\"><details id=\"menu\"><summary>Pages</summary>\n{navigation}</details></nav>\n\
         <main id=\"content\">\n<section id=\"results\" hidden aria-live=\"polite\"></section>\n\
         <article>\n{outline}{text}</article>\n{neighbours}</main>\n</div>\n</body>\n</html>\n",
        title = escape(&title),
        icon = to("pictures/icon.svg"),
        style = to("style.css"),
        script = to("site.js"),
        root = to(""),
        home = to("index.html"),
        navigation = navigation(pages, page),
        outline = outline(rendered),
        text = rendered.html,
        neighbours = neighbours(pages, at),
    )
}

fn navigation(pages: &[Page], current: &Page) -> String {
    let mut list = String::new();
    for (title, pages) in sections(pages) {
        list.push_str(&format!("<h2>{}</h2>\n<ul>\n", escape(title)));
        for page in pages.iter().filter(|page| !page.is_part || page.url == current.url) {
            let here = if page.url == current.url { " aria-current=\"page\"" } else { "" };
            let url = relative(&current.url, &page.url);
            list.push_str(&format!("<li><a href=\"{url}\"{here}>{}</a></li>\n", escape(&page.title)));
        }
        list.push_str("</ul>\n");
    }
    list
}

/// The headings of a page that has several.
fn outline(rendered: &Rendered) -> String {
    let parts: Vec<_> =
        rendered.headings.iter().filter(|heading| heading.level == HeadingLevel::H2).collect();
    if parts.len() < 3 {
        return String::new();
    }
    let link = |heading: &&crate::site::markdown::Heading| {
        format!("<li><a href=\"#{}\">{}</a></li>\n", heading.anchor, escape(&heading.text))
    };
    let list: String = parts.iter().map(link).collect();
    format!("<details class=\"outline\"><summary>On this page</summary>\n<ul>\n{list}</ul></details>\n")
}

fn neighbours(pages: &[Page], at: usize) -> String {
    let link = |page: &Page, relation: &str, text: &str| {
        let url = relative(&pages[at].url, &page.url);
        format!("<a rel=\"{relation}\" href=\"{url}\">{text}{}</a>\n", escape(&page.title))
    };
    let before = at.checked_sub(1).map(|before| link(&pages[before], "prev", "Before: "));
    let after = pages.get(at + 1).map(|page| link(page, "next", "Next: "));
    let links = before.unwrap_or_default() + &after.unwrap_or_default();
    format!("<footer>\n{links}</footer>\n")
}
