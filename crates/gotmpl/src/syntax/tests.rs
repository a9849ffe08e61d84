//! The tree against the strict parser, and what it makes of malformed sources.

use pintle_tree::Str;

use super::*;
use crate::{Args, CallResult, Function, Set, Type, Value};

fn functions() -> Functions {
    fn nothing(_: Args<'_>) -> CallResult {
        Ok(Value::Nil)
    }
    let mut functions = Functions::new();
    for name in ["default", "dict", "get", "include", "list", "nindent", "quote", "toYaml", "tpl"] {
        functions.add(Function::pure(name, &[], Some(Type::Any), Type::Any, nothing));
    }
    functions
}

fn tree(text: &str) -> SyntaxTree {
    SyntaxTree::parse(text, &functions())
}

/// The tree in one line: kinds, and the text of leaves.
fn shown(tree: &SyntaxTree) -> String {
    fn show(tree: &SyntaxTree, node: NodeId, into: &mut String) {
        let children: Vec<NodeId> = tree.children(node).collect();
        into.push_str(&format!("{:?}", tree.kind(node)));
        if children.is_empty() {
            into.push_str(&format!(" {:?}", String::from_utf8_lossy(tree.text_of(node))));
            return;
        }
        into.push('(');
        for (index, child) in children.iter().enumerate() {
            if index > 0 {
                into.push_str(", ");
            }
            show(tree, *child, into);
        }
        into.push(')');
    }
    let mut text = String::new();
    show(tree, NodeId::ROOT, &mut text);
    text
}

fn errors(text: &str) -> Vec<String> {
    tree(text).errors().iter().map(|error| format!("{:?} {}", error.range, error.message)).collect()
}

/// Sources of all kinds, good and bad.
const SOURCES: &[&str] = &[
    "",
    "text",
    "{{}}",
    "{{ . }}",
    "a {{- .a.b -}} c",
    "{{- /* c */ -}} x {{/* d */}}",
    "{{/* open",
    "{{/* a */ b}}",
    "{{ .a",
    "{{ .Values. }}",
    "{{ .Values.a-b }}",
    "{{ $x := 1 }}{{ $x }}{{ $x = 2 }}",
    "{{ $x }}",
    "{{ if .a }}b{{ else if .c }}d{{ else }}e{{ end }}",
    "{{ if .a }}b{{ else }}c{{ else }}d{{ end }}",
    "{{ with $x := .a }}{{ $x.b }}{{ else with .c }}{{ . }}{{ else }}{{ $x }}{{ end }}{{ $x }}",
    "{{ range $i, $e := .a }}{{ $i }}{{ break }}{{ else }}{{ $e }}{{ end }}",
    "{{ range $i, $e, $f := .a }}{{ end }}",
    "{{ range .a }}{{ else }}{{ continue }}{{ end }}",
    "{{ range .a }}{{ else if .b }}{{ end }}",
    "{{ break }}",
    "{{ end }}",
    "{{ else }}",
    "{{ if .a }}",
    "{{ define \"a\" }}x{{ end }}{{ define \"b\" }}{{ template \"a\" . }}{{ end }}",
    "{{ define \"a\" }}x{{ end }}{{ define \"a\" }}y{{ end }}",
    "{{ define \"a\" }}x{{ end }}{{ define \"a\" }} {{/* c */}} {{ end }}",
    "{{ define a }}{{ end }}",
    "{{ if .a }}{{ define \"x\" }}{{ end }}{{ end }}",
    "{{ block \"a\" $y := .b }}{{ .c }}{{ end }}{{ $y }}",
    "{{ block \"a\" }}{{ end }}",
    "{{ template \"a\" }}{{ template \"a\" .b | quote }}{{ template .a }}",
    "{{ default .a (get .b \"c\").d | quote }}",
    "{{ (.a }}{{ .b) }}{{ () }}",
    "{{ .a | }}{{ | .a }}{{ .a || .b }}",
    "{{ .a | .b }}{{ .a | \"b\" }}{{ .a | quote | 1 }}",
    "{{ \"a\\n\" }}{{ `raw {{ }} x` }}{{ 'c' }}{{ \"bad\\q\" }}",
    "{{ \"open }}",
    "{{ `open }}",
    "{{ 1 }}{{ -1.5e3 }}{{ 0x1F }}{{ 1+2i }}{{ 1x }}{{ 99999999999999999999 }}",
    "{{ true.a }}{{ nil }}{{ \"a\".b }}{{ quote.a }}",
    "{{ nofunction .a }}",
    "{{ quote\"a\" }}{{ quote(.a) }}",
    "{{ end x }}",
    "{{ $x=1 }}{{ $y:=1 }}{{ : }}{{ $z, := 1 }}",
    "{{ .a ! .b }}{{ ü }}{{ .ü }}",
    "{{ if }}{{ end }}{{ with }}{{ end }}{{ range }}{{ end }}",
    "{{ if .a }}{{ $v := 1 }}{{ else }}{{ $v }}{{ end }}{{ $v }}",
    "{{- .a}}{{.b -}}\r\n{{- -}}",
    "{{ $.a.b }}{{ ($).c }}{{ $x.y }}",
    "{{ .\n a }}{{\n.a\n}}",
    "{{ if .a }}{{ end }}{{ end }}{{ .b }}",
    "{{ template \"a\" . }} { } }} {{ .c }}",
];

