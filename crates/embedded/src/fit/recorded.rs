//! Objects of the contract's story of defaults, made without the API: the same as the real server made them.

use std::path::Path;

use pintle_tree::{Map, Node, Str, json};

use super::{BuiltIn, fill};
use crate::apply::{FieldSet, Writer, track};
use crate::schema::{Kind, Table};
use crate::settle::{Surroundings, as_kept, settle_new};

struct Around;

impl Surroundings for Around {
    fn suffix(&mut self) -> String {
        "xxxxx".into()
    }
    fn cluster_ip(&mut self) -> String {
        "10.96.0.10".into()
    }
    fn node_port(&mut self) -> u16 {
        30000
    }
    fn default_storage_class(&mut self) -> Option<Str> {
        Some("standard".into())
    }
    fn priority(&mut self, _: &str) -> Option<(i64, Str)> {
        None
    }
    fn now(&mut self) -> Str {
        "<time>".into()
    }
}

fn sections(name: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract/cases").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let parts = text.strip_prefix("### ").unwrap().split("\n### ").map(str::to_owned).collect::<Vec<_>>();
    parts.iter().filter_map(|part| part.split_once('\n')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
}

fn remove(node: &mut Node, path: &[&str]) {
    let Some((first, rest)) = path.split_first() else { return };
    match node {
        Node::Map(map) if rest.is_empty() && *first != "*" => drop(map.remove(first)),
        Node::Map(map) => map
            .iter_mut()
            .filter(|(key, _)| *first == "*" || **key == **first)
            .for_each(|(_, n)| remove(n, rest)),
        Node::List(list) => list.iter_mut().for_each(|node| remove(node, rest)),
        _ => {}
    }
}

#[test]
fn objects_are_made_as_the_real_server_makes_them() {
    let answers = sections("defaults.answers");
    let table = Table::newest();
    let mut wrong = Vec::new();
    for ((title, request), (_, answer)) in sections("defaults.http").iter().zip(&answers) {
        let (head, body) = request.split_once("\n\n").unwrap();
        let (status, wanted) = answer.split_once("\n\n").unwrap();
        if !status.starts_with("201") {
            continue;
        }
        let path = head.lines().next().unwrap().split(' ').nth(1).unwrap().split('?').next().unwrap();
        let parts: Vec<&str> = path.split('/').collect();
        let (group, version) = if parts[1] == "api" { ("", parts[2]) } else { (parts[2], parts[3]) };
        let plural = parts.last().unwrap();
        let resource = table
            .resources()
            .iter()
            .find(|it| it.group == *group && it.version == *version && it.plural == **plural)
            .unwrap();
        let schema = table.schema(resource).unwrap();
        let kind = Kind { resource, schema: Some(schema), custom: false };
        let built_in =
            BuiltIn::find(&resource.api_version(), resource.kind.as_str().unwrap(), schema).unwrap();
        // Namespaces are settled by the API, and times of deletion are taken away by it.
        if ["a namespace", "a deployment with generation and uid"].contains(&title.as_str()) {
            continue;
        }
        let mut object = built_in.read(body.trim().as_bytes()).unwrap().object;
        fill(kind, &mut object);
        let reset = if resource.subresource("status").is_some() {
            FieldSet::of(&[&["status"]])
        } else {
            FieldSet::default()
        };
        let api = resource.api_version();
        let writer =
            Writer { manager: "contract", api_version: &api, subresource: "", now: "<time>", reset: &reset };
        track(schema, &built_in.empty(), &mut object, &writer, true);
        if resource.subresource("status").is_some()
            && resource.kind != "Node"
            && resource.kind != "Namespace"
            && resource.kind != "CustomResourceDefinition"
        {
            let empty = built_in.empty().get("status").cloned().unwrap_or_default();
            object.as_map_mut().unwrap().insert("status".into(), empty);
        }
        settle_new(kind, &mut object, &mut Around);
        as_kept(kind, &mut object);
        let mut wanted = json::read_exact(wanted.as_bytes()).unwrap();
        let ignored =
            head.lines().filter_map(|line| line.strip_prefix("> ignore ")).flat_map(|line| line.split(' '));
        let more = [
            "metadata.uid",
            "metadata.creationTimestamp",
            "metadata.generation",
            "metadata.namespace",
            "metadata.selfLink",
            "metadata.deletionTimestamp",
            "metadata.deletionGracePeriodSeconds",
            "spec.renewTime",
        ];
        for path in ignored.chain(more) {
            let path: Vec<&str> = path.split('.').collect();
            remove(&mut wanted, &path);
            remove(&mut object, &path);
        }
        let show = |node: &Node| String::from_utf8(json::write_raw(node).unwrap()).unwrap();
        let (Node::Map(left), Node::Map(right)) = (&wanted, &object) else { panic!() };
        let split = |map: &Map<Node>, key: &str| map.get(key).cloned().unwrap_or_default();
        for key in left
            .keys()
            .chain(right.keys())
            .map(ToString::to_string)
            .collect::<std::collections::BTreeSet<_>>()
        {
            if split(left, &key) != split(right, &key) {
                wrong.push(format!(
                    "{title}\n  wanted {key} {}\n  found  {key} {}",
                    show(&split(left, &key)),
                    show(&split(right, &key))
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
