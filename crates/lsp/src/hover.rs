//! What is known about the name under the cursor, as Markdown.

use pintle_gotmpl::Functions;
use pintle_gotmpl::syntax::{NodeId, NodeKind};

use crate::analysis::Analysis;
use crate::functions;
use crate::project::{FileId, Instance};
use crate::shape::{Object, ROOT_FIELDS, Segment, Shape, Types};
use crate::thing::Thing;
use crate::values::{Place, path_text};

/// The maximum number of lines of a value that are shown.
const MAX_LINES: usize = 12;
/// The maximum number of places that are shown.
const MAX_PLACES: usize = 8;

impl Analysis {
    /// What to show for a thing.
    pub fn hover(&self, file: FileId, thing: &Thing, table: &Functions) -> Option<String> {
        match thing {
            Thing::Value { values, sites, name } => {
                let mut parts: Vec<String> =
                    values.iter().take(3).map(|(instance, path)| self.value_about(*instance, path)).collect();
                if !sites.is_empty() {
                    let mut places: Vec<String> =
                        sites.iter().map(|(file, start, _)| self.place_text(*file, *start)).collect();
                    places.dedup();
                    places.truncate(MAX_PLACES);
                    parts.push(format!("`{name}` is passed by {}", places.join(", ")));
                }
                Some(parts.join("\n\n---\n\n"))
            }
            Thing::Field(object, instance, name) => Some(self.field_about(*object, *instance, name)),
            Thing::ContextField(name, _) => {
                let about = ROOT_FIELDS.iter().find(|(known, _)| known == name)?.1;
                Some(format!("`.{name}`\n\n{about}"))
            }
            Thing::Variable(declaration, name) => Some(self.variable_about(file, *declaration, name)),
            Thing::Template(name) => self.template_about(name),
            Thing::Function(name) => {
                let signature = match table.get(name) {
                    Some(function) => functions::signature(function),
                    None if pintle_gotmpl::syntax::is_builtin(name) => functions::builtin_signature(name),
                    None => return None,
                };
                Some(format!("```go\n{signature}\n```\n\n{}", functions::about(name)))
            }
            Thing::Dot(node) => {
                let facts = self.facts(file);
                let types = facts.uses.get(node)?;
                Some(format!("`.` is {}", self.types_about(types)))
            }
            Thing::FileName(_, name) => Some(format!("The file `{name}` of the chart.")),
            _ => None,
        }
    }

    /// What to show for the key of a Kubernetes object in a template, and its bytes.
    pub fn object_hover(&self, file: FileId, offset: usize) -> Option<(String, std::ops::Range<usize>)> {
        let text = &self.project.file(file).text;
        let tree = text.tree.as_ref().filter(|_| !text.too_large)?;
        if tree.kind(tree.node_at(offset)) != NodeKind::Text {
            return None;
        }
        let masked = crate::fields::mask(tree, offset);
        let outline = crate::outline::Outline::read(&masked);
        let node = outline.at(offset)?;
        let entry = outline.node(node);
        if !(entry.key_range.start..=entry.key_range.end).contains(&offset) {
            return None;
        }
        let spot = crate::fields::spot(&self.project, &outline, &masked, entry.parent?)?;
        let field = spot.about(&entry.key)?;
        Some((format!("`{}` {}\n\n{}", field.name, field.kind, field.about), entry.key_range.clone()))
    }

    fn field_about(&self, object: Object, instance: Instance, name: &str) -> String {
        let about = object.fields().iter().find(|(known, _)| *known == name).map_or("", |(_, about)| about);
        let mut text = format!("`.{}.{name}`\n\n{about}", object.name());
        if object == Object::Chart {
            let targets = self.definitions(0, &Thing::Field(object, instance, name.to_owned()));
            for target in targets.iter().take(1) {
                let source = self.project.file(target.file);
                let line = source.text.lines.line(target.start);
                let range = source.text.lines.line_range(&source.text.text, line);
                text.push_str(&format!("\n\n```yaml\n{}\n```", source.text.text[range].trim()));
            }
        }
        text
    }

