//! Values that the user supplies and no template reads: misspelt keys, and keys of another level. Also keys that occur twice
//! in a file, of which the first has no effect.
//!
//! Finding out what templates read takes about as long as rendering them. So it is done only for keys that values.yaml does
//! not have and that no template mentions: nearly all runs have none.

use std::collections::{BTreeMap, BTreeSet};

use memchr::memmem;
use pintle_chart::{Chart, ext};
use pintle_render::uses::{Segment, Usage, Uses, uses};
use pintle_tree::merge::merge;
use pintle_tree::suggest::nearest;
use pintle_tree::{LogLine, Map, Node, Str, ValuePath};
use pintle_values::{Layer, Origins, ValuesLayer};
use pintle_yaml::outline::{Kind, NodeRef, Outline};

use crate::{Reporter, input};

/// How many keys are reported.
const MAX_REPORTED: usize = 10;

/// How deep values are searched.
const MAX_DEPTH: usize = 64;

/// Warns of keys that have no effect. The dependencies of the chart have been processed.
pub(crate) fn report(chart: &Chart, user: &Map<Node>, layers: &[ValuesLayer], reporter: &mut dyn Reporter) {
    report_duplicates(layers, reporter);
    // Scripts may read anything.
    if user.is_empty() || ext::has_scripts(chart) {
        return;
    }
    let mut suspects = Vec::new();
    collect(Some(chart), &chart.values, user, &mut Vec::new(), &mut suspects);
    if suspects.is_empty() {
        return;
    }
    let texts = Texts::of(chart);
    suspects.retain(|path| !texts.mention(path));
    if suspects.is_empty() {
        return;
    }
    let Ok(uses) = uses(chart) else { return };
    // Text of the user may be evaluated, and read values in turn.
    if uses.incomplete || (uses.evaluates && has_actions(user)) {
        return;
    }
    suspects.retain(|path| !uses.reads(&path.iter().cloned().map(Segment::Key).collect::<Vec<_>>()));
    report_unread(chart, &uses, &suspects, layers, reporter);
}

/// The keys of the user that values.yaml does not have. Below empty maps, lists and scalars anything is allowed. `chart` is
/// the chart whose values these are, if they are not below one of its keys.
fn collect(
    chart: Option<&Chart>,
    known: &Map<Node>,
    user: &Map<Node>,
    path: &mut Vec<Str>,
    suspects: &mut Vec<Vec<Str>>,
) {
    if path.len() > MAX_DEPTH {
        return;
    }
    for (key, value) in user.iter() {
        path.push(key.clone());
        let mut subcharts = chart.into_iter().flat_map(|chart| &chart.subcharts);
        let subchart = subcharts.find(|subchart| *key == subchart.name());
        match (known.get(key), value, subchart) {
            // Values of a subchart are known by its own values.yaml as well.
            (found, Node::Map(user), Some(subchart)) => {
                let own = subchart.values.clone();
                let both = match found {
                    Some(Node::Map(parent)) => merge(own, parent.clone()),
                    _ => own,
                };
                collect(Some(subchart), &both, user, path, suspects);
            }
            (Some(Node::Map(known)), Node::Map(user), None) if !known.is_empty() => {
                collect(None, known, user, path, suspects);
            }
            (Some(_), ..) | (None, _, Some(_)) => {}
            // Removing what does not exist has no effect, but is no mistake.
            (None, Node::Nil, None) => {}
            (None, _, None) => suspects.push(path.clone()),
        }
        path.pop();
    }
}

/// The templates of a chart and its subcharts.
struct Texts<'c>(Vec<&'c [u8]>);

