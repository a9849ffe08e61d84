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
    /// A field is missing, such as a status that was not written yet.
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
            Err(cel::ExecutionError::NoSuchKey(key)) => Ok(Evaluation::MissingField(key.to_string())),
            Err(cel::ExecutionError::UndeclaredReference(name)) => {
                Ok(Evaluation::MissingVariable(name.to_string()))
            }
            Err(error) => Err(error.to_string()),
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

impl fmt::Debug for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Expression").field(&self.text).finish()
    }
}