    /// The sources of a value, and what is known about it.
    fn value_about(&self, instance: Instance, path: &[Segment]) -> String {
        let chart = self.project.chart_of(instance);
        let shown = path_text(path);
        let mut text = match (instance, path.is_empty()) {
            (0, _) => format!("`.Values.{shown}`"),
            (_, true) => format!("The values of the subchart `{}`", chart.name),
            _ => format!("`.Values.{shown}` of `{}`", chart.name),
        };
        let places = self.places(instance, path);
        if let Some(comment) =
            places.iter().map(|place| self.comment_of(*place)).find(|text| !text.is_empty())
        {
            text.push_str(&format!("\n\n{comment}"));
        }
        for about in self.schema_about(instance, path).into_iter().take(3) {
            text.push_str(&format!("\n\n{about}"));
        }
        if path.is_empty() {
            return text;
        }
        if places.is_empty() {
            text.push_str("\n\nNo values file sets it.");
        }
        for place in places.iter().take(MAX_PLACES) {
            let source = self.project.file(place.file);
            let Some(outline) = &source.text.outline else { continue };
            let value = outline.value_text(&source.text.text, place.node);
            let at = self.place_text(place.file, outline.node(place.node).key_range.start);
            let value = dedented(value);
            if value.contains('\n') {
                text.push_str(&format!("\n\n{at}\n```yaml\n{value}\n```"));
            } else {
                let value = if value.is_empty() { "null".to_owned() } else { value };
                text.push_str(&format!("\n\n{at}: `{value}`"));
            }
        }
        if places.len() > MAX_PLACES {
            text.push_str(&format!("\n\nand {} more", places.len() - MAX_PLACES));
        }
        text
    }

    /// A file and a line, as a link.
    fn place_text(&self, file: FileId, offset: usize) -> String {
        let source = self.project.file(file);
        let line = source.text.lines.line(offset) + 1;
        let name = self.project.rendered_path(file).unwrap_or_else(|| source.name.clone());
        format!("[{name}:{line}]({}#L{line})", source.uri)
    }

    /// The comment of a value.
    pub fn comment_of(&self, place: Place) -> String {
        let text = &self.project.file(place.file).text;
        text.outline.as_ref().map(|outline| outline.comment(&text.text, place.node)).unwrap_or_default()
    }

    /// The text of a scalar in a values file.
    pub fn scalar_text(&self, place: Place) -> Option<String> {
        let text = &self.project.file(place.file).text;
        let node = text.outline.as_ref()?.node(place.node);
        node.is_scalar()
            .then(|| text.text[node.value.clone()].to_owned())
            .filter(|value| !value.contains('\n'))
    }

    /// A value in a few words.
    pub fn value_summary(&self, place: Place) -> String {
        let text = &self.project.file(place.file).text;
        let Some(outline) = &text.outline else { return String::new() };
        if outline.is_list(place.node) {
            return "list".to_owned();
        }
        if outline.is_map(place.node) {
            return "map".to_owned();
        }
        let value = &text.text[outline.node(place.node).value.clone()];
        let first = value.lines().next().unwrap_or_default();
        first.chars().take(60).collect()
    }

    fn variable_about(&self, file: FileId, declaration: Option<NodeId>, name: &str) -> String {
        let Some(declaration) = declaration else {
            return format!("`{name}`\n\nThe context of the template.");
        };
        let facts = self.facts(file);
        let types = facts.uses.get(&declaration).cloned().unwrap_or_default();
        let source = self.project.file(file);
        let line =
            source.text.lines.line(source.text.tree.as_ref().map_or(0, |tree| tree.range(declaration).start));
        let text = source.text.text[source.text.lines.line_range(&source.text.text, line)].trim();
        format!("`{name}` is {}\n\n```helm\n{text}\n```", self.types_about(&types))
    }

