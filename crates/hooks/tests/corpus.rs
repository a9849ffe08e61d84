//! Renders real charts and makes every object a hook with two events: splitting text and splitting trees must agree.
//! Skipped where the recordings are absent.

#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use std::fs::File;
use std::io::Read as _;

use pintle_hooks::{Filter, split};
use pintle_objects::Object;
use pintle_tree::{Map, Node};
use pintle_yaml::outline::{Edits, Kind, Outline, documents};

/// The document with a hook annotation, inserted as a person would. `None` for what is not an object.
fn as_hook(text: &[u8]) -> Option<Vec<u8>> {
    let outline = Outline::read_first(text).ok()?;
    let metadata = outline.roots().next()?.get("metadata").filter(|place| place.kind() == Kind::Mapping)?;
    let events = Node::from("pre-install,test");
    let mut edits = Edits::new(&outline);
    match metadata.get("annotations") {
        Some(annotations) if annotations.kind() == Kind::Mapping => {
            edits.set(annotations, "helm.sh/hook", &events)
        }
        _ => {
            let annotations = Map::from_entries(vec![("helm.sh/hook".into(), events)]);
            edits.set(metadata, "annotations", &Node::Map(annotations));
        }
    }
    Some(edits.apply().unwrap())
}

fn objects(text: &[u8]) -> Vec<Object> {
    let read = documents(text).map(|document| pintle_yaml::read_exact(&text[document.range]).unwrap());
    read.filter_map(|node| if let Node::Map(body) = node { Some(Object::new(body)) } else { None }).collect()
}

#[test]
fn the_text_of_real_charts_comes_out_as_their_trees_do() {
    let Some(folder) = pintle_testkit::corpus("goldens/render") else { return };
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let every = if cfg!(debug_assertions) { 4 } else { 1 };
    let (mut hooks, mut untouched) = (0, 0);
    for path in
        paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "tgz")).step_by(every)
    {
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(File::open(path).unwrap()));
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            if !entry.path().unwrap().to_string_lossy().ends_with("default.out") {
                continue;
            }
            let mut text = Vec::new();
            entry.read_to_end(&mut text).unwrap();
            for document in documents(&text) {
                let Some(hook) = as_hook(&text[document.range]) else { continue };
                let Ok(expected) = split(&objects(&hook)) else { continue };
                let out = Filter::read(&hook).unwrap().to_vec();
                let expected: Vec<Object> = expected.into_iter().flatten().collect();
                assert_eq!(objects(&out), expected, "{}", String::from_utf8_lossy(&out));
                hooks += 1;
                untouched += usize::from(hook == out);
            }
        }
    }
    println!("{hooks} objects were split");
    assert!(hooks > 100 && untouched == 0);
}
