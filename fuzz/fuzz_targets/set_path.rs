//! Any text in each of the five grammars of `--set`, on a map that already holds something.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_tree::{Map, Node, json, set};

fn base() -> Map<Node> {
    pintle_yaml::read_map(b"a: {b: [1, {c: 2}], d: text}\nl: [[x], null]\nn: null\ns: scalar\n")
        .expect("the base is YAML")
}

fuzz_target!(|text: &[u8]| {
    let mut read =
        |path: &str| if path.is_empty() { Err("no such file".to_owned()) } else { Ok(b"x,y\n".to_vec()) };
    let results = [
        applied(|map| set::assign(text, map)),
        applied(|map| set::assign_strings(text, map)),
        applied(|map| set::assign_json(text, map)),
        applied(|map| set::assign_files(text, map, &mut read)),
        applied(|map| set::assign_literal(text, map)),
    ];
    for map in &results {
        // Whatever was set, it is a tree that can be written.
        let _ = json::write(map);
    }
});

fn applied(assign: impl FnOnce(&mut Map<Node>) -> Result<(), set::Error>) -> Map<Node> {
    let mut map = base();
    if let Err(error) = assign(&mut map) {
        assert!(!error.to_string().is_empty());
    }
    map
}
