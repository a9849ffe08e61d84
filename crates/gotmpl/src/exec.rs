//! The executor: one render, and the entry points for functions that run templates.
//! Results and error texts have to match Go's `text/template/exec.go` to the byte, so functions here follow
//! its functions one by one. What differs is storage: variables and arguments of all frames are on two shared
//! stacks, and each frame remembers where its part starts.

mod builtin;
mod call;
mod field;
mod pipeline;
mod range;
mod walk;

use std::any::Any;
use std::rc::Rc;

use pintle_tree::Str;

use crate::ast::{Source, Tree, VariableId};
use crate::error::{Error, ErrorKind};
use crate::fuel::{Fuel, GO_DEPTH, Limits};
use crate::function::CallError;
use crate::node_text::NodeRef;
use crate::operand::Operand;
use crate::print::with_stack;
use crate::set::{Parsed, Set};
use crate::trace::Trace;
use crate::value::Value;

/// One render of the templates of a set.
///
/// A render can execute many templates in sequence; they share the limits. Functions get access to the render and may
/// execute further templates.
pub struct Exec<'a> {
    set: &'a Set,
    host: Option<&'a dyn Any>,
    fuel: Fuel,
    /// Definitions of evaluated strings while they run; the innermost is last.
    overlays: Vec<Parsed>,
    /// The variables of all running templates; each frame sees only its own.
    variables: Vec<(VariableId, Operand)>,
    /// The arguments of all calls being prepared.
    arguments: Vec<Value>,
    depth: usize,
    /// The number of open templates, blocks and parentheses, which determines the stack usage.
    nesting: usize,
    /// The trace that records the render, if any.
    trace: Option<&'a mut Trace>,
}

/// The maximum of `nesting`: each level takes up to a kilobyte of stack, which makes at most 250 MB. A level is
/// a template, a block or a parenthesis, so `Limits::depth` alone does not bound the stack.
const MAX_NESTING: usize = 250_000;

/// A running template.
struct Frame<'t> {
    tree: &'t Tree,
    source: &'t Source,
    /// The node that an error is attributed to: the one visited last, as in Go.
    node: Option<NodeRef<'t>>,
    /// The start of its variables.
    base: usize,
}

impl Frame<'_> {
    fn error(&self, message: impl Into<String>) -> Error {
        Error::exec(self.tree, self.node, message.into())
    }
}

/// How a list of nodes was left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

impl<'a> Exec<'a> {
    /// Returns a render of the templates of a set.
    pub fn new(set: &'a Set, limits: Limits) -> Self {
        Exec {
            set,
            host: None,
            fuel: Fuel::new(limits),
            overlays: Vec::new(),
            variables: Vec::new(),
            arguments: Vec::new(),
            depth: 0,
            nesting: 0,
            trace: None,
        }
    }

    /// Attaches host data, which functions get by [`Exec::host`].
    #[must_use]
    pub fn with_host(mut self, host: &'a dyn Any) -> Self {
        self.host = Some(host);
        self
    }

    /// Records the render in a trace.
    #[must_use]
    pub fn with_trace(mut self, trace: &'a mut Trace) -> Self {
        self.trace = Some(trace);
        self
    }

    /// The trace, if there is one.
    pub fn trace(&mut self) -> Option<&mut Trace> {
        self.trace.as_deref_mut()
    }

    /// The host data.
    ///
    /// # Panics
    /// When there is none, or it has another type: a programming error, not one of a template.
    pub fn host<T: 'static>(&self) -> &'a T {
        self.host
            .and_then(|host| host.downcast_ref())
            .expect("the functions of a set are given the host that they were written for")
    }

    /// The remaining limits, for functions to charge.
    pub fn fuel(&mut self) -> &mut Fuel {
        &mut self.fuel
    }

    /// Executes a template with `data` as its dot, and appends its output.
    ///
    /// # Errors
    /// When there is no such template, or it fails; `out` then holds the output so far.
    pub fn execute(&mut self, name: impl AsRef<[u8]>, data: &Value, out: &mut Vec<u8>) -> Result<(), Error> {
        let tree = self.lookup(name.as_ref())?;
        self.run(&tree, Operand::concrete(data.clone()), out)
    }

