//! Nesting costs no stack while reading, and what has been read can be copied, written and dropped.

use pintle_tree::Node;

/// The maximum depth in Go.
const DEPTH: usize = 10_000;

fn nested(depth: usize) -> String {
    ["[".repeat(depth), "]".repeat(depth)].concat()
}

/// Runs on the stack that the main thread of a program has. Copying the deepest map takes more than a quarter of it;
/// without optimization the frames are several times as large, and so is the stack.
fn on_a_usual_stack(run: fn()) {
    let size = if cfg!(debug_assertions) { 32 << 20 } else { 8 << 20 };
    let thread = std::thread::Builder::new().stack_size(size).spawn(run);
    thread.expect("a thread can be started").join().expect("the thread ends well");
}

#[test]
fn the_deepest_tree_can_be_used() {
    on_a_usual_stack(|| {
        let tree = pintle_yaml::read(nested(DEPTH).as_bytes()).unwrap();
        let copy = tree.clone();
        assert!(matches!(copy, Node::List(_)));
        drop(copy);
        assert!(pintle_yaml::write(&tree).unwrap().starts_with(b"- - - "));
        assert!(pintle_yaml::write_pretty(&tree).starts_with(b"- - - "));
        let map = ["{a: ".repeat(DEPTH), "}".repeat(DEPTH)].concat();
        let tree = pintle_yaml::read(map.as_bytes()).unwrap();
        assert!(tree.clone().get("a").is_some());
        assert!(pintle_yaml::to_json(map.as_bytes()).is_ok());
    });
}

#[test]
fn deeper_texts_are_errors_on_a_small_stack() {
    let run = || {
        for (text, error) in [
            (nested(DEPTH + 1), "error converting YAML to JSON: yaml: exceeded max depth of 10000"),
            ("- ".repeat(DEPTH + 1), "error converting YAML to JSON: yaml: exceeded max depth of 10000"),
            (
                ["- ".repeat(DEPTH - 1), nested(2)].concat(),
                "error unmarshaling JSON: while decoding JSON: invalid character '[' exceeded max depth",
            ),
        ] {
            let found = pintle_yaml::validate(text.as_bytes()).unwrap_err();
            assert_eq!(found.to_string(), error);
        }
        // Errors print keys that are collections, but only up to a limit.
        let key = ["? ".repeat(5000), "a".to_owned()].concat();
        assert!(pintle_yaml::validate(key.as_bytes()).is_err());
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run);
    thread.expect("a thread can be started").join().expect("the thread ends well");
}

#[test]
fn aliases_that_multiply_are_an_error() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        text += &format!("a{level}: &a{level} [{items}]\n");
    }
    let error = pintle_yaml::validate(text.as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "error converting YAML to JSON: yaml: document contains excessive aliasing"
    );
}
