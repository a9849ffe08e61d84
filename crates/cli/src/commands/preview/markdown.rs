//! The report of `preview` as comments of a pull request.

use pintle::ops::{AppChange, AppStatus, ObjectChange, ObjectChangeKind, PreviewReport};

use crate::output::grid::counted;

use super::text::{cause_text, lines, named, sign, summary, title, value};

/// The comments; none is longer than `most` characters. They are split between objects, and what does not fit is named.
pub(super) fn comments((base, head): (&str, &str), report: &PreviewReport, most: usize) -> Vec<String> {
    let mut pages = Pages { most, done: Vec::new(), page: String::new() };
    pages.add(&format!(
        "## Preview\n\n{}; {}, `{base}` → `{head}`\n\n",
        summary(report),
        counted(report.rendered, "app")
    ));
    let failed: Vec<&AppChange> = report.not_rendered().collect();
    if !failed.is_empty() {
        pages.add(&format!("### Not rendered ({})\n\n", failed.len()));
        for app in failed {
            if let AppStatus::NotRendered { reason, .. } = &app.status {
                pages.add(&format!(
                    "- {}: {} (`{}`)\n",
                    plain(&app.id.to_string()),
                    plain(reason),
                    app.place
                ));
            }
        }
        pages.add("\n");
    }
    let dangers = report.dangers();
    if !dangers.is_empty() {
        pages.add(&format!("### Dangers ({})\n\n", dangers.len()));
        for (app, danger) in dangers {
            pages.add(&format!(
                "- **{}**: {} ({})\n",
                danger.kind.name(),
                plain(&danger.text),
                plain(&app.id.to_string())
            ));
        }
        pages.add("\n");
    }
    for app in report.apps.iter().filter(|app| !matches!(app.status, AppStatus::NotRendered { .. })) {
        add_app(&mut pages, app);
    }
    let new: Vec<String> = report
        .notes
        .iter()
        .filter(|(is_new, _)| *is_new)
        .map(|(_, note)| format!("- {}\n", plain(&note.to_string())))
        .collect();
    if !new.is_empty() {
        pages.add(&format!("### Not understood or left out\n\n{}", new.concat()));
    }
    pages.finish()
}

fn add_app(pages: &mut Pages, app: &AppChange) {
    let state = match app.status {
        AppStatus::Added => " (new)",
        AppStatus::Removed => " (removed)",
        _ => "",
    };
    pages.add(&format!(
        "### {}{state}\n\n{} (`{}`)\n\n",
        plain(&app.id.to_string()),
        plain(&app.what),
        app.place
    ));
    let (routine, others): (Vec<&ObjectChange>, Vec<&ObjectChange>) =
        app.objects.iter().partition(|object| object.is_routine);
    for object in others {
        pages.add(&object_text(object));
    }
    if !routine.is_empty() {
        pages.add(&format!("Only chart labels, checksums and images: {}\n\n", plain(&named(&routine))));
    }
    let mut list = String::new();
    for note in &app.upgrade {
        list.push_str(&format!(
            "- upgrade, {}: {}: {}\n",
            note.severity,
            plain(&note.subject),
            plain(&note.message)
        ));
    }
    for finding in &app.findings {
        list.push_str(&format!(
            "- check, {}: {}: {}\n",
            finding.severity,
            plain(&finding.object),
            plain(&finding.message)
        ));
    }
    for line in app.rehearsal.iter().flatten() {
        list.push_str(&format!("- rehearsed: {}\n", plain(line)));
    }
    if !list.is_empty() {
        pages.add(&format!("{list}\n"));
    }
}

fn object_text(object: &ObjectChange) -> String {
    let mut out =
        format!("<details open><summary>{} {}</summary>\n\n", sign(object.kind), plain(&title(object)));
    if object.kind == ObjectChangeKind::Changed {
        out.push_str("```diff\n");
        for field in &object.fields {
            out.push_str(&format!("@@ {} @@\n", fenced(&field.name)));
            match lines(field) {
                Some(lines) => lines.iter().for_each(|line| out.push_str(&format!("{}\n", fenced(line)))),
                None => {
                    if field.old.is_some() {
                        out.push_str(&format!("- {}\n", fenced(&value(field, true))));
                    }
                    if field.new.is_some() {
                        out.push_str(&format!("+ {}\n", fenced(&value(field, false))));
                    }
                }
            }
        }
        out.push_str("```\n");
    }
    let causes = object.fields.iter().flat_map(|field| &field.causes).chain(&object.causes);
    let mut texts: Vec<String> = causes.map(cause_text).collect();
    texts.sort();
    texts.dedup();
    texts.iter().for_each(|text| out.push_str(&format!("- because {}\n", plain(text))));
    out.push_str("\n</details>\n\n");
    out
}

/// A text that has no meaning for Markdown: names and values come from the repository.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '!' => {
                out.push('\\');
                out.push(character);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            // Nobody is to be called by a name in a value.
            '@' => out.push_str("@\u{200b}"),
            '\n' | '\r' => out.push(' '),
            character => out.push(character),
        }
    }
    out
}

/// A line that cannot end the block it is in.
fn fenced(line: &str) -> String {
    line.replace("```", "`\u{200b}``").replace(['\n', '\r'], " ")
}

struct Pages {
    most: usize,
    done: Vec<String>,
    page: String,
}

impl Pages {
    fn add(&mut self, part: &str) {
        // Room for the line about what follows.
        let room = self.most.saturating_sub(100);
        if !self.page.is_empty() && self.page.chars().count() + part.chars().count() > room {
            self.done.push(std::mem::take(&mut self.page));
        }
        match part.chars().count() > room {
            false => self.page.push_str(part),
            true => {
                let title: String = part.lines().next().unwrap_or_default().chars().take(200).collect();
                self.page.push_str(&format!("{title}\n\nToo long to be shown here.\n\n"));
                if part.contains("</summary>") {
                    self.page.push_str("</details>\n\n");
                }
            }
        }
    }

    fn finish(mut self) -> Vec<String> {
        self.done.push(self.page);
        let all = self.done.len();
        if all > 1 {
            for (index, page) in self.done.iter_mut().enumerate() {
                page.push_str(&format!("\nPart {} of {all}.\n", index + 1));
            }
        }
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_split_between_parts_and_what_is_too_long_is_named() {
        let mut pages = Pages { most: 2_000, done: Vec::new(), page: String::new() };
        for index in 0..10 {
            pages.add(&format!("### part {index}\n{}\n", "x".repeat(400)));
        }
        pages.add(&format!("### large\n{}\n", "y".repeat(5_000)));
        let pages = pages.finish();
        assert!(pages.len() > 2 && pages.iter().all(|page| page.chars().count() <= 2_000));
        assert!(pages.concat().contains("### large\n\nToo long"));
        assert!(pages[0].ends_with(&format!("Part 1 of {}.\n", pages.len())));
    }

    #[test]
    fn values_have_no_meaning_for_markdown() {
        assert_eq!(plain("<script>@all *x*"), "&lt;script&gt;@\u{200b}all \\*x\\*");
        assert!(!fenced("```\nend").contains("```"));
    }
}