    /// Executes a template of the current set, for functions such as `include`.
    ///
    /// # Errors
    /// When there is no such template, or it fails.
    pub fn include(&mut self, name: impl AsRef<[u8]>, data: &Value) -> Result<Str, CallError> {
        let mut out = Vec::new();
        self.begin_nested();
        self.execute(name, data, &mut out)?;
        self.end_nested(&out);
        Ok(Str::from(out))
    }

    /// Parses a string and executes it, for functions such as `tpl`. Its definitions are visible while it runs, to it
    /// and to everything it calls.
    ///
    /// # Errors
    /// When the string does not parse (an error of kind [`ErrorKind::Parse`]), or it fails.
    pub fn evaluate_string(&mut self, name: &str, source: &Str, data: &Value) -> Result<Str, Error> {
        // Charts pass the same strings to `tpl` over and over.
        let parsed = self.set.parse_cached(&Str::from(name), source)?;
        // The source itself is the last of its templates; see `ParsedSource::into_trees`.
        let Some(tree) = parsed.last().map(Rc::clone) else {
            return Ok(Str::EMPTY);
        };
        // Helm evaluates `tpl` in a clone of the template set, so definitions in the string are visible to
        // what it calls and dropped afterwards. An overlay has the same effect without copying the set.
        self.overlays.push(parsed);
        let mut out = Vec::new();
        self.begin_nested();
        let result = self.run(&tree, Operand::concrete(data.clone()), &mut out);
        self.end_nested(&out);
        self.overlays.pop();
        result.map(|()| Str::from(out))
    }

    fn begin_nested(&mut self) {
        if let Some(trace) = &mut self.trace {
            trace.begin();
        }
    }

    fn end_nested(&mut self, out: &[u8]) {
        if let Some(trace) = &mut self.trace {
            trace.end_nested(out);
        }
    }

    fn lookup(&self, name: &[u8]) -> Result<Rc<Tree>, Error> {
        self.find(name).ok_or_else(|| Error::no_template(&Str::new(name), self.set.root()))
    }

    fn find(&self, name: &[u8]) -> Option<Rc<Tree>> {
        let mut blank = None;
        // The innermost `tpl` wins: in Helm its clone was made from the clone of the outer one.
        for parsed in self.overlays.iter().rev() {
            let Some(tree) = parsed.iter().find(|tree| tree.name.as_bytes() == name) else {
                continue;
            };
            // A blank definition does not hide an existing one.
            if !tree.is_empty() {
                return Some(Rc::clone(tree));
            }
            blank.get_or_insert(tree);
        }
        self.set.find(name).or(blank).map(Rc::clone)
    }

    /// Runs a template to its end.
    fn run(&mut self, tree: &Tree, dot: Operand, out: &mut Vec<u8>) -> Result<(), Error> {
        let base = self.variables.len();
        let arguments = self.arguments.len();
        let mut frame = Frame { tree, source: &tree.source, node: None, base };
        // The text names Go's limit, not ours: users and test suites know it, and both mean endless
        // recursion.
        if self.depth >= self.fuel.limits().depth {
            return Err(frame.error(format!("exceeded maximum template depth ({GO_DEPTH})")));
        }
        self.depth += 1;
        self.variables.push((0, dot.clone()));
        let result = self.nested(&mut frame, |exec, frame| exec.list(frame, &dot, tree.nodes, out));
        self.depth -= 1;
        self.variables.truncate(base);
        // After an error both stacks still hold what inner calls pushed.
        self.arguments.truncate(arguments);
        result.map(|_| ())
    }

    /// Runs something that can nest, with enough stack for it.
    #[inline]
    fn nested<'t, T>(
        &mut self,
        frame: &mut Frame<'t>,
        inside: impl FnOnce(&mut Self, &mut Frame<'t>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if self.nesting >= MAX_NESTING {
            return Err(frame.error(format!("exceeded maximum template depth ({GO_DEPTH})")));
        }
        self.nesting += 1;
        let result = with_stack(|| inside(self, frame));
        self.nesting -= 1;
        result
    }

    /// The error of a render that has exceeded its limits.
    #[cold]
    fn exhausted(&self, frame: &Frame<'_>) -> Error {
        frame.error(self.fuel.message()).with_kind(ErrorKind::Limit)
    }
}
