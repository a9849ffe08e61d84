//! Measures the analysis on a folder of charts: `cargo run --release --example measure -- FOLDER [CURSORS] [ONLY]`.
//!
//! Cursors are sampled with a seed. What is right comes from rendering: a traced render says which value a template line
//! reads, and `Origins` says which files set it. None of that is used by the analysis.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program that prints what it measures")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use pintle::chart::{load_files, read_archive};
use pintle::render::{Capabilities, Release, Target, Templates};
use pintle::values::{NullRules, Origins, SchemaCheck, process_dependencies, render_values};
use pintle_gotmpl::syntax::{NodeId, NodeKind, SyntaxToken, SyntaxTree, TokenKind};
use pintle_lsp::Server;
use pintle_lsp::position::Encoding;
use pintle_lsp::project::Project;
use pintle_testkit::Random;
use pintle_tree::{Map, Segment, ValuePath};
use serde_json::{Value, json};

/// A place to ask about, and what is right.
struct Question {
    group: &'static str,
    file: usize,
    offset: usize,
    name: String,
    /// Files and lines, of which the definition has to name one; empty if only completion is asked.
    right: Vec<(usize, usize)>,
}

#[derive(Default)]
struct Score {
    asked: usize,
    completed: usize,
    defined: usize,
    with_definition: usize,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.first().expect("a folder of charts");
    let wanted: usize = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let only = arguments.get(2).cloned().unwrap_or_default();
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("a folder").filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.retain(|path| {
        path.extension().is_some_and(|end| end == "tgz") && path.to_string_lossy().contains(&only)
    });
    paths.sort();
    let share = wanted.div_ceil(paths.len().max(1));
    let mut random = Random(2026);
    let mut scores: BTreeMap<&str, Score> = BTreeMap::new();
    let mut times: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    let (mut misses, mut false_errors, mut checked) = (0, 0, 0);
    for path in &paths {
        let temporary = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(temporary.path()).expect("a folder").join("chart");
        let Ok(files) = read_archive(fs::read(path).expect("an archive")) else { continue };
        for file in &files {
            let target = root.join(&file.name);
            fs::create_dir_all(target.parent().expect("a folder")).expect("can be made");
            fs::write(target, &file.data[..]).expect("can be written");
        }
        let mut server = Server::new(vec![root.clone()], Encoding::Utf8);
        let start = Instant::now();
        let Some(project) = server.project_at(&root) else { continue };
        times.entry("load").or_default().push(start.elapsed());
        let start = Instant::now();
        if server.analysis_at(&root).is_none() {
            continue;
        }
        times.entry("analyse").or_default().push(start.elapsed());
        let mut questions = questions(&project);
        while questions.len() > share {
            let at = random.below(questions.len());
            questions.swap_remove(at);
        }
        for question in questions {
            let chart = path.file_name().unwrap_or_default().to_string_lossy();
            misses += ask(&mut server, &project, &question, &mut scores, &mut times, &chart, misses);
        }
        let start = Instant::now();
        let problems = pintle_lsp::diagnostics::of_chart(&project);
        times.entry("chart diagnostics").or_default().push(start.elapsed());
        let renders = pintle_lsp::diagnostics::render_scenarios(&project)
            .iter()
            .all(|(_, rendering)| rendering.is_ok());
        checked += usize::from(renders);
        for (file, problem) in
            problems.iter().flat_map(|(file, list)| list.iter().map(move |problem| (file, problem)))
        {
            if renders && problem.level == pintle_lsp::diagnostics::Level::Error {
                false_errors += 1;
                println!("error in {} {}: {}", path.display(), project.file(*file).name, problem.message);
            }
        }
        edit(&mut server, &project, &mut times);
    }
    println!(
        "{} charts, {checked} render with all their values; {false_errors} errors in those",
        paths.len()
    );
    for (group, score) in &scores {
        let percent = |part: usize, all: usize| 100.0 * part as f64 / all.max(1) as f64;
        println!(
            "{group:24} {:6} cursors, completion {:6.2} %, definition {:6.2} % of {}",
            score.asked,
            percent(score.completed, score.asked),
            percent(score.defined, score.with_definition),
            score.with_definition
        );
    }
    for (name, list) in &mut times {
        list.sort();
        let at = |part: usize| list[(list.len() * part / 100).min(list.len() - 1)].as_secs_f64() * 1000.0;
        println!("{name:24} p50 {:8.3} ms  p95 {:8.3} ms  max {:8.3} ms", at(50), at(95), at(100));
    }
    println!("peak memory {}", peak_memory());
}

fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("unknown").to_owned()
}

/// Changes one character of a template and asks again, as typing does.
fn edit(server: &mut Server, project: &Project, times: &mut BTreeMap<&str, Vec<Duration>>) {
    let Some(file) = project.templates().find(|file| project.file(*file).path.is_some()) else { return };
    let source = project.file(file);
    server.open(&source.uri, 0, source.text.text.clone());
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}});
    for version in 1..4 {
        let start = Instant::now();
        server.change(&source.uri, version, &[json!({"range": range, "text": " "})]);
        times.entry("keystroke").or_default().push(start.elapsed());
        let params = json!({"textDocument": {"uri": source.uri}, "position": {"line": 0, "character": 1}});
        let start = Instant::now();
        let _ = server.answer("textDocument/hover", &params);
        times.entry("first answer after edit").or_default().push(start.elapsed());
    }
}

fn ask<'t>(
    server: &mut Server,
    project: &Project,
    question: &Question,
    scores: &mut BTreeMap<&'t str, Score>,
    times: &mut BTreeMap<&'t str, Vec<Duration>>,
    chart: &str,
    misses: usize,
) -> usize {
    let source = project.file(question.file);
    let (line, character) = source.text.lines.position(&source.text.text, question.offset, Encoding::Utf8);
    let params = json!({
        "textDocument": {"uri": source.uri}, "position": {"line": line, "character": character},
        "context": {"includeDeclaration": true},
    });
    let mut timed = |method: &str, name: &'static str| -> Value {
        let start = Instant::now();
        let answer = server.answer(method, &params).unwrap_or_default();
        times.entry(name).or_default().push(start.elapsed());
        answer
    };
    let completions = timed("textDocument/completion", "completion");
    let definitions = timed("textDocument/definition", "definition");
    timed("textDocument/hover", "hover");
    timed("textDocument/references", "references");
    let items = completions["items"].as_array().cloned().unwrap_or_default();
    let completed = items.iter().any(|item| item["label"] == json!(question.name));
    let targets = definitions.as_array().cloned().unwrap_or_default();
    let defined = targets.iter().any(|target| {
        let uri = target["uri"].as_str().unwrap_or_default();
        let line = target["range"]["start"]["line"].as_u64().unwrap_or(0) as usize;
        project.by_uri.get(uri).is_some_and(|file| question.right.contains(&(*file, line)))
    });
    let score = scores.entry(question.group).or_default();
    score.asked += 1;
    score.completed += usize::from(completed);
    if !question.right.is_empty() {
        score.with_definition += 1;
        score.defined += usize::from(defined);
    }
    let missed = !completed || (!defined && !question.right.is_empty());
    if missed && misses < 60 {
        let text = source.text.text.lines().nth(line).unwrap_or_default().trim();
        println!(
            "miss {chart} {} {}:{} {} completed {completed} defined {defined}: {text}",
            question.group,
            source.name,
            line + 1,
            question.name
        );
    }
    usize::from(missed)
}

fn questions(project: &Project) -> Vec<Question> {
    let mut found = Vec::new();
    value_questions(project, &mut found);
    let defines = written_defines(project);
    for file in project.templates() {
        let Some(tree) = &project.file(file).text.tree else { continue };
        for node in tree.nodes().filter(|node| tree.kind(*node) == NodeKind::String) {
            found.extend(name_question(&defines, file, tree, node));
        }
        let lines = &project.file(file).text.lines;
        for (used, declared) in variables(tree) {
            let name = String::from_utf8_lossy(&tree.text().as_bytes()[used.clone()]).into_owned();
            let right = vec![(file, lines.line(declared))];
            found.push(Question { group: "variable", file, offset: used.start + 1, name, right });
        }
    }
    found
}

