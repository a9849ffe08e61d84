//! The server's parts on real charts.

use std::fs;
use std::path::Path;

use pintle::chart::read_archive;
use pintle_gotmpl::Set;
use pintle_gotmpl::syntax::SyntaxTree;
use pintle_lsp::diagnostics::{Level, of_chart};
use pintle_lsp::outline::{Kind, Outline};
use pintle_testkit::{Random, corpus};

/// Calls a function with the files of every archive of the corpus, or of every `step`th.
fn archives(step: usize, mut each: impl FnMut(&str, Vec<pintle::chart::File>)) {
    let Some(folder) = corpus("charts") else { return };
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("a folder").filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "tgz"));
    paths.sort();
    for path in paths.iter().step_by(step) {
        let files = read_archive(fs::read(path).expect("an archive")).expect("an archive");
        each(&path.file_stem().expect("a name").to_string_lossy(), files);
    }
}

#[test]
fn the_tree_and_the_strict_parser_agree_on_every_template_and_on_prefixes() {
    let functions = pintle::render::functions();
    let mut random = Random(33);
    let (mut templates, mut prefixes) = (0, 0);
    archives(1, |chart, files| {
        for file in
            files.iter().filter(|file| file.name.contains("templates/") && !file.name.ends_with(".tgz"))
        {
            let Ok(text) = String::from_utf8(file.data.to_vec()) else { continue };
            agree(&format!("{chart} {}", file.name), &text, &functions);
            templates += 1;
            // A few prefixes of some templates: what is there while a template is typed.
            for _ in 0..usize::from(random.below(8) == 0) * 4 {
                let mut end = random.below(text.len() + 1);
                while !text.is_char_boundary(end) {
                    end -= 1;
                }
                agree(&format!("{chart} {} ..{end}", file.name), &text[..end], &functions);
                prefixes += 1;
            }
        }
    });
    println!("{templates} templates and {prefixes} prefixes");
}

fn agree(name: &str, text: &str, functions: &pintle_gotmpl::Functions) {
    let strict = Set::new(functions.clone()).parse("t", text);
    let tree = SyntaxTree::parse(text, functions);
    assert_eq!(tree.errors().is_empty(), strict.is_ok(), "{name}: {strict:?}, {:?}", tree.errors().first());
    let covered: usize = tree.tokens().iter().map(|token| token.range.len()).sum();
    assert_eq!(covered, text.len(), "{name}");
}

#[test]
fn outlines_have_the_keys_that_the_strict_reader_has() {
    archives(1, |chart, files| {
        for file in files.iter().filter(|file| file.name.ends_with("values.yaml")) {
            let Ok(text) = String::from_utf8(file.data.to_vec()) else { continue };
            let Ok(values) = pintle_yaml::read_values(text.as_bytes()) else { continue };
            let outline = Outline::read(&text);
            let Some(document) = outline.documents().find(|id| !outline.node(*id).children.is_empty()) else {
                continue;
            };
            let name = format!("{chart} {}", file.name);
            compare(&name, &outline, &text, document, &pintle_tree::Node::Map(values));
        }
    });
}

fn compare(name: &str, outline: &Outline, text: &str, id: usize, node: &pintle_tree::Node) {
    let children = outline.children(id);
    match node {
        pintle_tree::Node::Map(map) => {
            for (key, value) in map.iter() {
                let key = key.to_str_lossy();
                let found = children.iter().rev().find(|child| outline.node(**child).key == key);
                let found = *found.unwrap_or_else(|| panic!("{name}: no {key} in {:?}", outline.path(id)));
                assert!(
                    text[outline.node(found).key_range.clone()].contains(key.as_ref())
                        || key.contains('\\')
                        || text.contains("? "),
                    "{name}: {key}"
                );
                compare(name, outline, text, found, value);
            }
        }
        pintle_tree::Node::List(items) => {
            let found: Vec<usize> =
                children.iter().copied().filter(|child| outline.node(*child).kind == Kind::Item).collect();
            assert_eq!(found.len(), items.len(), "{name}: {:?}", outline.path(id));
            for (child, item) in found.into_iter().zip(items) {
                compare(name, outline, text, child, item);
            }
        }
        _ => {}
    }
}

/// Writes the files of a chart into a folder.
fn unpack(files: &[pintle::chart::File], folder: &Path) {
    for file in files {
        let path = folder.join(&file.name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("can be made");
        fs::write(path, &file.data[..]).expect("can be written");
    }
}

#[test]
fn charts_that_render_have_no_errors() {
    // A part of the corpus: checking all of it takes minutes without optimisation.
    archives(16, |chart, files| {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("a folder").join("chart");
        unpack(&files, &root);
        let mut server = pintle_lsp::Server::new(vec![root.clone()], pintle_lsp::position::Encoding::Utf8);
        let project = server.project_at(&root).expect("a chart");
        if pintle_lsp::diagnostics::render_scenarios(&project).iter().any(|(_, rendering)| rendering.is_err())
        {
            return;
        }
        for (file, problems) in of_chart(&project) {
            for problem in problems {
                // Such a chart renders, but no current cluster takes what it renders.
                if problem.code == "removed-api" {
                    continue;
                }
                assert!(
                    problem.level > Level::Error,
                    "{chart} {}: {}",
                    project.file(file).name,
                    problem.message
                );
            }
        }
    });
}
