//! Renaming, with the proof that nothing that is rendered changes.

use std::collections::BTreeMap;
use std::ops::Range;

use pintle_gotmpl::syntax::NodeKind;

use crate::analysis::Analysis;
use crate::project::{FileId, FileKind};
use crate::shape::Segment;
use crate::thing::{Target, Thing};

/// The edits of a rename, by file.
pub(crate) type Edits = BTreeMap<FileId, Vec<(Range<usize>, String)>>;

impl Analysis {
    /// Whether a thing can be renamed.
    ///
    /// # Errors
    /// Why not.
    pub fn can_rename(&self, file: FileId, thing: &Thing) -> Result<(), String> {
        match thing {
            Thing::Variable(Some(_), _) | Thing::Template(_) => self.editable(file, thing),
            Thing::Variable(None, _) => Err("`$` has no name that could be changed".to_owned()),
            Thing::Value { values, sites, .. } => {
                if !sites.is_empty() {
                    return Err(
                        "this is the key of a dict that templates make; such keys are not renamed".to_owned()
                    );
                }
                if self.project.has_scripts() {
                    return Err("the chart has scripts, which may read the value".to_owned());
                }
                for (_, path) in values {
                    match path.last() {
                        None => {
                            return Err("the key of a subchart's values is the name of the chart".to_owned());
                        }
                        Some(Segment::Any) => return Err("an item of a list has no name".to_owned()),
                        Some(Segment::Key(_)) => {}
                    }
                    if matches!(path.first(), Some(Segment::Key(key)) if *key == "global") {
                        return Err("globals are shared with charts that are not known here".to_owned());
                    }
                    if let Some(condition) = self.condition(values) {
                        return Err(format!(
                            "Chart.yaml has it in the condition `{condition}` of a dependency"
                        ));
                    }
                    if path.contains(&Segment::Any) {
                        return Err("the values of computed keys are not renamed".to_owned());
                    }
                }
                self.editable(file, thing)
            }
            Thing::Field(..) | Thing::ContextField(..) => Err("this is Helm's name".to_owned()),
            _ => Err("only values, variables and definitions can be renamed".to_owned()),
        }
    }

    fn editable(&self, file: FileId, thing: &Thing) -> Result<(), String> {
        for target in self.references(file, thing, true) {
            let source = self.project.file(target.file);
            if source.path.is_none() {
                return Err(format!(
                    "`{}` is in the archive of a dependency, which cannot be changed",
                    source.name
                ));
            }
        }
        Ok(())
    }

    /// The edits that rename a thing.
    ///
    /// # Errors
    /// Why it cannot be renamed, or not so.
    pub fn rename(&self, file: FileId, thing: &Thing, name: &str) -> Result<Edits, String> {
        self.can_rename(file, thing)?;
        let edits = match thing {
            Thing::Variable(Some(declaration), old) => {
                let name = format!("${}", name.trim_start_matches('$'));
                check_word(&name[1..])?;
                self.check_capture(file, *declaration, old, &name)?;
                edits_of(&self.references(file, thing, true), &name)
            }
            Thing::Template(_) => {
                if name.is_empty() || name.contains(['"', '`', '\\', '\n']) {
                    return Err("the name of a definition cannot be empty or have quotes in it".to_owned());
                }
                if self.defines.contains_key(name.as_bytes()) {
                    return Err(format!("there is a definition `{name}` already"));
                }
                edits_of(&self.references(file, thing, true), name)
            }
            Thing::Value { values, .. } => {
                check_word(name)?;
                for (instance, path) in values {
                    let mut other = path.clone();
                    if let Some(last) = other.last_mut() {
                        *last = Segment::Key(name.into());
                    }
                    if !self.places(*instance, &other).is_empty() {
                        return Err(format!("there is a value `{name}` already"));
                    }
                }
                let mut targets = self.references(file, thing, true);
                targets.extend(self.schema_targets(values));
                targets.extend(self.suite_targets(values));
                edits_of(&targets, name)
            }
            _ => return Err("only values, variables and definitions can be renamed".to_owned()),
        };
        if edits.is_empty() {
            return Err("nothing to rename".to_owned());
        }
        self.prove(&edits)?;
        Ok(edits)
    }

    /// The new name must not be visible where the variable is used, nor be declared there later.
    fn check_capture(
        &self,
        file: FileId,
        declaration: pintle_gotmpl::syntax::NodeId,
        old: &str,
        new: &str,
    ) -> Result<(), String> {
        let Some(tree) = &self.project.file(file).text.tree else { return Ok(()) };
        if new == old {
            return Err("that is its name".to_owned());
        }
        let template = |node| {
            tree.ancestors(node).find(|node| matches!(tree.kind(*node), NodeKind::Define | NodeKind::Block))
        };
        let home = template(declaration);
        let clash = tree.nodes().find(|node| {
            tree.kind(*node) == NodeKind::Variable && tree.name(*node) == new && template(*node) == home
        });
        match clash {
            Some(_) => Err(format!("the template has a variable `{new}` already")),
            None => Ok(()),
        }
    }