impl<'c> Texts<'c> {
    fn of(chart: &'c Chart) -> Self {
        fn add<'c>(chart: &'c Chart, texts: &mut Vec<&'c [u8]>) {
            texts.extend(chart.templates.iter().map(|file| &*file.data));
            // Conditions and tags.
            texts.extend(chart.raw.iter().filter(|file| file.name == "Chart.yaml").map(|file| &*file.data));
            chart.subcharts.iter().for_each(|subchart| add(subchart, texts));
        }
        let mut texts = Vec::new();
        add(chart, &mut texts);
        Texts(texts)
    }

    /// Whether some template seems to read the value at a path, or a map around it as a whole.
    fn mention(&self, path: &[Str]) -> bool {
        let names: Vec<String> = path.iter().map(ToString::to_string).collect();
        let ends = |_: &[u8], after: &[u8]| !is_name(first(after));
        if names.len() > 1 && self.any(&format!(".{}", names[names.len() - 1]), &ends) {
            return true;
        }
        // As in `index .Values "grafana.ini"`.
        let (last, around) =
            names.split_last().map_or(("", &[][..]), |(last, around)| (last.as_str(), around));
        let quoted = around.iter().map(String::as_str).filter(|name| !is_identifier(name)).chain([last]);
        if quoted.into_iter().any(|name| self.any(&format!("\"{name}\""), &|_, _| true)) {
            return true;
        }
        // In a subchart the path begins later.
        (0..names.len()).any(|start| {
            let whole = format!("Values.{}", names[start..].join("."));
            self.any(&whole, &ends)
                || (start + 1..names.len()).any(|end| {
                    let around = format!("Values.{}", names[start..end].join("."));
                    self.any(&around, &|before, after| {
                        let next = first(after);
                        !is_name(next) && next != b'.' && (!is_test(before) || prints_context(before, after))
                    })
                })
        })
    }

    fn any(&self, word: &str, is_meant: &dyn Fn(&[u8], &[u8]) -> bool) -> bool {
        let finder = memmem::Finder::new(word);
        self.0
            .iter()
            .any(|text| finder.find_iter(text).any(|at| is_meant(&text[..at], &text[at + word.len()..])))
    }
}

fn first(text: &[u8]) -> u8 {
    text.first().copied().unwrap_or(b' ')
}

fn is_identifier(name: &str) -> bool {
    name.bytes().all(is_name)
}

/// How far the body of a `with` is searched for what prints its context.
const BODY: usize = 400;

