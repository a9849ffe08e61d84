//! Executes the nodes of a template and writes their output.

use super::{Exec, Flow, Frame};
use crate::ast::{Branch, Call, Node};
use crate::error::Error;
use crate::fuel::GO_DEPTH;
use crate::node_text::NodeRef;
use crate::operand::Operand;
use crate::pool::Span;
use crate::print;
use crate::value::{Kind, Value};

impl Exec<'_> {
    /// Executes nodes one after the other.
    pub(super) fn list<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        nodes: Span<Node>,
        out: &mut Vec<u8>,
    ) -> Result<Flow, Error> {
        let source = frame.source;
        for node in &source.nodes[nodes] {
            if !self.fuel.step(1) {
                frame.node = Some(NodeRef::Node(node));
                return Err(self.exhausted(frame));
            }
            if let Some(trace) = &mut self.trace {
                trace.node(source, node, source.name == *self.set.root(), out.len());
            }
            let before = out.len();
            let flow = match node {
                Node::Text { start, end } => {
                    let text = &source.text.as_bytes()[*start as usize..*end as usize];
                    out.extend_from_slice(text);
                    if !self.fuel.write(text.len()) {
                        frame.node = Some(NodeRef::Node(node));
                        return Err(self.exhausted(frame));
                    }
                    Flow::Next
                }
                Node::Action(pipe) => {
                    let pipe = &source.pipes[*pipe];
                    // `{{ .a.b }}` is the most frequent action: printed straight from the map, without a
                    // clone.
                    if let Some(word) = source.only_word(pipe)
                        && self.peek(frame, dot, word, |value| push_printed(value, out)).is_some()
                    {
                        if !self.fuel.write(out.len() - before) {
                            return Err(self.exhausted(frame));
                        }
                    } else {
                        let value = self.pipeline(frame, dot, pipe)?;
                        if pipe.variables.is_empty() {
                            frame.node = Some(NodeRef::Node(node));
                            self.print(frame, &value, out)?;
                        }
                    }
                    Flow::Next
                }
                Node::If(branch) => self.nested(frame, |exec, frame| {
                    exec.branch(frame, dot, &source.branches[*branch], false, out)
                })?,
                Node::With(branch) => self.nested(frame, |exec, frame| {
                    exec.branch(frame, dot, &source.branches[*branch], true, out)
                })?,
                Node::Range(branch) => {
                    frame.node = Some(NodeRef::Node(node));
                    self.nested(frame, |exec, frame| exec.range(frame, dot, &source.branches[*branch], out))?
                }
                Node::Template(call) => {
                    frame.node = Some(NodeRef::Node(node));
                    self.template(frame, dot, &source.calls[*call], out)?;
                    Flow::Next
                }
                Node::Break(_) => Flow::Break,
                Node::Continue(_) => Flow::Continue,
            };
            if let Some(trace) = &mut self.trace {
                trace.node_end(out.len());
            }
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    /// Writes a value as `{{ value }}` does.
    fn print(&mut self, frame: &Frame<'_>, value: &Operand, out: &mut Vec<u8>) -> Result<(), Error> {
        let before = out.len();
        if let Some(trace) = &mut self.trace {
            trace.whole(&value.value);
        }
        push_printed(&value.value, out);
        if self.fuel.write(out.len() - before) { Ok(()) } else { Err(self.exhausted(frame)) }
    }

    /// `if`, and `with`, which also sets the dot.
    fn branch<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        branch: &'t Branch,
        sets_dot: bool,
        out: &mut Vec<u8>,
    ) -> Result<Flow, Error> {
        let mark = self.variables.len();
        let pipe = &frame.source.pipes[branch.pipe];
        let peeked = match frame.source.only_word(pipe) {
            // `with` needs the value itself as its dot.
            Some(word) if !sets_dot => self.peek(frame, dot, word, Value::is_true),
            _ => None,
        };
        let (truth, value) = match peeked {
            Some(truth) => (truth, None),
            None => {
                let value = self.pipeline(frame, dot, pipe)?;
                (value.value.is_true(), Some(value))
            }
        };
        if let Some(trace) = &mut self.trace {
            let source = frame.source;
            trace.branch(source, pipe.position, source.name == *self.set.root(), truth);
        }
        let flow = if truth {
            let inner = value.as_ref().filter(|_| sets_dot).unwrap_or(dot);
            self.list(frame, inner, branch.list, out)?
        } else {
            self.list(frame, dot, branch.otherwise, out)?
        };
        self.variables.truncate(mark);
        Ok(flow)
    }

    fn template<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Operand,
        call: &'t Call,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let Some(tree) = self.find(call.name.as_bytes()) else {
            let name = pintle_tree::quote::quote(call.name.as_bytes());
            return Err(frame.error(format!("template {name} not defined")));
        };
        if self.depth >= self.fuel.limits().depth {
            return Err(frame.error(format!("exceeded maximum template depth ({GO_DEPTH})")));
        }
        // After the depth check, as in Go's `walkTemplate`: an argument that fails is not evaluated at the
        // limit.
        let dot = match call.pipe {
            Some(pipe) => self.pipeline(frame, dot, &frame.source.pipes[pipe])?,
            None => Operand::INVALID,
        };
        self.run(&tree, dot, out)
    }
}

/// Appends a value as `{{ value }}` shows it.
#[inline]
fn push_printed(value: &Value, out: &mut Vec<u8>) {
    match value {
        // Helm removes this text from the output afterwards; the executor must still print it, because
        // `include` returns it.
        Value::Nil => out.extend_from_slice(b"<no value>"),
        Value::Object(object) => {
            let text = object.print_addressed();
            let text = text.as_str();
            // Templates print what a pointer points to.
            let text = if object.kind() == Kind::Pointer { pointed_text(text) } else { text };
            out.extend_from_slice(text.as_bytes());
        }
        other => print::push_value(other, out),
    }
}

/// The text of a struct behind a pointer.
pub(super) fn pointed_text(text: &str) -> &str {
    text.strip_prefix('&').unwrap_or(text)
}
