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
use pintle_gotmpl::syntax::{NodeId, NodeKind, SyntaxTree};
use pintle_lsp::Server;
use pintle_lsp::analysis::Analysis;
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
        let analysis = server.analysis_at(&root).expect("an analysis");
        let mut questions = questions(analysis, &project);
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

fn questions(analysis: &Analysis, project: &Project) -> Vec<Question> {
    let mut found = Vec::new();
    value_questions(project, &mut found);
    for file in project.templates() {
        let Some(tree) = &project.file(file).text.tree else { continue };
        for node in tree.nodes() {
            match tree.kind(node) {
                NodeKind::String => name_question(analysis, project, file, tree, node, &mut found),
                NodeKind::Variable => variable_question(project, file, tree, node, &mut found),
                _ => {}
            }
        }
    }
    found
}

fn name_question(
    analysis: &Analysis,
    project: &Project,
    file: usize,
    tree: &SyntaxTree,
    node: NodeId,
    into: &mut Vec<Question>,
) {
    let Some(parent) = tree.parent(node) else { return };
    let first = tree.children(parent).next().map(|first| tree.text_of(first) == b"include");
    let is_include = tree.kind(parent) == NodeKind::Call
        || (tree.kind(parent) == NodeKind::Command
            && first == Some(true)
            && tree.children(parent).nth(1) == Some(node));
    let Some(name) = tree.string(node).filter(|_| is_include) else { return };
    let right: Vec<(usize, usize)> = analysis
        .defines
        .get(&name)
        .into_iter()
        .flatten()
        .map(|(file, define)| {
            let text = &project.file(*file).text;
            (*file, text.lines.line(text.tree.as_ref().map_or(0, |tree| tree.range(*define).start)))
        })
        .collect();
    if !right.is_empty() {
        let (offset, name) = (tree.range(node).start + 1, name.to_str_lossy().into_owned());
        into.push(Question { group: "include", file, offset, name, right });
    }
}

fn variable_question(
    project: &Project,
    file: usize,
    tree: &SyntaxTree,
    node: NodeId,
    into: &mut Vec<Question>,
) {
    let declares = tree.parent(node).is_some_and(|parent| matches!(tree.kind(parent), NodeKind::Declaration));
    let name = tree.name(node).to_owned();
    if declares || name == "$" {
        return;
    }
    // The last declaration before it, in text: right unless a block between has ended, which is then no question.
    let before: Vec<NodeId> = tree
        .nodes()
        .filter(|other| {
            tree.kind(*other) == NodeKind::Variable
                && tree.name(*other) == name
                && tree.range(*other).start < tree.range(node).start
        })
        .filter(|other| tree.parent(*other).is_some_and(|parent| tree.kind(parent) == NodeKind::Declaration))
        // In its own pipeline a variable is not there yet.
        .filter(|other| {
            let pipe = tree.parent(*other).and_then(|declaration| tree.parent(declaration));
            pipe.is_none_or(|pipe| tree.ancestors(node).all(|around| around != pipe))
        })
        .collect();
    let visible = |declaration: &&NodeId| {
        let scope = tree
            .ancestors(**declaration)
            .find(|node| tree.kind(*node).is_block() || tree.kind(*node) == NodeKind::Body);
        scope.is_some_and(|scope| tree.ancestors(node).any(|around| around == scope))
    };
    let Some(declaration) = before.iter().filter(visible).max_by_key(|node| tree.range(**node).start) else {
        return;
    };
    let line = project.file(file).text.lines.line(tree.range(*declaration).start);
    let offset = tree.range(node).start + 1;
    into.push(Question { group: "variable", file, offset, name, right: vec![(file, line)] });
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
