//! The template line in which an image is hard-coded, for reports of what values cannot change.

use std::fmt;

use pintle_chart::Chart;

use crate::provenance::name_of;

/// A line of a template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TemplateLine {
    /// The template path including its chart.
    pub template: String,
    /// The line, counted from one.
    pub line: usize,
}

impl fmt::Display for TemplateLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.template, self.line)
    }
}

/// Finds the line in which an image rendered by `template` is most likely hard-coded: the one with the longest part
/// of the image. The template itself is preferred over templates that only provide definitions.
pub(crate) fn find(chart: &Chart, template: &str, image: &str) -> Option<TemplateLine> {
    let mut templates = Vec::new();
    collect(chart, chart.name().to_owned(), &mut templates);
    let own = template.rsplit_once("/templates/").map_or("", |(chart, _)| chart);
    // The template itself, then its chart's templates, then those of other charts.
    templates.sort_by_key(|(path, _)| {
        (path != template, !path.starts_with(&format!("{own}/templates/")), path.clone())
    });
    for needle in needles(image) {
        for (path, text) in &templates {
            if let Some(line) = line_of(text, needle) {
                return Some(TemplateLine { template: path.clone(), line });
            }
        }
    }
    let (path, text) = templates.iter().find(|(path, _)| path == template)?;
    let line = text.lines().position(|line| line.contains("image:"))? + 1;
    Some(TemplateLine { template: path.clone(), line })
}

/// The texts to search for, most specific first.
fn needles(image: &str) -> Vec<&str> {
    const SHORT: usize = 3;
    let name = name_of(image);
    let mut needles = vec![image, name];
    if let Some((front, path)) = name.split_once('/') {
        needles.push(path);
        if front.contains(['.', ':']) {
            needles.push(front);
        }
    }
    needles.extend(name.rsplit('/').next());
    needles.retain(|needle| needle.len() >= SHORT);
    needles
}

/// The first line with the text; lines that mention images are preferred.
fn line_of(text: &str, needle: &str) -> Option<usize> {
    let lines = || text.lines().enumerate().filter(|(_, line)| line.contains(needle) && !is_comment(line));
    let speaks = |line: &str| line.to_ascii_lowercase().contains("image");
    lines().find(|(_, line)| speaks(line)).or_else(|| lines().next()).map(|(index, _)| index + 1)
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with('#') || line.starts_with("{{/*") || line.starts_with("{{- /*")
}

fn collect(chart: &Chart, path: String, into: &mut Vec<(String, String)>) {
    for file in &chart.templates {
        into.push((format!("{path}/{}", file.name), file.data.text().to_str_lossy().into_owned()));
    }
    for child in &chart.subcharts {
        collect(child, format!("{path}/charts/{}", child.name()), into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_part_on_a_line_about_images_is_meant() {
        let text = "# image: busybox:1\nname: busybox\ncommand: busybox:1\nimage: busybox:1\n";
        assert_eq!(line_of(text, "busybox:1"), Some(4));
        assert_eq!(line_of(text, "busybox"), Some(4));
        assert_eq!(line_of("x: busybox\n", "busybox"), Some(1));
        assert_eq!(needles("quay.io/a/b:1"), ["quay.io/a/b:1", "quay.io/a/b", "a/b", "quay.io"]);
    }
}
