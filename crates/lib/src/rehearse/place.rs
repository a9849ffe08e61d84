//! Where something is: from the path of a field to a line of the rendered document, and from there to the template.

use pintle_chart::Chart;

/// A rendered document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Document {
    /// The template that it comes from.
    pub(super) file: String,
    pub(super) text: String,
}

/// The documents of a manifest.
pub(super) fn documents(manifest: &str) -> Vec<Document> {
    let mut all: Vec<Document> = Vec::new();
    let mut file = String::new();
    for line in manifest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            all.push(Document { file: file.clone(), text: String::new() });
        } else if let Some(path) = line.strip_prefix("# Source: ") {
            file = path.trim_end().to_owned();
            if let Some(last) = all.last_mut() {
                last.file.clone_from(&file);
            }
        } else if let Some(last) = all.last_mut() {
            last.text.push_str(line);
        }
    }
    all.retain(|document| !document.text.trim().is_empty());
    all
}

/// The parts of a path such as `spec.containers[0].image`.
fn steps(path: &str) -> Vec<Result<usize, String>> {
    let mut steps = Vec::new();
    for part in path.split(['.', '[']) {
        match part.strip_suffix(']') {
            Some(inside) => steps.push(inside.parse().map_err(|_| inside.trim_matches('"').to_owned())),
            None if part.is_empty() => {}
            None => steps.push(Err(part.to_owned())),
        }
    }
    steps
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The line of a field in a document in block style, counted from one; 0 if it is not found. A field that is not there
/// is where the nearest one around it is.
pub(super) fn line_of(text: &str, path: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let (mut at, mut depth, mut found) = (0, 0, 0);
    for step in steps(path) {
        let next = match step {
            Err(key) => find_key(&lines, at, depth, &key),
            Ok(number) => find_item(&lines, at, number),
        };
        let Some((line, column)) = next else { break };
        (at, depth, found) = (line, column, line + 1);
    }
    found
}

/// A key at `depth` or deeper, from line `from` on; with the column where what is below it may begin.
fn find_key(lines: &[&str], from: usize, depth: usize, key: &str) -> Option<(usize, usize)> {
    let mut level = None;
    for (index, line) in lines.iter().enumerate().skip(from) {
        let body = line.trim_start();
        if body.is_empty() || body.starts_with('#') {
            continue;
        }
        // An item of a list may begin with its first key.
        let (column, body) = match body.strip_prefix("- ") {
            Some(rest) => (indent(line) + 2 + indent(rest), rest.trim_start()),
            None => (indent(line), body),
        };
        if column < depth {
            if index > from {
                return None;
            }
            continue;
        }
        let level = *level.get_or_insert(column);
        let matches = [format!("{key}:"), format!("\"{key}\":"), format!("'{key}':")]
            .iter()
            .any(|word| body.starts_with(word.as_str()));
        if matches && column == level {
            return Some((index, column + 1));
        }
    }
    None
}

/// The item of a number in the list that begins after line `from`.
fn find_item(lines: &[&str], from: usize, number: usize) -> Option<(usize, usize)> {
    let mut column = None;
    let mut count = 0;
    for (index, line) in lines.iter().enumerate().skip(from + 1) {
        let body = line.trim_start();
        if !(body.starts_with("- ") || body == "-") {
            continue;
        }
        let column = *column.get_or_insert(indent(line));
        if indent(line) < column {
            return None;
        }
        if indent(line) == column {
            if count == number {
                return Some((index, column + 2));
            }
            count += 1;
        }
    }
    None
}

/// The line of the template that a rendered line comes from, if just one looks like it; else 0.
pub(super) fn line_in_template(chart: &Chart, document: &Document, rendered: usize) -> usize {
    let Some(line) = rendered.checked_sub(1).and_then(|index| document.text.lines().nth(index)) else {
        return 0;
    };
    let Some(source) = template(chart, &document.file) else { return 0 };
    let wanted = line.trim();
    let key = wanted.trim_start_matches("- ").split(':').next().unwrap_or_default();
    let like = |matches: &dyn Fn(&str) -> bool| {
        let mut found = source.lines().enumerate().filter(|(_, line)| matches(line.trim()));
        match (found.next(), found.next()) {
            (Some((index, _)), None) => index + 1,
            _ => 0,
        }
    };
    match like(&|line| line == wanted) {
        0 => like(&|line| {
            line.trim_start_matches("- ").strip_prefix(key).is_some_and(|rest| rest.starts_with(':'))
        }),
        line => line,
    }
}

/// The text of a template by its full path, as in `parent/charts/child/templates/x.yaml`.
fn template(chart: &Chart, path: &str) -> Option<String> {
    let (_, rest) = path.split_once('/')?;
    if let Some(rest) = rest.strip_prefix("charts/") {
        let name = rest.split('/').next()?;
        return chart
            .subcharts
            .iter()
            .filter(|child| child.name() == name)
            .find_map(|child| template(child, rest));
    }
    let file = chart.templates.iter().find(|file| file.name == rest)?;
    Some(String::from_utf8_lossy(&file.data).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: x\nspec:\n  template:\n    spec:\n      containers:\n        - name: a\n          image: b\n        - name: c\n          ports:\n          - containerPort: 1\n            nonsense: 2\n  replicas: 1\n";

    #[test]
    fn fields_are_found_by_their_paths() {
        assert_eq!(line_of(TEXT, "spec.replicas"), 15);
        assert_eq!(line_of(TEXT, "spec.template.spec.containers[1].name"), 11);
        assert_eq!(line_of(TEXT, "spec.template.spec.containers[1].ports[0].nonsense"), 14);
        assert_eq!(line_of(TEXT, "metadata.labels"), 3, "the nearest around it");
        assert_eq!(line_of(TEXT, "status"), 0);
        assert_eq!(line_of("", "spec.[[..]"), 0);
    }

    #[test]
    fn documents_know_their_templates() {
        let manifest =
            "---\n# Source: a/templates/x.yaml\nkind: A\n---\n# Source: a/templates/y.yaml\nkind: B\n";
        let all = documents(manifest);
        assert_eq!(all.len(), 2);
        assert_eq!((all[1].file.as_str(), all[1].text.as_str()), ("a/templates/y.yaml", "kind: B\n"));
    }
}
