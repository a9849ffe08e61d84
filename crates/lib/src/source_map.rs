//! Where something is: from the path of a field to a line of the rendered document, and from there to the template.

use pintle_chart::Chart;

/// A rendered document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// The template that it comes from.
    pub(crate) file: String,
    pub(crate) text: String,
}

/// The documents of a manifest.
#[cfg_attr(not(feature = "embedded"), allow(dead_code, reason = "only rehearsals split manifests"))]
pub(crate) fn documents(manifest: &str) -> Vec<Document> {
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
fn path_segments(path: &str) -> Vec<Result<usize, String>> {
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

/// The line of a field in a document in block style, counted from one. For a missing field, that of its nearest existing
/// parent; 0 if there is none.
pub(crate) fn line_of_field(text: &str, path: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let (mut at, mut depth, mut found) = (0, 0, 0);
    for step in path_segments(path) {
        let next = match step {
            Err(key) => find_key(&lines, at, depth, &key),
            Ok(number) => find_item(&lines, at, number),
        };
        let Some((line, column)) = next else { break };
        (at, depth, found) = (line, column, line + 1);
    }
    found
}

/// The line of a key at column `depth` or deeper, from line `from` on, and the lowest column of its children.
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

/// The line of the item with this index in the list after line `from`, and the lowest column of its content.
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

/// The template line that a rendered line comes from; 0 if none matches, or several match equally well.
pub(crate) fn line_in_template(chart: &Chart, document: &Document, rendered: usize) -> usize {
    let lines: Vec<&str> = document.text.lines().collect();
    let Some((index, line)) = rendered.checked_sub(1).and_then(|index| Some((index, *lines.get(index)?)))
    else {
        return 0;
    };
    let Some(source) = template(chart, &document.file) else { return 0 };
    let source: Vec<&str> = source.lines().collect();
    let kind = lines.iter().find(|line| line.starts_with("kind:")).map_or("", |line| line.trim_end());
    let around = ancestors(&lines, index);
    let wanted = line.trim();
    // Several lines may look alike; the one with the same keys around it is meant.
    let like = |matches: &dyn Fn(&str) -> bool| {
        let found = (0..source.len()).filter(|at| matches(source[*at].trim()));
        let mut found: Vec<((bool, usize, bool), usize)> = found
            .map(|at| {
                let above = ancestors(&source, at);
                let same = above.iter().zip(&around).take_while(|(a, b)| a == b).count();
                ((in_document(&source, at, kind), same, above.len() == around.len()), at + 1)
            })
            .collect();
        found.sort_by(|a, b| b.cmp(a));
        match found[..] {
            [] => None,
            [(_, line)] => Some(line),
            [(best, line), (next, _), ..] => Some(if best == next { 0 } else { line }),
        }
    };
    let key = key_of(line);
    like(&|line| line == wanted)
        .or_else(|| like(&|line| !key.is_empty() && key_of(line) == key))
        .unwrap_or_default()
}

/// Whether the document around a line of a template contains the line `kind`, such as `kind: Job`.
fn in_document(source: &[&str], at: usize, kind: &str) -> bool {
    let is_end = |line: &&str| line.starts_with("---");
    let before = source[..at].iter().rev().take_while(|line| !is_end(line));
    let after = source[at..].iter().take_while(|line| !is_end(line));
    before.chain(after).any(|line| line.trim_end() == kind)
}

fn key_of(line: &str) -> &str {
    let line = line.trim_start().trim_start_matches("- ");
    line.split_once(':').map_or("", |(key, _)| key.trim_matches(['"', '\'']))
}

/// The parent keys of a line, innermost first. Comments and lines that begin with a template action are skipped.
fn ancestors<'t>(lines: &[&'t str], at: usize) -> Vec<&'t str> {
    let column = |line: &str| {
        let body = line.trim_start();
        body.strip_prefix("- ").map_or(indent(line), |rest| indent(line) + 2 + indent(rest))
    };
    let mut inside = column(lines[at]);
    let mut found = Vec::new();
    for line in lines[..at].iter().rev() {
        let body = line.trim_start();
        if line.starts_with("---") {
            break;
        }
        if !body.is_empty() && !body.starts_with(['#', '{']) && column(line) < inside {
            inside = column(line);
            found.push(key_of(line));
        }
    }
    found
}

/// The text of a template or of a file below `crds/` by its full path, as in `parent/charts/child/templates/x.yaml`.
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
    let file = chart.templates.iter().chain(&chart.files).find(|file| file.name == rest)?;
    Some(String::from_utf8_lossy(&file.data).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: x\nspec:\n  template:\n    spec:\n      containers:\n        - name: a\n          image: b\n        - name: c\n          ports:\n          - containerPort: 1\n            nonsense: 2\n  replicas: 1\n";

    #[test]
    fn fields_are_found_by_their_paths() {
        assert_eq!(line_of_field(TEXT, "spec.replicas"), 15);
        assert_eq!(line_of_field(TEXT, "spec.template.spec.containers[1].name"), 11);
        assert_eq!(line_of_field(TEXT, "spec.template.spec.containers[1].ports[0].nonsense"), 14);
        assert_eq!(line_of_field(TEXT, "metadata.labels"), 3, "the nearest around it");
        assert_eq!(line_of_field(TEXT, "status"), 0);
        assert_eq!(line_of_field("", "spec.[[..]"), 0);
    }

    #[test]
    fn identical_lines_are_distinguished_by_their_context() {
        let source = "kind: Deployment\nspec:\n  {{- if .Values.live }}\n  livenessProbe:\n    period: {{ .Values.a }}\n  {{- end }}\n  startupProbe:\n    period: {{ .Values.b }}\n---\nkind: Service\nspec:\n  type: {{ .Values.type }}\n---\nkind: ConfigMap\nspec:\n  type: {{ .Values.type }}\n";
        let mut chart = Chart::default();
        chart.templates.push(pintle_chart::File::new("templates/x.yaml", source.as_bytes()));
        let line = |text: &str, rendered| {
            let document = Document { file: "a/templates/x.yaml".to_owned(), text: text.to_owned() };
            line_in_template(&chart, &document, rendered)
        };
        assert_eq!(line("kind: Deployment\nspec:\n  startupProbe:\n    period: 2\n", 4), 8);
        assert_eq!(line("kind: Deployment\nspec:\n  livenessProbe:\n    period: 2\n", 4), 5);
        assert_eq!(line("kind: ConfigMap\nspec:\n  type: a\n", 3), 16);
        assert_eq!(line("kind: Secret\nspec:\n  type: a\n", 3), 0, "either could be meant");
        assert_eq!(line("kind: Secret\nother: a\n", 2), 0);
        assert_eq!(line("kind: Service\nspec:\n", 2), 11, "not one that is deeper");
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
