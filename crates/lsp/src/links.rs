//! Places that lead to other files: names of files in templates, folders of dependencies in Chart.yaml, and what suites list.

use std::ops::Range;

use pintle_gotmpl::syntax::NodeKind;

use crate::analysis::Analysis;
use crate::outline::{Id, unquoted};
use crate::project::{FileId, FileKind};
use crate::thing::Thing;

impl Analysis {
    /// The links of a document: their bytes and the files that they lead to.
    pub fn links(&self, file: FileId) -> Vec<(Range<usize>, FileId)> {
        let source = self.project.file(file);
        match source.kind {
            FileKind::Template => self.template_links(file),
            FileKind::ChartFile => self.dependency_links(file),
            FileKind::Suite => self.suite_links(file),
            _ => Vec::new(),
        }
    }

    fn template_links(&self, file: FileId) -> Vec<(Range<usize>, FileId)> {
        let Some(tree) = &self.project.file(file).text.tree else { return Vec::new() };
        let strings = tree.nodes().filter(|node| tree.kind(*node) == NodeKind::String);
        let link = |node| {
            let (range, thing) = self.thing_at(file, tree.range(node).start + 1)?;
            let Thing::FileName(instance, name) = thing else { return None };
            let chart = self.project.instances[instance as usize].chart;
            Some((range, self.project.file_named(chart, &name)?))
        };
        strings.filter_map(link).collect()
    }

    /// From the folder of a dependency, and from its name, to its Chart.yaml.
    fn dependency_links(&self, file: FileId) -> Vec<(Range<usize>, FileId)> {
        let source = self.project.file(file);
        let Some(outline) = &source.text.outline else { return Vec::new() };
        let mut found = Vec::new();
        for item in outline.find(0, &[Some("dependencies"), None]) {
            let value = |key: &str| outline.find(item, &[Some(key)]).first().copied();
            let text = |id: Id| unquoted(&source.text.text[outline.node(id).value.clone()]);
            let Some(name) = value("name") else { continue };
            let wanted = text(name);
            let children = self.project.charts[source.chart].children.iter();
            let child = children.copied().find(|child| self.project.charts[*child].name == wanted);
            let Some(target) = child.and_then(|child| self.project.file_named(child, "Chart.yaml")) else {
                continue;
            };
            let folder = value("repository").filter(|id| text(*id).starts_with("file://"));
            for id in [Some(name), folder].into_iter().flatten() {
                found.push((outline.node(id).value.clone(), target));
            }
        }
        found
    }

    fn suite_links(&self, file: FileId) -> Vec<(Range<usize>, FileId)> {
        let source = self.project.file(file);
        let Some(outline) = &source.text.outline else { return Vec::new() };
        let folder = source.name.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut found = Vec::new();
        for document in outline.documents() {
            let places: [&[Option<&str>]; 6] = [
                &[Some("templates"), None],
                &[Some("values"), None],
                &[Some("tests"), None, Some("template")],
                &[Some("tests"), None, Some("templates"), None],
                &[Some("tests"), None, Some("values"), None],
                &[Some("tests"), None, Some("asserts"), None, Some("template")],
            ];
            for id in places.iter().flat_map(|place| outline.find(document, place)) {
                let range = outline.node(id).value.clone();
                found.extend(
                    self.suite_target(source.chart, folder, &source.text.text[range.clone()])
                        .map(|target| (range, target)),
                );
            }
        }
        found
    }

    /// A template, with or without its folder, or a file beside the suite.
    fn suite_target(&self, chart: usize, folder: &str, written: &str) -> Option<FileId> {
        let name = unquoted(written);
        let mut beside: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        for part in name.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(beside.pop()?),
                part => beside.push(part),
            }
        }
        let names = [name.clone(), format!("templates/{name}"), beside.join("/")];
        names.iter().find_map(|name| self.project.file_named(chart, name))
    }
}
