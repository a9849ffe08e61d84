//! Any text as YAML: both readers agree, and what was read survives being written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_tree::Node;
use pintle_yaml::outline::{Edits, Outline};

fuzz_target!(|text: &[u8]| {
    let faithful = pintle_yaml::read_faithfully(text);
    if let Some(fast) = pintle_yaml::read_fast(text) {
        let faithful = faithful.as_ref().expect("what the fast reader reads, the faithful one reads too");
        assert_eq!(&fast, faithful, "the readers disagree");
    }
    let outcome = pintle_yaml::read(text);
    assert_eq!(outcome.is_ok(), faithful.is_ok(), "reading depends on the reader");
    assert_eq!(outcome.is_ok(), pintle_yaml::validate(text).is_ok(), "validation and reading disagree");
    // Streams and strict reading share the readers; here they only must not panic.
    let _ = pintle_yaml::read_documents(text);
    let _ = pintle_yaml::read_values(text);
    if let Ok(strict) = pintle_yaml::read_strict(text) {
        assert_eq!(Some(&strict), outcome.as_ref().ok(), "strict reading changes the result");
    }
    if let Ok(tree) = &outcome {
        survives_writing(tree);
    }
    has_an_outline(text, outcome.is_ok());
});

/// Only readable texts have an outline, and without edits the text is unchanged.
fn has_an_outline(text: &[u8], readable: bool) {
    match Outline::read_first(text) {
        Ok(outline) => {
            assert!(readable, "an outline of what cannot be read");
            assert_eq!(
                Edits::new(&outline).apply().as_deref(),
                Ok(text),
                "nothing was changed, and yet it was"
            );
        }
        Err(error) => assert!(!readable || error.to_string().contains("UTF-16"), "no outline: {error}"),
    }
    let _ = Outline::read(text);
}

fn survives_writing(tree: &Node) {
    let pretty = pintle_yaml::write_pretty(tree);
    let Ok(written) = pintle_yaml::write(tree) else { return };
    if is_plain(tree) {
        let again = pintle_yaml::read(&written).expect("what was written can be read");
        assert_eq!(&again, tree, "writing changed the tree");
        let again = pintle_yaml::read(&pretty).expect("what was written prettily can be read");
        assert_eq!(&again, tree, "pretty writing changed the tree");
    }
}

/// Whether Go's writer preserves all texts: it loses some line separators and control characters.
fn is_plain(node: &Node) -> bool {
    let plain = |text: &[u8]| text.iter().all(|byte| matches!(byte, b'\n' | b' '..=b'~'));
    match node {
        Node::Str(text) => plain(text.as_bytes()),
        Node::List(list) => list.iter().all(is_plain),
        // The key `<<` is written bare, as Go does it, and then means a merge.
        Node::Map(map) => {
            map.iter().all(|(key, value)| key != "<<" && plain(key.as_bytes()) && is_plain(value))
        }
        _ => true,
    }
}
