//! `yaml` and `json`, with the semantics of Kubernetes' own tools.

use pintle_tree::{Node, json};

use crate::call::{Answer, Body, Call};

/// The functions of `yaml`.
pub(super) const YAML: &[(&str, Body)] =
    &[("encode", encode_yaml), ("decode", decode_yaml), ("decode_all", decode_documents)];

/// The functions of `json`.
pub(super) const JSON: &[(&str, Body)] =
    &[("encode", encode_json), ("pretty", pretty_json), ("decode", decode_json)];

fn encode_yaml(call: &Call<'_>) -> Answer {
    let node = call.node(0)?;
    // Indentation makes the text of a deep tree much longer than the tree.
    call.check_written(&node, |_, depth| depth * 2)?;
    let text = pintle_yaml::write(&node).or_else(|error| call.fail(error))?;
    call.return_text(text)
}

fn decode_yaml(call: &Call<'_>) -> Answer {
    let text = call.document(0)?;
    let node = pintle_yaml::read_exact(&text).or_else(|error| call.fail(error))?;
    call.answer(&node)
}

fn decode_documents(call: &Call<'_>) -> Answer {
    let text = call.document(0)?;
    let mut documents = Vec::new();
    for document in pintle_objects::split(&text) {
        match pintle_yaml::read_exact(document).or_else(|error| call.fail(error))? {
            Node::Nil => {}
            node => documents.push(node),
        }
    }
    call.answer(&Node::List(documents))
}

fn encode_json(call: &Call<'_>) -> Answer {
    let node = call.node(0)?;
    let text = json::write_raw(&node).or_else(|error| call.fail(error))?;
    call.return_text(text)
}

fn pretty_json(call: &Call<'_>) -> Answer {
    let node = call.node(0)?;
    call.check_written(&node, |_, depth| depth * 2)?;
    let text = json::write_pretty(&node).or_else(|error| call.fail(error))?;
    call.return_text(text)
}

fn decode_json(call: &Call<'_>) -> Answer {
    let text = call.document(0)?;
    let node = json::read_exact(&text).or_else(|error| call.fail(error))?;
    call.answer(&node)
}
