//! Compares patches with those of Kubernetes' Go libraries for the same objects, and checks that applying them gives
//! the desired object. The answers in `data` were recorded from k8s.io/apimachinery and k8s.io/client-go 0.36.

use pintle_objects::Object;
use pintle_plan::managed_fields::{self, Managers};
use pintle_plan::patch::{MergeKeys, three_way_json, three_way_strategic, two_way_json};
use pintle_tree::{Node, json};

use crate::apply::{apply_json_patch, apply_strategic, covers};
use crate::recorded::{Case, cases, openapi, text};

const OPENAPI: &[u8] = include_bytes!("../data/openapi.json");

fn keys() -> MergeKeys {
    MergeKeys::parse(OPENAPI).expect("the extract is JSON")
}

/// Compares an answer with the recorded one, and shows both when they differ.
fn compare(case: &Case, answer: Result<Node, String>, problems: &mut Vec<String>) {
    let wanted = match &case.error {
        Some(error) => Err(error.clone()),
        None => Ok(case.patch.clone()),
    };
    if answer != wanted {
        let spelled = |answer: &Result<Node, String>| answer.as_ref().map(text).map_err(Clone::clone);
        problems.push(format!(
            "{}\n  wanted {:?}\n  made   {:?}",
            case.name,
            spelled(&wanted),
            spelled(&answer)
        ));
    }
}

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "{} cases differ:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn strategic_patches_are_those_of_kubernetes() {
    let keys = keys();
    let mut problems = Vec::new();
    let cases = cases(include_bytes!("../data/strategic.json"));
    assert!(cases.len() > 60);
    for case in &cases {
        let patch = three_way_strategic(&case.original, &case.modified, &case.current, &keys);
        compare(case, patch.map(Node::Map).map_err(|error| error.to_string()), &mut problems);
    }
    assert_none(&problems);
}

#[test]
fn json_merge_patches_are_those_of_kubernetes() {
    let mut problems = Vec::new();
    for case in &cases(include_bytes!("../data/merge.json")) {
        let patch = match case.how.as_str() {
            "merge2" => Ok(two_way_json(&case.original, &case.modified)),
            _ => three_way_json(&case.original, &case.modified, &case.current),
        };
        compare(case, patch.map(Node::Map).map_err(|error| error.to_string()), &mut problems);
    }
    assert_none(&problems);
}

#[test]
fn managed_fields_are_handed_over_as_kubernetes_does_it() {
    let mut problems = Vec::new();
    for case in &cases(include_bytes!("../data/fields.json")) {
        match (managed_fields::upgrade(&case.current, Managers::Current), &case.error) {
            (Ok(patch), _) => compare(case, Ok(patch.unwrap_or_default()), &mut problems),
            // Go's message continues with an offset, which we do not have.
            (Err(error), Some(wanted)) if wanted.starts_with(&error.to_string()) => {}
            (Err(error), _) => compare(case, Err(error.to_string()), &mut problems),
        }
    }
    assert_none(&problems);
}

#[test]
fn a_managed_fields_patch_leaves_nothing_to_hand_over() {
    for case in &cases(include_bytes!("../data/fields.json")) {
        let Ok(Some(patch)) = managed_fields::upgrade(&case.current, Managers::Current) else { continue };
        let mut object = case.current.clone();
        apply_json_patch(&mut object, &patch);
        let again = managed_fields::upgrade(&object, Managers::Current).expect("what we wrote can be read");
        assert_eq!(again, None, "{}", case.name);
    }
}

/// The applier is for tests only, so it is checked against Kubernetes' answers first.
#[test]
fn applying_a_strategic_patch_gives_what_kubernetes_gives() {
    let types = openapi(OPENAPI);
    let mut problems = Vec::new();
    for case in cases(include_bytes!("../data/strategic.json")).iter().filter(|case| case.error.is_none()) {
        let (Node::Map(patch), Some(wanted)) = (case.patch.clone(), &case.applied) else { continue };
        let made = Node::Map(apply_strategic(case.current.body().clone(), patch, &case.modified, &types));
        if made != *wanted {
            problems.push(format!("{}\n  wanted {}\n  made   {}", case.name, text(wanted), text(&made)));
        }
    }
    assert_none(&problems);
}

#[test]
fn a_patch_gives_what_is_wanted_and_a_second_one_changes_nothing() {
    let (types, keys) = (openapi(OPENAPI), keys());
    for case in cases(include_bytes!("../data/strategic.json")).iter().filter(|case| case.error.is_none()) {
        // Kubernetes itself mixes up elements with equal merge keys.
        if ["one of two protocols removed", "service with three ports of one number"]
            .contains(&case.name.as_str())
        {
            continue;
        }
        let patch =
            |original, live| three_way_strategic(original, &case.modified, live, &keys).expect("no error");
        let apply = |live: &Object, patch| {
            Object::new(apply_strategic(live.body().clone(), patch, &case.modified, &types))
        };
        let first = apply(&case.current, patch(&case.original, &case.current));
        let (live, wanted) = (Node::Map(first.body().clone()), Node::Map(case.modified.body().clone()));
        assert!(covers(&live, &wanted), "{}: {}", case.name, text(&live));
        let second = apply(&first, patch(&case.modified, &first));
        assert_eq!(second, first, "{}", case.name);
    }
}

#[test]
fn deep_objects_are_patched_without_a_deep_stack() {
    let deep = |leaf: &str| {
        let text = format!("{}{leaf}{}", "{\"a\":".repeat(5000), "}".repeat(5000));
        let body = json::read_exact(text.as_bytes()).expect("as deep as Go reads");
        let mut object =
            Object::read_json(br#"{"apiVersion":"example.com/v1","kind":"X"}"#).expect("good JSON");
        object.body_mut().insert("spec".into(), body);
        object
    };
    assert!(!two_way_json(&deep("1"), &deep("2")).is_empty());
    assert!(three_way_json(&deep("1"), &deep("2"), &deep("3")).is_ok());
}
