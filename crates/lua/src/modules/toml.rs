//! `toml`: the reader and writer that templates have.

use pintle_gotmpl::{Args, Body as FunctionBody, CallResult, Fuel, Limits, Value, encode_check};
use pintle_tree::{Node, Str, json};

use crate::call::{Answer, Body, Call, CallError};

/// The functions of `toml`.
pub(super) const FUNCTIONS: &[(&str, Body)] = &[("encode", encode), ("decode", decode)];

fn encode(call: &Call<'_>) -> Answer {
    let node = call.node(0)?;
    if node.as_map().is_none() {
        return call.fail("a document must be a map");
    }
    call.check_written(&node, |path, _| path)?;
    match template_function(call, "mustToToml", &Value::from_node(&node))? {
        Value::Str(text) => call.return_text(text),
        _ => call.fail("the document cannot be written"),
    }
}

/// A key that distinguishes a document from the way `fromToml` reports an error.
const PROBE: &str = "pintle-probe";

fn decode(call: &Call<'_>) -> Answer {
    let document = call.document(0)?;
    let read =
        |text: Vec<u8>| tree(call, &template_function(call, "fromToml", &Value::Str(Str::from(text)))?);
    let Some(found) = read(document.clone())? else { return call.fail("the document cannot be read") };
    // `fromToml` reports an error as a map with the key `Error`, which a document may have as well.
    if let Some(reason) = found.get("Error").and_then(Node::as_str) {
        let probed = read([format!("{PROBE} = 1\n").as_bytes(), document.as_slice()].concat())?;
        if probed.is_none_or(|probed| probed.get(PROBE).is_none()) {
            return call.fail(reason);
        }
    }
    call.answer(&found)
}

/// Calls a function of the template library.
fn template_function(call: &Call<'_>, name: &str, argument: &Value) -> Result<Value, CallError> {
    let Some(function) = pintle_sprig::functions().into_iter().find(|function| function.name == name) else {
        return call.fail(format!("there is no function {name}"));
    };
    let arguments = [argument.clone()];
    let result: CallResult = match function.body {
        FunctionBody::Pure(body) => body(Args(&arguments)),
        FunctionBody::Metered(body) => {
            let steps = call.host.meter.steps_left();
            let output_bytes = (call.host.limits.text as u64).saturating_mul(32);
            let mut fuel = Fuel::new(Limits { steps, output_bytes, ..Limits::default() });
            let result = body(&mut fuel, Args(&arguments));
            // Charge one more than available if the fuel ran out, so that the limit is exceeded.
            call.charge(steps - fuel.steps_left() + u64::from(fuel.is_exhausted()))?;
            result
        }
        FunctionBody::Host(_) => return call.fail(format!("{name} needs a render")),
    };
    result.or_else(|error| call.fail(error.text()))
}

/// Converts a template value to a tree, if possible.
fn tree(call: &Call<'_>, value: &Value) -> Result<Option<Node>, CallError> {
    if encode_check(value).is_err() {
        return Ok(None);
    }
    let text = json::write_raw(value).or_else(|error| call.fail(error))?;
    Ok(Some(json::read_exact(&text).or_else(|error| call.fail(error))?))
}