/// Whether what is made the context seems to be printed as a whole: `{{ with .Values.a }}{{ toYaml . }}`.
fn prints_context(before: &[u8], after: &[u8]) -> bool {
    let is_context = word_before(before) == b"with";
    let body = &after[..after.len().min(BODY)];
    is_context
        && [&b"toYaml ."[..], b"tpl .", b"{{ . ", b"{{. ", b" . |", b"range "]
            .iter()
            .any(|word| memmem::find(body, word).is_some())
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether what follows is only tested, made the context, or searched for one key: `if .Values.a`, `with .Values.a`,
/// `hasKey .Values.a "b"`.
fn is_test(before: &[u8]) -> bool {
    const TESTS: [&[u8]; 9] = [b"if", b"with", b"and", b"or", b"not", b"hasKey", b"get", b"index", b"empty"];
    TESTS.contains(&word_before(before))
}

/// The word before a path, of which `.` or `$.` may be the beginning.
fn word_before(before: &[u8]) -> &[u8] {
    let before = before.strip_suffix(b".").unwrap_or(before);
    let before = before.strip_suffix(b"$").unwrap_or(before).trim_ascii_end();
    let start = before.iter().rposition(|byte| !byte.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
    &before[start..]
}

/// Whether a text of the values has actions of templates.
fn has_actions(values: &Map<Node>) -> bool {
    fn visit(node: &Node) -> bool {
        match node {
            Node::Str(text) => memmem::find(text.as_bytes(), b"{{").is_some(),
            Node::List(items) => items.iter().any(visit),
            Node::Map(map) => map.values().any(visit),
            _ => false,
        }
    }
    values.values().any(visit)
}

fn report_unread(
    chart: &Chart,
    uses: &Uses,
    unread: &[Vec<Str>],
    layers: &[ValuesLayer],
    reporter: &mut dyn Reporter,
) {
    if unread.is_empty() {
        return;
    }
    let Ok(origins) = Origins::new(chart, layers, &mut input::read_values) else { return };
    let known = known_paths(chart, uses);
    let mut count = 0;
    for path in unread {
        let segments = path.iter().fold(ValuePath::default(), |path, key| path.key(key.clone()));
        let sources = origins.of(&segments);
        // Values of an earlier version were reported when they were set.
        let origin = sources.iter().find(|origin| matches!(origin.layer, Layer::ValuesFile | Layer::Flag(_)));
        let Some(origin) = origin else { continue };
        let near = near_path(path, &known);
        // Globals are often set for all charts that somebody has.
        if near.is_none() && path.first().is_some_and(|key| *key == "global") {
            continue;
        }
        count += 1;
        if count > MAX_REPORTED {
            continue;
        }
        let near = near.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        let source = match (origin.layer, origin.line) {
            (Layer::Flag(flag), _) => format!("--{flag}"),
            (_, Some(line)) => format!("{}:{line}", origin.source),
            _ => origin.source.clone(),
        };
        let message = format!("no template reads the value `{segments}` ({source}){near}");
        reporter.log(LogLine::warn(message, Vec::new()));
    }
    if count > MAX_REPORTED {
        let more = count - MAX_REPORTED;
        reporter.log(LogLine::warn(
            format!("no template reads {more} more of the values that are set"),
            Vec::new(),
        ));
    }
}

/// The paths of values.yaml of the chart and its subcharts, and those that templates read.
fn known_paths(chart: &Chart, uses: &Uses) -> Vec<Vec<String>> {
    fn add(values: &Map<Node>, path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
        for (key, node) in values.iter() {
            path.push(key.to_string());
            paths.push(path.clone());
            if let Node::Map(below) = node
                && path.len() < MAX_DEPTH
            {
                add(below, path, paths);
            }
            path.pop();
        }
    }
    fn add_charts(chart: &Chart, path: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
        add(&chart.values, path, paths);
        for subchart in &chart.subcharts {
            path.push(subchart.name().to_owned());
            add_charts(subchart, path, paths);
            path.pop();
        }
    }
    let mut paths = Vec::new();
    add_charts(chart, &mut Vec::new(), &mut paths);
    for found in uses.uses.iter().filter(|found| found.usage == Usage::Used) {
        let keys = found.path.iter().map(|segment| match segment {
            Segment::Key(key) => Some(key.to_string()),
            Segment::Any => None,
        });
        paths.extend(keys.collect::<Option<Vec<String>>>().filter(|keys| !keys.is_empty()));
    }
    paths.sort();
    paths.dedup();
    paths
}

/// The path that was probably meant: a similar key beside the written one, or the same key elsewhere.
fn near_path(path: &[Str], known: &[Vec<String>]) -> Option<String> {
    let names: Vec<String> = path.iter().map(ToString::to_string).collect();
    let (last, parents) = names.split_last()?;
    let siblings = known.iter().filter(|other| other.len() == names.len() && other.starts_with(parents));
    let siblings: Vec<&str> = siblings.filter_map(|other| other.last()).map(String::as_str).collect();
    let at = |name: &str| parents.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join(".");
    let near = nearest(last, &siblings);
    if let Some(name) = near.first() {
        return Some(at(name));
    }
    // The shortest path with this key at its end, as `image.tag` for `tag`, unless several are.
    let mut same: Vec<&Vec<String>> = known.iter().filter(|other| other.last() == Some(last)).collect();
    same.sort_by_key(|path| path.len());
    match same[..] {
        [only] => Some(only.join(".")),
        [first, second, ..] if first.len() < second.len() => Some(first.join(".")),
        _ => None,
    }
}

/// Warns of keys that occur twice in a map of a values file.
fn report_duplicates(layers: &[ValuesLayer], reporter: &mut dyn Reporter) {
    for layer in layers {
        let read;
        let (name, text) = match layer {
            ValuesLayer::File(path) => match input::read_values(path) {
                Ok(text) => {
                    read = text;
                    (path.to_string_lossy().into_owned(), read.as_slice())
                }
                Err(_) => continue,
            },
            ValuesLayer::Bytes { name, content } => (name.clone(), content.as_slice()),
            _ => continue,
        };
        if !may_repeat_keys(text) || pintle_yaml::read_strict(text).is_ok() {
            continue;
        }
        for (path, first, second) in duplicate_keys(text).into_iter().take(MAX_REPORTED) {
            let message = format!(
                "`{path}` is set twice, at {name}:{first} and at {name}:{second}; the later one counts"
            );
            reporter.log(LogLine::warn(message, Vec::new()));
        }
    }
}

/// Whether some key may occur twice in a map in block style. Reading a text as YAML takes several times as long; text blocks
/// can look like keys.
fn may_repeat_keys(text: &[u8]) -> bool {
    let mut levels: Vec<(usize, BTreeSet<&[u8]>)> = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        let mut body = trimmed(line);
        if body.trim_ascii().is_empty() || body.starts_with(b"#") {
            continue;
        }
        if body.starts_with(b"---") {
            levels.clear();
            continue;
        }
        while let Some(item) = body.strip_prefix(b"- ") {
            body = trimmed(item);
            // Every item of a list is a map of its own.
            let depth = line.len() - body.len();
            levels.retain(|(level, _)| *level < depth);
        }
        let depth = line.len() - body.len();
        while levels.last().is_some_and(|(level, _)| *level > depth) {
            levels.pop();
        }
        let Some(colon) = memchr::memchr(b':', body) else { continue };
        if levels.last().is_none_or(|(level, _)| *level != depth) {
            levels.push((depth, BTreeSet::new()));
        }
        if levels.last_mut().is_some_and(|(_, keys)| !keys.insert(&body[..colon])) {
            return true;
        }
    }
    false
}

fn trimmed(line: &[u8]) -> &[u8] {
    let blanks = line.iter().take_while(|byte| **byte == b' ').count();
    &line[blanks..]
}

/// The keys that occur twice in the same map of a text: the path, and the lines.
fn duplicate_keys(text: &[u8]) -> Vec<(String, usize, usize)> {
    let Ok(outline) = Outline::read(text) else { return Vec::new() };
    let mut found = Vec::new();
    for root in outline.roots() {
        visit(root, "", 0, &mut found);
    }
    found
}

fn visit(node: NodeRef<'_>, path: &str, depth: usize, found: &mut Vec<(String, usize, usize)>) {
    // An alias repeats what was seen at its anchor, and may do so without end.
    if depth > MAX_DEPTH || node.kind() == Kind::Alias {
        return;
    }
    let mut seen: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for entry in node.entries() {
        let key = entry.key.text().into_owned();
        let name = String::from_utf8_lossy(&key).into_owned();
        let below = if path.is_empty() { name } else { format!("{path}.{name}") };
        if let Some(first) = seen.insert(key, entry.key.line()) {
            found.push((below.clone(), first, entry.key.line()));
        }
        visit(entry.value, &below, depth + 1, found);
    }
    for (index, item) in node.items().enumerate() {
        visit(item, &format!("{path}[{index}]"), depth + 1, found);
    }
}

#[cfg(test)]
mod tests {
    use pintle_chart::{File, load_files};

    use super::*;

    const VALUES: &str =
        "replicaCount: 1\nimage: {repository: a, tag: b}\npodAnnotations: {}\nservice: {port: 80}\n";
    const TEMPLATE: &str = "{{ .Values.replicaCount }}{{ .Values.image.tag }}{{ toYaml .Values.service }}\
                            {{ .Values.hidden.key }}{{ with .Values.image }}{{ .repository }}{{ end }}";

    #[derive(Default)]
    struct Lines(Vec<String>);

    impl Reporter for Lines {
        fn report(&mut self, progress: crate::Progress) {
            if let crate::Progress::Message(message) = progress {
                self.0.push(message.line.message.into_owned());
            }
        }
    }

    fn warned_of(template: &str, set: &str) -> Vec<String> {
        let metadata = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
        let files = [("Chart.yaml", metadata), ("values.yaml", VALUES), ("templates/a.yaml", template)];
        let files = files.map(|(name, text)| File::new(name, text.as_bytes())).to_vec();
        let chart = load_files(files).expect("a good chart");
        let layers = [ValuesLayer::Set(set.to_owned())];
        let user = input::user_values(&layers).expect("good values");
        let mut lines = Lines::default();
        report(&chart, &user, &layers, &mut lines);
        lines.0
    }

    #[test]
    fn misspelt_keys_are_reported_with_the_nearest_one() {
        let found = warned_of(TEMPLATE, "replicaCont=1,image.tga=c,tag=d,nonsense=e");
        assert_eq!(
            found,
            [
                "no template reads the value `image.tga` (--set); did you mean `image.tag`?",
                "no template reads the value `nonsense` (--set)",
                "no template reads the value `replicaCont` (--set); did you mean `replicaCount`?",
                "no template reads the value `tag` (--set); did you mean `image.tag`?",
            ]
        );
    }

    #[test]
    fn what_a_template_reads_or_may_read_is_not_reported() {
        let read =
            "podAnnotations.a=b,service.nodePort=1,hidden.key=c,replicaCount=2,image.repository=x,gone=null";
        assert!(warned_of(TEMPLATE, read).is_empty());
        assert!(warned_of("{{ toYaml .Values }}", "nonsense=e").is_empty(), "read as a whole");
        let indexed = "{{ (index .Values \"x.ini\").server }}";
        assert!(warned_of(indexed, "x\\.ini.server.root=1").is_empty(), "read by its name");
        let printed = "{{ with .Values.service }}{{ toYaml . }}{{ end }}";
        assert!(warned_of(printed, "service.nodePort=1").is_empty(), "printed as the context");
    }

    #[test]
    fn searching_a_map_for_other_keys_reads_no_misspelt_one() {
        let searched = "{{ hasKey .Values.service \"nodePort\" }}{{ .Values.service.port }}";
        assert_eq!(
            warned_of(searched, "service.prot=1"),
            ["no template reads the value `service.prot` (--set); did you mean `service.port`?"]
        );
        let with_checksum = "{{ include (print $.Template.BasePath \"/a.yaml\") . }}";
        assert_eq!(warned_of(with_checksum, "nonsense=1").len(), 1);
        assert!(
            warned_of("{{ tpl .Values.image.tag . }}", "image.tag=v{{ .Values.x }},x=e").is_empty(),
            "evaluated"
        );
    }

    #[test]
    fn keys_that_occur_twice_are_found_with_both_lines() {
        let text = b"a: 1\nb:\n  c: 1\n  d: [{e: 1, e: 2}]\na: 2\n";
        assert!(may_repeat_keys(text) && may_repeat_keys(b"a:\n- b: 1\n  b: 2\n"));
        let none = b"a:\n- b: 1\n- b: 2\nc:\n  b: 1\nd:\n  b: 2\n---\na: 1\n";
        assert!(!may_repeat_keys(none), "items and maps have their own keys");
        let found = duplicate_keys(text);
        assert_eq!(found, [("b.d[0].e".to_owned(), 4, 4), ("a".to_owned(), 1, 5)]);
        assert!(duplicate_keys(b"a: &x {b: 1}\nc: *x\n").is_empty());
    }
}
