//! CEL expressions of requests, bounded in stack, work and memory.
//!
//! The author of an expression is a tenant, and the interpreter cannot be interrupted. So the text is limited before it is
//! parsed, the parsed expression is changed so that it counts its own work (`metered`), and both run on a thread with a
//! stack of their own. Kubernetes bounds its expressions by a cost budget in the same way.

#[cfg(feature = "cel")]
mod metered;

use std::fmt;

use serde_json::Value;

/// The longest expression, in bytes.
#[cfg(feature = "cel")]
const MAX_TEXT: usize = 4 << 10;
/// How deep brackets and conditional operators may be nested. The parser takes kilobytes of stack for each level.
#[cfg(feature = "cel")]
const MAX_NESTING: usize = 48;
/// How many operators, selections and brackets there may be. A chain of them is as deep as it is long.
#[cfg(feature = "cel")]
const MAX_OPERATORS: usize = 400;
/// How deep operators and selections may be nested, as the parser counts them.
#[cfg(feature = "cel")]
const MAX_DEPTH: u16 = 200;
/// The stack for parsing and evaluating. Only what is used of it takes memory.
#[cfg(feature = "cel")]
const STACK: usize = 64 << 20;

/// An expression that can be evaluated.
pub(crate) struct Expression {
    text: String,
    #[cfg(feature = "cel")]
    program: metered::Program,
}

/// What an expression says about an object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Evaluation {
    /// It holds.
    True,
    /// It does not.
    False,
    /// A field is missing, such as a status that was not written yet. Empty if its name was computed: it may be a part of
    /// an object that the reader of the message must not see.
    MissingField(String),
    /// There is no such variable.
    MissingVariable(String),
}

impl Expression {
    /// The expression as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Parses an expression.
    ///
    /// # Errors
    /// What is wrong with it.
    #[cfg(feature = "cel")]
    pub(crate) fn parse(text: &str) -> Result<Expression, String> {
        check_text(text)?;
        let program = on_own_stack(|| metered::Program::parse(text, MAX_DEPTH))?;
        Ok(Expression { text: text.to_owned(), program })
    }

    #[cfg(not(feature = "cel"))]
    pub(crate) fn parse(_: &str) -> Result<Expression, String> {
        Err("this program was built without CEL; build it with the Cargo feature `cel`".to_owned())
    }

    /// Evaluates the expression. Blocks until the work is done or its budget is used up, a fraction of a second: not for
    /// a thread that others wait for.
    ///
    /// # Errors
    /// When it is no boolean, or cannot be evaluated. The text contains nothing of the variables.
    #[cfg(feature = "cel")]
    pub(crate) fn evaluate<'v>(
        &self,
        variables: impl IntoIterator<Item = (&'v str, Value)> + Send,
    ) -> Result<Evaluation, String> {
        on_own_stack(|| self.program.evaluate(variables))
    }

    #[cfg(not(feature = "cel"))]
    pub(crate) fn evaluate<'v>(
        &self,
        _: impl IntoIterator<Item = (&'v str, Value)> + Send,
    ) -> Result<Evaluation, String> {
        Ok(Evaluation::False)
    }
}

/// Checks what must be known before the parser sees the text, because the parser recurses without a limit of its own.
#[cfg(feature = "cel")]
fn check_text(text: &str) -> Result<(), String> {
    if text.len() > MAX_TEXT {
        return Err(format!("it has {} bytes, and {MAX_TEXT} are allowed", text.len()));
    }
    // Brackets in strings count, too: the limit is generous, and a lexer of our own could disagree with the parser's.
    let mut depth: usize = 0;
    let mut deepest: usize = 0;
    let mut conditionals: usize = 0;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'?' => conditionals += 1,
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    let operators = text.bytes().filter(|byte| b".+-*/%!<>=&|?:([{".contains(byte)).count();
    if operators > MAX_OPERATORS {
        return Err(format!("it has {operators} operators, and {MAX_OPERATORS} are allowed"));
    }
    if deepest.max(conditionals) > MAX_NESTING {
        return Err(format!("it is nested more than {MAX_NESTING} levels deep"));
    }
    Ok(())
}

/// Runs work on a thread with a large stack. A panic of the third-party interpreter only fails this expression.
#[cfg(feature = "cel")]
fn on_own_stack<T: Send>(work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("expression".to_owned()).stack_size(STACK);
        let thread = thread.spawn_scoped(scope, work);
        let thread = thread.map_err(|error| format!("there is no thread for it: {error}"))?;
        thread.join().unwrap_or_else(|_| Err("it cannot be evaluated".to_owned()))
    })
}

impl fmt::Debug for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Expression").field(&self.text).finish()
    }
}

#[cfg(all(test, feature = "cel"))]
mod tests;