/// The lines with `define "name"` or `block "name"`, by name: found in the texts, without any parser.
fn written_defines(project: &Project) -> BTreeMap<String, Vec<(usize, usize)>> {
    let mut found: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for file in project.templates() {
        for (index, line) in project.file(file).text.text.split('\n').enumerate() {
            for word in ["define", "block"] {
                for (at, _) in line.match_indices(word) {
                    let rest = line[at + word.len()..].trim_start();
                    let Some(quote) = rest.chars().next().filter(|quote| matches!(quote, '"' | '`')) else {
                        continue;
                    };
                    if let Some((name, _)) = rest[1..].split_once(quote) {
                        found.entry(name.to_owned()).or_default().push((file, index));
                    }
                }
            }
        }
    }
    found
}

fn name_question(
    defines: &BTreeMap<String, Vec<(usize, usize)>>,
    file: usize,
    tree: &SyntaxTree,
    node: NodeId,
) -> Option<Question> {
    let parent = tree.parent(node)?;
    let first = tree.children(parent).next().map(|first| tree.text_of(first) == b"include");
    let is_include = tree.kind(parent) == NodeKind::Call
        || (tree.kind(parent) == NodeKind::Command
            && first == Some(true)
            && tree.children(parent).nth(1) == Some(node));
    let name = tree.string(node).filter(|_| is_include)?.to_str_lossy().into_owned();
    let right = defines.get(&name)?.clone();
    Some(Question { group: "include", file, offset: tree.range(node).start + 1, name, right })
}

/// The variables that are used, with the start of their declaration: by the tokens alone and the rules of text/template, so
/// without the tree and without what the server knows.
fn variables(tree: &SyntaxTree) -> Vec<(std::ops::Range<usize>, usize)> {
    let mut scopes = Scopes::default();
    let tokens = tree.tokens();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].kind != TokenKind::LeftDelimiter {
            at += 1;
            continue;
        }
        let end = tokens[at..].iter().position(|token| token.kind == TokenKind::RightDelimiter);
        let end = end.map_or(tokens.len(), |length| at + length);
        let inner = tokens[at + 1..end].iter().filter(|token| token.kind != TokenKind::Space);
        scopes.action(tree, &inner.collect::<Vec<_>>());
        at = end;
    }
    scopes.found
}

/// The variables that are visible while a template is read from the start.
#[derive(Default)]
struct Scopes {
    visible: Vec<(Vec<u8>, usize)>,
    open: Vec<Open>,
    found: Vec<(std::ops::Range<usize>, usize)>,
}

/// An open block: the number of variables before it, and with those of its clause; in a definition, those outside.
struct Open {
    before: usize,
    inside: usize,
    outside: Option<Vec<(Vec<u8>, usize)>>,
}

impl Scopes {
    fn action(&mut self, tree: &SyntaxTree, tokens: &[&SyntaxToken]) {
        let text = |token: &SyntaxToken| &tree.text().as_bytes()[token.range.clone()];
        let Some(first) = tokens.first() else { return };
        let word = if first.kind == TokenKind::Keyword { text(first) } else { b"" };
        match word {
            b"if" | b"with" | b"range" => {
                let before = self.visible.len();
                self.pipeline(tree, &tokens[1..]);
                self.open.push(Open { before, inside: self.visible.len(), outside: None });
            }
            b"define" | b"block" => {
                self.pipeline(tree, &tokens[1..]);
                let outside = std::mem::take(&mut self.visible);
                self.open.push(Open { before: 0, inside: 0, outside: Some(outside) });
            }
            b"else" => {
                let inside = self.open.last().map_or(0, |open| open.inside);
                self.visible.truncate(inside);
                self.pipeline(tree, &tokens[1..]);
                if let Some(open) = self.open.last_mut() {
                    open.inside = self.visible.len();
                }
            }
            b"end" => {
                let Some(open) = self.open.pop() else { return };
                self.visible.truncate(open.before);
                if let Some(outside) = open.outside {
                    self.visible = outside;
                }
            }
            _ => self.pipeline(tree, tokens),
        }
    }

