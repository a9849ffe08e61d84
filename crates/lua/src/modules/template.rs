//! `template`: Go templates with the functions that charts have.

use std::sync::{Arc, OnceLock};

use pintle_gotmpl::{
    Args, Body as FunctionBody, CallError, CallResult, Exec, Function, Functions, Limits, Set, Type, Value,
};
use pintle_tree::Str;

use crate::call::{Answer, Body, Call};

/// The functions of `template`.
pub(super) const FUNCTIONS: &[(&str, Body)] = &[("render", render)];

/// The template name in errors.
const NAME: &str = "template";

/// The fuel of one render, and the maximum depth of template calls.
const LIMITS: Limits = Limits { steps: 2_000_000, output_bytes: 0, depth: 500 };

/// Renders a string with a value as its dot.
fn render(call: &Call<'_>) -> Answer {
    let source = Str::from(call.bytes(0)?);
    let data = Value::from_node(&if call.any(1).is_nil() { pintle_tree::Node::Nil } else { call.node(1)? });
    call.charge(1_000 + source.len() as u64)?;
    let set = Set::new(functions());
    let limits = Limits {
        steps: LIMITS.steps.min(call.host.meter.steps_left()),
        output_bytes: call.host.limits.text as u64,
        ..LIMITS
    };
    let mut exec = Exec::new(&set, limits);
    let text = exec.evaluate_string(NAME, &source, &data);
    // A failed render is charged as well.
    call.charge(limits.steps - exec.fuel().steps_left().min(limits.steps))?;
    let text = text.or_else(|error| call.fail(error))?;
    // As Helm does after rendering.
    let text = text.to_str_lossy().replace("<no value>", "");
    call.return_text(text)
}

fn functions() -> Arc<Functions> {
    // There are hundreds of functions, and scripts call `render` in loops.
    static FUNCTIONS: OnceLock<Arc<Functions>> = OnceLock::new();
    Arc::clone(FUNCTIONS.get_or_init(|| {
        let mut functions = Functions::new();
        pintle_sprig::functions().into_iter().for_each(|function| functions.add(function));
        let texts_any = &[Type::Str, Type::Any];
        functions.add(host("include", texts_any, Type::Str, |exec, arguments| {
            exec.include(arguments.str(0), arguments.any(1)).map(Value::Str)
        }));
        functions.add(host("tpl", texts_any, Type::Str, |exec, arguments| {
            let text = exec.evaluate_string(NAME, &arguments.str(0), arguments.any(1))?;
            Ok(Value::Str(text))
        }));
        functions.add(host("required", texts_any, Type::Any, |_, arguments| match arguments.any(1) {
            Value::Nil => Err(CallError::new(arguments.str(0).to_string())),
            Value::Str(text) if text.is_empty() => Err(CallError::new(arguments.str(0).to_string())),
            value => Ok(value.clone()),
        }));
        functions.add(host("fail", &[Type::Str], Type::Str, |_, arguments| {
            Err(CallError::new(arguments.str(0).to_string()))
        }));
        Arc::new(functions)
    }))
}

fn host(
    name: &'static str,
    params: &'static [Type],
    result: Type,
    body: fn(&mut Exec<'_>, Args<'_>) -> CallResult,
) -> Function {
    Function { name, params, variadic: None, result, body: FunctionBody::Host(Arc::new(body)) }
}
