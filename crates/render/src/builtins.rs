//! Template functions that need the engine or the target: `include`, `tpl`, `required`, `fail`, `lookup`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use pintle_gotmpl::{Args, Body, CallError, CallResult, ErrorKind, Exec, Function, Functions, Type, Value};
use pintle_tree::quote::quote;
use pintle_tree::{Map, Str};

use crate::{Lookup, Mode, Target};

/// The name of the template set, under which Helm also evaluates the texts of `tpl`.
const ROOT: &str = "gotpl";
/// How often a template may include itself recursively, as in Helm (`recursionMaxNums`).
const MAX_INCLUDE_NESTING: u32 = 1000;

/// The maximum nesting of `tpl`, where Helm has no limit and overflows its stack. Above that of `include`, so that a
/// recursion through both ends with Helm's error.
const MAX_TPL_NESTING: u32 = 1100;

/// The longest text that `tpl` accepts; a parsed template can be forty times as large as its source.
const MAX_TPL_SOURCE: usize = 4 << 20;

/// Markers around the text of `required` and `fail`, by which Helm finds it again inside Go's error text.
pub(crate) const MESSAGE_START: &str = "HELM_ERR_START";
/// See [`MESSAGE_START`].
pub(crate) const MESSAGE_END: &str = "HELM_ERR_END";

/// A message of `required` or `fail` in lint mode, where they do not stop the render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintMessage {
    /// The function and case.
    pub kind: LintMessageKind,
    /// The template's text.
    pub message: String,
}

/// The source of a [`LintMessage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LintMessageKind {
    /// `required` with nil.
    MissingValue,
    /// `required` with an empty string.
    EmptyValue,
    /// `fail`.
    Fail,
}

/// The state shared by the functions of one render.
pub(crate) struct State {
    lookup: Arc<dyn Lookup + Send + Sync>,
    include_nesting: RefCell<Map<u32>>,
    tpl_nesting: Cell<u32>,
    /// Messages of lint mode, in order.
    pub(crate) lint_messages: RefCell<Vec<LintMessage>>,
}

impl State {
    /// Returns the state for a new render.
    pub(crate) fn new(target: &Target) -> Self {
        State {
            lookup: Arc::clone(&target.lookup),
            include_nesting: RefCell::default(),
            tpl_nesting: Cell::new(0),
            lint_messages: RefCell::default(),
        }
    }
}

/// Room for all functions; Helm 4.3 has 233.
const CAPACITY: usize = 256;

/// All functions for one render.
pub(crate) fn functions(target: &Target) -> Functions {
    let mut functions = Functions::with_capacity(CAPACITY);
    // Later functions replace earlier ones of the same name.
    for function in pintle_sprig::functions() {
        functions.add(function);
    }
    if target.repeatable {
        for function in pintle_sprig::repeatable_functions() {
            functions.add(function);
        }
    }
    if target.dns {
        functions.add(pintle_sprig::host_by_name(Some(pintle_sprig::system_resolver)));
    }
    for function in [include(), tpl(), required(target.mode), fail(target.mode), lookup()] {
        functions.add(function);
    }
    functions
}

/// The names of all functions that templates can call.
pub fn function_names() -> Vec<&'static str> {
    let release =
        crate::Release { name: String::new(), namespace: String::new(), revision: 1, is_upgrade: false };
    functions(&Target::offline(release, crate::Capabilities::default())).names().collect()
}

fn host(
    name: &'static str,
    params: &'static [Type],
    result: Type,
    body: impl Fn(&mut Exec<'_>, Args<'_>) -> CallResult + Send + Sync + 'static,
) -> Function {
    Function { name, params, variadic: None, result, body: Body::Host(Arc::new(body)) }
}

fn include() -> Function {
    host("include", &[Type::Str, Type::Any], Type::Str, |exec, arguments| {
        let name = arguments.str(0);
        let state = Rc::clone(exec.host::<Rc<State>>());
        {
            // In a block: the borrow must end before the template runs, which may include again.
            let mut nesting = state.include_nesting.borrow_mut();
            let depth = nesting.entry_or_insert_with(&name, || 0);
            // Compared with `>` as in Helm, so that 1001 levels are allowed.
            if *depth > MAX_INCLUDE_NESTING {
                return Err(CallError::new(format!(
                    "rendering template has a nested reference name: {name}: unable to execute template"
                )));
            }
            *depth += 1;
        }
        let result = exec.include(&name, arguments.any(1));
        *state.include_nesting.borrow_mut().entry_or_insert_with(&name, || 1) -= 1;
        result.map(Value::Str)
    })
}

