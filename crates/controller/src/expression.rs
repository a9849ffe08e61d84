//! CEL expressions of requests.

use std::fmt;

use serde_json::Value;

/// An expression that can be evaluated.
pub(crate) struct Expression {
    text: String,
    #[cfg(feature = "cel")]
    program: cel::Program,
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
        // A panic of the third-party parser must only reject the expression.
        let parsed = std::panic::catch_unwind(|| cel::Program::compile(text));
        let program = parsed.map_err(|_| "it cannot be parsed".to_owned())?;
        let program = program.map_err(|error| error.to_string())?;
        Ok(Expression { text: text.to_owned(), program })
    }

    #[cfg(not(feature = "cel"))]
    pub(crate) fn parse(_: &str) -> Result<Expression, String> {
        Err("this program was built without CEL; build it with the Cargo feature `cel`".to_owned())
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// When it is no boolean, or cannot be evaluated.
    #[cfg(feature = "cel")]
    pub(crate) fn evaluate<'v>(
        &self,
        variables: impl IntoIterator<Item = (&'v str, Value)>,
    ) -> Result<Evaluation, String> {
        let mut context = cel::Context::default();
        for (name, value) in variables {
            context.add_variable(name, value).map_err(|error| error.to_string())?;
        }
        match self.program.execute(&context) {
            Ok(cel::Value::Bool(true)) => Ok(Evaluation::True),
            Ok(cel::Value::Bool(false)) => Ok(Evaluation::False),
            Ok(other) => Err(format!("it is {:?}, not a boolean", other.type_of())),
            Err(cel::ExecutionError::NoSuchKey(key)) => {
                // A computed key, as in `{}[dep.data.password]`, is data; one after a dot is a word of the expression.
                let is_written = self.text.contains(&format!(".{key}"));
                Ok(Evaluation::MissingField(if is_written { key.to_string() } else { String::new() }))
            }
            Err(cel::ExecutionError::UndeclaredReference(name)) => {
                Ok(Evaluation::MissingVariable(name.to_string()))
            }
            Err(error) => Err(problem(&error)),
        }
    }

    #[cfg(not(feature = "cel"))]
    pub(crate) fn evaluate<'v>(
        &self,
        _: impl IntoIterator<Item = (&'v str, Value)>,
    ) -> Result<Evaluation, String> {
        Ok(Evaluation::False)
    }
}

/// What went wrong in an evaluation. The errors of the evaluator show the values that they are about, which are data of objects
/// that whoever reads the message need not be allowed to read.
#[cfg(feature = "cel")]
fn problem(error: &cel::ExecutionError) -> String {
    use cel::ExecutionError as E;
    match error {
        E::InvalidArgumentCount { .. } | E::MissingArgumentOrTarget => error.to_string(),
        E::FunctionError { function, .. } => format!("the function `{function}` fails"),
        E::NotSupportedAsMethod { method, .. } => format!("a value has no method `{method}`"),
        E::UnsupportedBinaryOperator(operator, ..) => format!("the types of values do not fit `{operator}`"),
        E::Overflow(operator, ..) => format!("the result of `{operator}` is out of range"),
        E::DivisionByZero(_) | E::RemainderByZero(_) => "it divides by zero".to_owned(),
        E::IndexOutOfBounds(_) => "an index is out of bounds".to_owned(),
        E::DuplicateKey(_) => "a map has a key twice".to_owned(),
        _ => "the types of values do not fit".to_owned(),
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Expression").field(&self.text).finish()
    }
}