    /// Uses first: what a pipeline declares is visible behind it.
    fn pipeline(&mut self, tree: &SyntaxTree, tokens: &[&SyntaxToken]) {
        let text = |token: &SyntaxToken| tree.text().as_bytes()[token.range.clone()].to_vec();
        let mut declared = Vec::new();
        for (index, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == TokenKind::Variable)
        {
            let next = |step: usize| tokens.get(index + step);
            let assigns = |token: Option<&&SyntaxToken>| token.is_some_and(|token| text(token) == b":=");
            let in_pair = next(1).is_some_and(|token| token.kind == TokenKind::Comma) && assigns(next(3));
            if assigns(next(1)) || in_pair {
                declared.push((text(token), token.range.start));
                continue;
            }
            let name = text(token);
            // `$` is always there.
            if let Some((_, start)) = self.visible.iter().rev().find(|(known, _)| *known == name) {
                self.found.push((token.range.clone(), *start));
            }
        }
        self.visible.extend(declared);
    }
}

/// The values that the lines of templates read in a render with defaults.
fn value_questions(project: &Project, into: &mut Vec<Question>) {
    let Ok(chart) = load_files(project.chart_files()) else { return };
    let none = Map::new();
    let Ok(chart) = process_dependencies(chart, &none, NullRules::Helm4, &mut Vec::new()) else { return };
    let refuse = &mut |_: &str| Err("no schemas".to_owned());
    let values = render_values(&chart, &none, NullRules::Helm4, SchemaCheck::Skip, refuse, &mut Vec::new());
    let Ok(values) = values else { return };
    let release = Release { name: "r".to_owned(), namespace: "n".to_owned(), revision: 1, is_upgrade: false };
    let target = Target::offline(release, Capabilities::default());
    let Ok(templates) = Templates::parse(&chart, &target) else { return };
    let Ok((_, trace)) = templates.render_explained(&values, &target) else { return };
    let Ok(origins) = Origins::new(&chart, &[], &mut |_: &Path| Err("no files".to_owned())) else { return };
    let mut known: BTreeMap<ValuePath, Vec<(usize, usize)>> = BTreeMap::new();
    for (path, lines) in trace.reads() {
        let Some(Segment::Key(key)) = path.segments().last().cloned() else { continue };
        let key = key.to_str_lossy().into_owned();
        let right = known.entry(path.clone()).or_insert_with(|| {
            let of = origins.of(&path).into_iter();
            of.filter_map(|origin| Some((project.by_rendered_path(&origin.source)?, origin.line? - 1)))
                .collect()
        });
        if right.is_empty() {
            continue;
        }
        for line in lines {
            let Some(file) = project.by_rendered_path(&line.template) else { continue };
            into.extend(on_line(project, file, line.line, &path, &key, right));
        }
    }
}

/// The only field of a name on a line.
fn on_line(
    project: &Project,
    file: usize,
    line: usize,
    path: &ValuePath,
    key: &str,
    right: &[(usize, usize)],
) -> Option<Question> {
    let text = &project.file(file).text;
    let tree = text.tree.as_ref()?;
    let range = text.lines.line_range(&text.text, line - 1);
    let mut found = None;
    let mut at = range.start;
    while let Some(offset) = text.text[at..range.end].find(key).map(|offset| at + offset) {
        at = offset + key.len();
        let node = tree.node_at(offset);
        if tree.kind(node) == NodeKind::Field && tree.name(node) == key {
            if found.is_some() {
                return None;
            }
            found = Some(node);
        }
    }
    let node = found?;
    let selector = tree.parent(node)?;
    let parts: Vec<NodeId> = tree.children(selector).collect();
    // The field has to be the one of the path: what is before it in the selector is before it there.
    let index = parts.iter().position(|part| *part == node)?;
    let before =
        index.checked_sub(1).map(|before| parts[before]).filter(|part| tree.kind(*part) == NodeKind::Field);
    let above = path.segments().len().checked_sub(2).map(|at| &path.segments()[at]);
    if let (Some(before), Some(Segment::Key(above))) = (before, above)
        && tree.name(before) != "Values"
        && *above != *tree.name(before)
    {
        return None;
    }
    let plain =
        parts.iter().position(|part| tree.kind(*part) == NodeKind::Field && tree.name(*part) == "Values");
    let below = |node: NodeId| tree.ancestors(node).any(|around| tree.kind(around) == NodeKind::Define);
    let group = match plain {
        Some(_) if below(node) => "values in a definition",
        Some(_) => "plain values",
        None if below(node) => "flow in a definition",
        None => "with, range, variables",
    };
    let offset = tree.range(node).start + 1;
    Some(Question { group, file, offset, name: key.to_owned(), right: right.to_vec() })
}