#[test]
fn the_tree_has_errors_exactly_where_the_strict_parser_fails() {
    for source in SOURCES {
        let strict = Set::new(functions()).parse("t", *source);
        let errors = errors(source);
        assert_eq!(errors.is_empty(), strict.is_ok(), "{source}: {strict:?}, {errors:?}");
    }
}

#[test]
fn every_byte_is_in_one_token_and_every_part_in_its_whole() {
    for source in SOURCES {
        for end in (0..=source.len()).filter(|end| source.is_char_boundary(*end)) {
            check_ranges(&source[..end]);
        }
    }
}

fn check_ranges(source: &str) {
    let tree = tree(source);
    let text: Vec<u8> =
        tree.tokens().iter().flat_map(|token| source.as_bytes()[token.range.clone()].to_vec()).collect();
    assert_eq!(text, source.as_bytes(), "{source:?}");
    for node in tree.nodes() {
        let range = tree.range(node);
        let mut at = range.start;
        for child in tree.children(node) {
            let part = tree.range(child);
            assert!(part.start >= at && part.end <= range.end, "{source:?}: {}", shown(&tree));
            at = part.end;
        }
    }
}

#[test]
fn blocks_have_clauses_and_bodies_in_turn() {
    let tree = tree("{{ if .a }}b{{ else if $.c }}{{ else }}e{{ end }}");
    assert_eq!(
        shown(&tree),
        "Body(If(Opening(Pipeline(Command(Selector(Field \".a\")))), Body(Text \"b\"), \
         Else(Pipeline(Command(Selector(Variable \"$\", Field \".c\")))), Body \"\", Else \"{{ else }}\", \
         Body(Text \"e\"), End \"{{ end }}\"))"
    );
    let block = tree.children(NodeId::ROOT).next().expect("a block");
    assert_eq!(tree.clauses(block).len(), 4);
}

#[test]
fn what_is_being_typed_does_not_disturb_the_rest() {
    let tree = tree("a: {{ .Values.\nb: {{ .Values.b }}\n");
    assert_eq!(tree.errors().len(), 2, "{:?}", tree.errors());
    assert_eq!(
        shown(&tree),
        "Body(Text \"a: \", Action(Pipeline(Command(Selector(Field \".Values\", Field \".\")))), \
         Text \"\\nb: \", Action(Pipeline(Command(Selector(Field \".Values\", Field \".b\")))), Text \"\\n\")"
    );
    assert_eq!(
        errors("{{ if .a }}\n{{ .b }}\n{{ define \"x\" }}{{ end }}"),
        ["0..11 unexpected EOF: `if` has no {{end}}"]
    );
    assert_eq!(
        errors("{{ .a.b-c }} {{ nope }}"),
        ["7..9 bad character U+002D '-'", "16..20 function \"nope\" not defined"]
    );
}

#[test]
fn a_position_leads_to_the_innermost_node() {
    let text = "x: {{ default .a.bc (.d).e }}";
    let tree = tree(text);
    let at = |offset: usize| String::from_utf8_lossy(tree.text_of(tree.node_at(offset))).into_owned();
    assert_eq!(at(text.find("bc").expect("bc") + 2), ".bc");
    assert_eq!(at(text.find(".d").expect("d") + 1), ".d");
    assert_eq!(at(8), "default");
    assert_eq!(tree.kind(tree.node_at(1)), NodeKind::Text);
    let field = tree.node_at(text.find("bc").expect("bc"));
    let kinds: Vec<NodeKind> = tree.ancestors(field).map(|node| tree.kind(node)).collect();
    assert_eq!(kinds[..3], [NodeKind::Field, NodeKind::Selector, NodeKind::Command]);
    assert_eq!(tree.string(tree.node_at(0)), None::<Str>);
}