    /// What something may be, in words.
    fn types_about(&self, types: &Types) -> String {
        if types.is_unknown() {
            return "not known without rendering".to_owned();
        }
        let mut parts: Vec<String> = Vec::new();
        for shape in types.shapes() {
            let part = match shape {
                Shape::Root(instance) => {
                    format!("the context of `{}`", self.project.chart_of(*instance).name)
                }
                Shape::Object(object, _) => format!("`.{}`", object.name()),
                Shape::Values(instance, path) => {
                    let value =
                        self.places(*instance, path).first().and_then(|place| self.scalar_text(*place));
                    let value = value.map(|value| format!(" = `{value}`")).unwrap_or_default();
                    let of = if *instance == 0 {
                        String::new()
                    } else {
                        format!(" of `{}`", self.project.chart_of(*instance).name)
                    };
                    format!(
                        "`.Values{}{}`{of}{value}",
                        if path.is_empty() { "" } else { "." },
                        path_text(path)
                    )
                }
                Shape::Dict(dict) => {
                    let keys: Vec<String> = dict.keys().take(12).map(|key| format!("`{key}`")).collect();
                    format!(
                        "a dict with {}",
                        if keys.is_empty() { "no keys".to_owned() } else { keys.join(", ") }
                    )
                }
                Shape::List(items) => format!("a list of {}", self.types_about(items)),
                Shape::Text(text) => format!("`{:?}`", text.to_str_lossy()),
                Shape::Encoded(types) => format!("text from {}", self.types_about(types)),
            };
            if !parts.contains(&part) {
                parts.push(part);
            }
            if parts.len() > MAX_PLACES {
                parts.push("…".to_owned());
                break;
            }
        }
        parts.join(", or ")
    }

    /// What something may be, in one line.
    pub fn types_text(&self, types: &Types) -> String {
        if types.is_unknown() { String::new() } else { self.types_about(types).replace('`', "") }
    }

    /// The comment before a definition.
    pub fn define_comment(&self, file: FileId, define: NodeId) -> String {
        let source = self.project.file(file);
        let Some(tree) = &source.text.tree else { return String::new() };
        let Some(parent) = tree.parent(define) else { return String::new() };
        let mut comment = None;
        for node in tree.children(parent) {
            if node == define {
                break;
            }
            match tree.kind(node) {
                NodeKind::Comment => comment = Some(node),
                NodeKind::Text if tree.text_of(node).trim_ascii().is_empty() => {}
                _ => comment = None,
            }
        }
        let Some(comment) = comment else { return String::new() };
        let text = String::from_utf8_lossy(tree.text_of(comment)).into_owned();
        let inner = text.trim_start_matches("{{").trim_end_matches("}}").trim_matches(['-', ' ']);
        inner.trim_start_matches("/*").trim_end_matches("*/").trim().to_owned()
    }

    fn template_about(&self, name: &pintle_tree::Str) -> Option<String> {
        let defines = self.defines.get(name)?;
        let mut text = format!("`{name}`");
        for (file, node) in defines.iter().take(3) {
            let source = self.project.file(*file);
            let tree = source.text.tree.as_ref()?;
            let range = tree.range(*node);
            text.push_str(&format!("\n\n{}", self.place_text(*file, range.start)));
            let comment = self.define_comment(*file, *node);
            if !comment.is_empty() {
                text.push_str(&format!("\n\n{comment}"));
            }
            let body: Vec<&str> = source.text.text[range].lines().take(MAX_LINES).collect();
            text.push_str(&format!("\n\n```helm\n{}\n```", body.join("\n")));
        }
        if let Some(context) = self.contexts.get(name).filter(|types| !types.is_unknown()) {
            text.push_str(&format!("\n\nIts context is {}.", self.types_about(context)));
        }
        Some(text)
    }
}

/// Text without the indentation that all of its lines have, and not too long.
fn dedented(text: &str) -> String {
    let lines: Vec<&str> = text.trim_matches(['\n', '\r']).lines().collect();
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let indent = filled.map(|line| line.len() - line.trim_start_matches(' ').len()).min().unwrap_or(0);
    let mut shown: Vec<&str> =
        lines.iter().take(MAX_LINES).map(|line| line.get(indent..).unwrap_or_default().trim_end()).collect();
    if lines.len() > MAX_LINES {
        shown.push("…");
    }
    shown.join("\n")
}
