//! Reports as dyff writes them.

use crate::{Index, Options, ParseOptions, Report};

fn report(old: &str, new: &str) -> String {
    let old = Index::parse(old.as_bytes(), &ParseOptions::default()).expect("a good manifest");
    let new = Index::parse(new.as_bytes(), &ParseOptions::default()).expect("a good manifest");
    let report = Report::new(old, new, &Options::default());
    let mut out = Vec::new();
    report.expect("good options").write_dyff(&mut out, false).expect("written");
    String::from_utf8(out).expect("text")
}

fn object(name: &str, rest: &str) -> String {
    format!("apiVersion: v1\nkind: A\nmetadata:\n  name: {name}\n{rest}")
}

#[test]
fn items_are_matched_by_name() {
    let text = |image: &str, more: &str| {
        object(
            "web",
            &format!(
                "spec:\n  containers:\n  - name: a\n    image: x\n  - name: b\n    image: {image}\n{more}"
            ),
        )
    };
    assert_eq!(
        report(&text("i:1", ""), &text("i:2", "  replicas: 2\n")),
        "\nspec\n+ one map entry added:\nreplicas: 2\n\nspec.containers.b.image\n± value change\n- i:1\n+ i:2\n\n"
    );
}

#[test]
fn keys_and_texts_are_those_of_go_yaml_3() {
    let text = |n: &str, line: &str| {
        object("a", &format!("spec:\n  n: {n}\n  text: |\n    one\n    {line}\n    three\n"))
    };
    assert_eq!(
        report(&text("1", "two"), &text("2", "2")),
        "\nspec.n\n± value change\n- 1\n+ 2\n\nspec.text\n± value change in multiline text (one insert, one deletion)\n- two\n+ 2\n\n\n"
    );
}

#[test]
fn lists_without_names_are_compared_by_value_and_order() {
    let text = |list: &str| object("a", &format!("spec: {{list: {list}}}\n"));
    for (old, new, want) in [
        (
            "[a, b, b]",
            "[b, c]",
            "\nspec.list\n- two list entries removed:   + one list entry added:\n- a                           - c\n- b\n",
        ),
        (
            "['1', b]",
            "[1, b]",
            "\nspec.list\n- one list entry removed:   + one list entry added:\n- \"1\"                       - 1\n",
        ),
        ("[a, b]", "[b, a]", "\nspec.list\n⇆ order changed\n- a, b\n+ b, a\n"),
        ("[a]", "[b]", "\nspec.list.0\n± value change\n- a\n+ b\n"),
        ("[{k: '1'}, {k: b}]", "[{k: 1}, {k: b}]", ""),
        ("[]", "x", "\nspec.list\n± type change from list to string\n-\n+ x\n"),
        ("' a'", "a", ""),
        ("~", "null", ""),
        ("~", "yes", "\nspec.list\n± type change from <nil> to string\n- <nil>\n+ yes\n"),
    ] {
        assert_eq!(report(&text(old), &text(new)), format!("{want}\n"), "{old} {new}");
    }
}

#[test]
fn documents_are_matched_by_what_they_identify() {
    let manifest = |one: &str, other: &str| format!("{}---\n{}", object("a", one), object(other, ""));
    let document = |name: &str| format!("apiVersion: v1\nkind: A\nmetadata:\n  name: {name}\n");
    let want = [
        "\nx  (v1/A/a)\n± value change\n- 1\n+ 2\n",
        &format!("\n(root level)  (v1/A/b)\n- one document removed:\n{}", document("b")),
        &format!("\n(root level)  (v1/A/c)\n+ one document added:\n{}", document("c")),
        "\n(file level)\n⇆ order changed\n- v1/A/a, v1/A/b\n+ v1/A/a, v1/A/c\n",
        "\n",
    ];
    assert_eq!(report(&manifest("x: 1\n", "b"), &manifest("x: 2\n", "c")), want.concat());
}

#[test]
fn well_known_keys_come_first_and_long_lines_stand_below_each_other() {
    let long = "x".repeat(90);
    let old = object("a", "list:\n- {name: b}\n");
    let new = object("a", &format!("list:\n- {{deep: {{c: 1}}, value: {long}, name: d}}\n"));
    assert_eq!(
        report(&old, &new),
        format!(
            "\nlist\n- one list entry removed:\n- name: b\n\n+ one list entry added:\n- name: d\n  value: {long}\n  deep:\n    c: 1\n\n\n\n"
        )
    );
}

#[test]
fn long_names_in_another_order_stand_beside_each_other() {
    let names = |first: &str, second: &str| {
        object("a", &format!("list:\n- {{name: {first}, rules: 1}}\n- {{name: {second}, rules: 1}}\n"))
    };
    let (one, two) = ("x".repeat(20), "y".repeat(20));
    assert_eq!(
        report(&names(&one, &two), &names(&two, &one)),
        format!("\nlist\n⇆ order changed\n  {one}   {two}\n  {two}   {one}\n")
    );
}