fn tpl() -> Function {
    host("tpl", &[Type::Str, Type::Any], Type::Str, |exec, arguments| {
        let source = arguments.str(0);
        let state = Rc::clone(exec.host::<Rc<State>>());
        let depth = state.tpl_nesting.get();
        if depth >= MAX_TPL_NESTING {
            let message =
                format!("render limit reached: more than {MAX_TPL_NESTING} calls of tpl inside each other");
            return Err(CallError::new(message));
        }
        if source.len() > MAX_TPL_SOURCE {
            let message = format!("render limit reached: tpl was given more than {MAX_TPL_SOURCE} bytes");
            return Err(CallError::new(message));
        }
        state.tpl_nesting.set(depth + 1);
        // Helm parses the text into a clone of the set, so its definitions end with the call.
        let result = exec.evaluate_string(ROOT, &source, arguments.any(1));
        state.tpl_nesting.set(depth);
        match result {
            Ok(text) => Ok(Value::Str(without_no_value(text))),
            Err(error) => Err(tpl_failure(&source, error)),
        }
    })
}

/// Removes the text that Go prints for missing values.
fn without_no_value(text: Str) -> Str {
    match remove_no_value(text.as_bytes()) {
        Some(clean) => clean.into(),
        None => text,
    }
}

/// Removes `<no value>` from rendered text; `None` if there is nothing to remove.
pub(crate) fn remove_no_value(text: &[u8]) -> Option<Vec<u8>> {
    const NO_VALUE: &[u8] = b"<no value>";
    let mut matches = memchr::memmem::find_iter(text, NO_VALUE).peekable();
    matches.peek()?;
    let mut clean = Vec::with_capacity(text.len());
    let mut end = 0;
    for start in matches {
        clean.extend_from_slice(&text[end..start]);
        end = start + NO_VALUE.len();
    }
    clean.extend_from_slice(&text[end..]);
    Some(clean)
}

fn fail_with(message: &Str) -> CallError {
    CallError::new(format!("{MESSAGE_START}{message}{MESSAGE_END}"))
}

fn required(mode: Mode) -> Function {
    host("required", &[Type::Str, Type::Any], Type::Any, move |exec, arguments| {
        let kind = match arguments.any(1) {
            // Only nil and the empty string are missing for Helm; `false`, 0 and empty lists are values.
            Value::Nil => LintMessageKind::MissingValue,
            Value::Str(text) if text.is_empty() => LintMessageKind::EmptyValue,
            value => return Ok(value.clone()),
        };
        record_or_fail(mode, exec, kind, &arguments.str(0))
    })
}

fn fail(mode: Mode) -> Function {
    host("fail", &[Type::Str], Type::Str, move |exec, arguments| {
        record_or_fail(mode, exec, LintMessageKind::Fail, &arguments.str(0))
    })
}

fn record_or_fail(mode: Mode, exec: &mut Exec<'_>, kind: LintMessageKind, message: &Str) -> CallResult {
    if mode == Mode::Strict {
        return Err(fail_with(message));
    }
    exec.host::<Rc<State>>()
        .lint_messages
        .borrow_mut()
        .push(LintMessage { kind, message: message.to_string() });
    // The result is empty text for both functions, as Helm's lint mode returns.
    Ok(Value::str(""))
}

fn lookup() -> Function {
    host("lookup", &[Type::Str, Type::Str, Type::Str, Type::Str], Type::Map, |exec, arguments| {
        let text = |index| arguments.str(index).to_string();
        let lookup = Arc::clone(&exec.host::<Rc<State>>().lookup);
        let found = lookup.lookup(&text(0), &text(1), &text(2), &text(3))?;
        Ok(Value::map(Value::entries_from(&found)))
    })
}

/// Above this size a failed `tpl` passes the inner text on unquoted. Each level quotes the level below, which doubles
/// its backslashes, so a deep recursion would otherwise grow without bound.
const MAX_QUOTED: usize = 1 << 20;

/// Helm's error for a failed `tpl`: with the template source, quoted.
fn tpl_failure(source: &Str, error: pintle_gotmpl::Error) -> CallError {
    let cause = error.to_string();
    let action = match error.kind() {
        ErrorKind::Parse => "cannot parse template",
        _ => "error during tpl function execution for",
    };
    // The error itself is passed on, with its location but without this level's text.
    if cause.len() + source.len() > MAX_QUOTED {
        return CallError::from(error);
    }
    let message = format!("{action} {}: {cause}", quote(source.as_bytes()));
    CallError { message, cause: Some(Box::new(error)) }
}