    /// The properties of values.schema.json that describe values.
    fn schema_targets(&self, values: &[(u16, Vec<Segment>)]) -> Vec<Target> {
        let mut found = Vec::new();
        for (instance, path) in values {
            for (instance, path) in crate::values::expand(&self.project, *instance, path) {
                let chart = self.project.chart_of(instance);
                let schemas = chart
                    .files
                    .iter()
                    .copied()
                    .filter(|file| self.project.file(*file).kind == FileKind::Schema);
                for file in schemas {
                    let Some(outline) = &self.project.file(file).text.outline else { continue };
                    let keys: Vec<String> = path
                        .iter()
                        .filter_map(|segment| match segment {
                            Segment::Key(key) => Some(key.to_str_lossy().into_owned()),
                            Segment::Any => None,
                        })
                        .collect();
                    let steps: Vec<Option<&str>> =
                        keys.iter().flat_map(|key| [Some("properties"), Some(key.as_str())]).collect();
                    let Some(document) = outline.documents().next() else { continue };
                    for node in
                        schema_root(outline, document).into_iter().flat_map(|root| outline.find(root, &steps))
                    {
                        let range = outline.node(node).key_range.clone();
                        // Without the quotes.
                        found.push(Target::new(file, range.start + 1..range.end - 1));
                    }
                }
            }
        }
        found
    }

    /// The condition of a dependency that reads one of some values.
    fn condition(&self, values: &[(u16, Vec<Segment>)]) -> Option<String> {
        for (instance, path) in
            values.iter().flat_map(|(instance, path)| crate::values::expand(&self.project, *instance, path))
        {
            let text = crate::values::path_text(&path);
            for dependency in &self.project.chart_of(instance).dependencies {
                let mut conditions = dependency.condition.split(',').map(str::trim);
                if let Some(condition) = conditions.find(|condition| {
                    *condition == text
                        || condition.strip_prefix(text.as_str()).is_some_and(|rest| rest.starts_with('.'))
                }) {
                    return Some(condition.to_owned());
                }
            }
        }
        None
    }

    /// The keys below `set` in suites that set some values: nested, or as a path with dots.
    fn suite_targets(&self, values: &[(u16, Vec<Segment>)]) -> Vec<Target> {
        let mut found = Vec::new();
        for (instance, path) in
            values.iter().flat_map(|(instance, path)| crate::values::expand(&self.project, *instance, path))
        {
            let wanted = crate::values::path_text(&path);
            let chart = self.project.chart_of(instance);
            for file in
                chart.files.iter().copied().filter(|file| self.project.file(*file).kind == FileKind::Suite)
            {
                let Some(outline) = &self.project.file(file).text.outline else { continue };
                for (id, node) in outline.nodes().filter(|(_, node)| !node.key.is_empty()) {
                    let keys = outline.path(id);
                    let Some(at) = keys.iter().position(|key| key.as_deref() == Some("set")) else {
                        continue;
                    };
                    let below: Vec<String> = keys[at + 1..].iter().flatten().cloned().collect();
                    if below.len() == keys.len() - at - 1 && below.join(".") == wanted {
                        // Of a path with dots, the last part.
                        let last = node.key.rsplit('.').next().unwrap_or_default().len();
                        let quote = usize::from(node.key_range.len() == node.key.len() + 2);
                        let end = node.key_range.end - quote;
                        found.push(Target::new(file, end - last..end));
                    }
                }
            }
        }
        found
    }

    /// Renders all scenarios before and after; a byte that changes refuses the edit.
    pub(crate) fn prove(&self, edits: &Edits) -> Result<(), String> {
        let changed = crate::diagnostics::with_edits(&self.project, edits);
        let before = crate::diagnostics::render_scenarios(&self.project);
        let after = crate::diagnostics::render_scenarios(&changed);
        for ((scenario, before), (_, after)) in before.iter().zip(&after) {
            let named = if scenario.is_empty() { "the default values" } else { scenario };
            match (before, after) {
                (Ok(before), Ok(after)) => {
                    if let Some((path, _)) =
                        before.iter().zip(after).find(|(left, right)| left != right).map(|(left, _)| left)
                    {
                        return Err(format!(
                            "with {named}, `{path}` would be rendered differently: the name is also used in a way that cannot be followed"
                        ));
                    }
                    if before.len() != after.len() {
                        return Err(format!("with {named}, other files would be rendered"));
                    }
                }
                (Ok(_), Err(error)) => {
                    return Err(format!("with {named}, the chart would not render: {error}"));
                }
                (Err(_), _) => {}
            }
        }
        Ok(())
    }
}

fn check_word(name: &str) -> Result<(), String> {
    let word = !name.is_empty()
        && name.chars().all(|character| character.is_alphanumeric() || character == '_')
        && !name.starts_with(|character: char| character.is_ascii_digit());
    if word {
        Ok(())
    } else {
        Err(format!("`{name}` is not a name: it may have letters, digits and underscores"))
    }
}

fn edits_of(targets: &[Target], name: &str) -> Edits {
    let mut edits = Edits::new();
    for target in targets {
        let edit = (target.start..target.end, name.to_owned());
        let edits = edits.entry(target.file).or_default();
        if !edits.contains(&edit) {
            edits.push(edit);
        }
    }
    edits
}

/// The outline takes JSON as a collection in flow style in the document itself.
fn schema_root(outline: &crate::outline::Outline, document: usize) -> Option<usize> {
    (!outline.node(document).children.is_empty()).then_some(document)
}
