//! Paths and what they find.

use super::Path;

/// path | document | what is found, or the error
const FOUND: &str = r#"
a | {a: 1} | 1
$.a | {a: 1} | 1
.a.b | {a: {b: x}} | x
a.b[0] | {a: {b: [x, y]}} | x
a[-1] | {a: [x, y]} | y
a[0:2] | {a: [x, y, z]} | x y
a[::-1] | {a: [x, y, z]} | z y x
a[0,2] | {a: [x, y, z]} | x z
a[*] | {a: [x, y]} | x y
a.* | {a: {c: 1, b: 2}} | 2 1
a[*] | {a: {c: 1, b: 2}} | 2 1
a["b.c/d"] | {a: {b.c/d: 1}} | 1
a['b','c'] | {a: {b: 1, c: 2}} | 1 2
a["b"]["c"] | {a: {b: {c: 1}}} | 1
a.b/c-d | {a: {b/c-d: 1}} | 1
a.b\.c | {a: {b: {c: 1}}} | 1
a[*]~ | {a: {c: 1, b: 2}} | b c
a.b~ | {a: {b: 1}} | b
a['b']~ | {a: {b: 1}} | b
..b | {a: {b: 1}, c: [{b: 2}]} | 1 2
a..[0] | {a: {b: [x, y]}} | x
a[?(@.n=="x")].v | {a: [{n: x, v: 1}, {n: y, v: 2}]} | 1
a[?(@.n == 'x')].v | {a: [{n: x, v: 1}, {n: y, v: 2}]} | 1
a[?(@.n != "x")].v | {a: [{n: x, v: 1}, {n: y, v: 2}]} | 2
a[?(@.v > 1)].v | {a: [{v: 1}, {v: 2}, {v: 3}]} | 2 3
a[?(@.v >= 2 && @.v < 3)].v | {a: [{v: 1}, {v: 2}, {v: 3}]} | 2
a[?(@.v == 1 || @.v == 3)].v | {a: [{v: 1}, {v: 2}, {v: 3}]} | 1 3
a[?(!@.v)].n | {a: [{v: 1}, {n: 2}]} | 2
a[?(@.v)].v | {a: [{v: 1}, {n: 2}]} | 1
a[?(@ == "x")] | {a: [x, y]} | x
a[?(@.n =~ /^x.*/)].n | {a: [{n: xy}, {n: yx}]} | xy
a[?(@.b.c == true)].n | {a: [{n: 1, b: {c: true}}, {n: 2}]} | 1
a[?(@.n == $.w)].v | {w: y, a: [{n: x, v: 1}, {n: y, v: 2}]} | 2
a[?(@.l[?(@.k == "x")])].v | {a: [{l: [{k: x}], v: 1}, {l: [], v: 2}]} | 1
..["b"] | {a: {b: 1}} | 1
..a | {a: {a: 1}} | 1 a: 1
a[?(@.n > $.w)].n | {w: b, a: [{n: a}, {n: c}]} | c
a[0,*] | {} | invalid array index [0,*] before position 6: error in union member 1: wildcard cannot be used in union
a[?(@.v == 1)][0] | {a: [{v: 1}]} | nothing
a[?((@.v == 1 || @.v == 2) && @.n)].n | {a: [{v: 1}, {v: 2, n: x}]} | x
..[?(@.v == 1)].n | {a: {v: 1, n: x}} | x
a | [1] | nothing
a[0] | {a: text} | nothing
a b | {} | invalid character ' ' at position 1, following "a"
a. | {} | child name missing at position 2, following "a."
a[ | {} | unmatched [ at position 2, following "a["
a[x] | {} | invalid array index [x] before position 4: non-integer array index
a[] | {} | subscript missing from [] before position 3
a[?(@.b == )] | {} | invalid filter term at position 11, following "== "
"#;

#[test]
fn paths_find_what_yaml_jsonpath_finds() {
    for line in FOUND.lines().filter(|line| !line.is_empty()) {
        // Filters contain bars, so the columns are separated by bars with blanks, from the right.
        let mut columns = line.rsplitn(3, " | ");
        let expected = columns.next().expect("a result");
        let document = crate::document::read(columns.next().expect("a document").as_bytes()).unwrap();
        let path = columns.next().expect("a path");
        let found = match Path::new(path).find(&document) {
            Ok(found) if found.is_empty() => "nothing".to_owned(),
            Ok(found) => found.iter().map(|node| shown(node)).collect::<Vec<_>>().join(" "),
            Err(error) => error,
        };
        assert_eq!(found, expected, "{path}");
    }
}

fn shown(node: &pintle_tree::Node) -> String {
    if let Some(text) = node.as_str() {
        return text.to_owned();
    }
    String::from_utf8(pintle_yaml::write_pretty(node)).unwrap().trim().to_owned()
}

#[test]
fn the_empty_path_is_the_document() {
    let document = crate::document::read(b"{a: 1}").unwrap();
    assert_eq!(Path::new("").find(&document).unwrap()[0].as_ref(), &document);
}
