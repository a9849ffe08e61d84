//! Expressions that count their work while they are evaluated.
//!
//! The interpreter has no budget and no hook for one, but its syntax tree can be changed: calls of our own functions are
//! put around everything whose cost depends on the size of a value. They add the size to a counter, and fail once the
//! budget is used up. What is not in a loop is evaluated once, and the text is short, so only three things count: the items
//! of a comprehension times the size of its body, the operands of functions and operators, and what is built (`+`, lists
//! and maps).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators};
use cel::common::types::{CelBytes, CelInt, CelList, CelMap, CelString};
use cel::common::value::{CowVal, Val};
use cel::parser::Parser;
use cel::{Context, ExecutionError, FunctionContext, Value};

use super::Evaluation;

/// The work of one evaluation. A unit is a node of a value or of the expression, or 16 bytes of text; a million of them take
/// Kubernetes' limit for one expression, a tenth of a second.
pub(super) const BUDGET: u64 = 250_000;
/// Bytes of a text that cost one unit.
const TEXT_UNIT: usize = 16;

/// Charges for its argument and returns it. The names cannot be written in CEL.
const CHARGE: &str = "@charge";
/// Charges for the range of a comprehension and the size of its body, and returns the range.
const CHARGE_RANGE: &str = "@chargeRange";
/// Charges for the receiver of a method and returns the result of the method.
const CHARGE_RECEIVER: &str = "@chargeReceiver";

/// Names that stand for types, which are no values that could be large.
const TYPES: [&str; 11] =
    ["bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type", "dyn"];

/// Operators whose operands are passed on or decide what is evaluated; their own cost is that of one node.
const CONTROL: [&str; 5] = [
    operators::LOGICAL_AND,
    operators::LOGICAL_OR,
    operators::LOGICAL_NOT,
    operators::CONDITIONAL,
    operators::NOT_STRICTLY_FALSE,
];

/// Functions whose result is a number, a boolean or a type.
const SCALAR: [&str; 18] = [
    operators::EQUALS,
    operators::NOT_EQUALS,
    operators::LESS,
    operators::LESS_EQUALS,
    operators::GREATER,
    operators::GREATER_EQUALS,
    operators::IN,
    operators::SUBSTRACT,
    operators::MULTIPLY,
    operators::DIVIDE,
    operators::MODULO,
    operators::NEGATE,
    "size",
    "type",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
];

/// A parsed expression.
pub(super) struct Program {
    expression: IdedExpr,
    /// The names and texts that the expression spells out.
    spelled: BTreeSet<String>,
}

impl Program {
    /// Parses an expression; the caller has limited its text and provides the stack.
    pub(super) fn parse(text: &str, max_depth: u16) -> Result<Program, String> {
        let parser = Parser::default().max_recursion_depth(max_depth);
        let mut expression = parser.parse(text).map_err(|error| error.to_string())?;
        let mut spelled = BTreeSet::new();
        meter(&mut expression, &mut spelled)?;
        Ok(Program { expression, spelled })
    }

    /// Evaluates the expression.
    pub(super) fn evaluate<'v>(
        &self,
        variables: impl IntoIterator<Item = (&'v str, serde_json::Value)>,
    ) -> Result<Evaluation, String> {
        let meter = Meter::default();
        let mut context = Context::default();
        meter.register(&mut context).map_err(|error| error.to_string())?;
        for (name, value) in variables {
            context.add_variable(name, value).map_err(|_| format!("`{name}` cannot be read"))?;
        }
        let outcome = Value::resolve(&self.expression, &context);
        // `||` and `all` ignore errors that do not decide their result, so the counter has the last word.
        if meter.is_used_up() {
            return Err(format!(
                "it needs more than {BUDGET} steps; use fewer nested loops, or smaller lists and texts"
            ));
        }
        match outcome {
            Ok(Value::Bool(true)) => Ok(Evaluation::True),
            Ok(Value::Bool(false)) => Ok(Evaluation::False),
            Ok(other) => Err(format!("it is {:?}, not a boolean", other.type_of())),
            Err(ExecutionError::NoSuchKey(key)) => {
                let is_spelled = self.spelled.contains(key.as_str());
                Ok(Evaluation::MissingField(if is_spelled { key.to_string() } else { String::new() }))
            }
            Err(ExecutionError::UndeclaredReference(name)) => {
                Ok(Evaluation::MissingVariable(name.to_string()))
            }
            Err(error) => Err(describe(&error)),
        }
    }
}

/// What is wrong, without the values that were involved: those of a dependency may belong to somebody else than the reader.
fn describe(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchOverload(overload) => overload.to_string(),
        ExecutionError::InvalidArgumentCount { .. } | ExecutionError::MissingArgumentOrTarget => {
            error.to_string()
        }
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "it divides by zero".to_owned()
        }
        ExecutionError::Overflow(operator, ..) => format!("`{operator}` overflows"),
        ExecutionError::IndexOutOfBounds(_) => "an index is out of bounds".to_owned(),
        ExecutionError::DuplicateKey(_) => "a map has a key twice".to_owned(),
        ExecutionError::FunctionError { function, .. } => format!("`{function}` cannot be applied"),
        ExecutionError::UnsupportedBinaryOperator(operator, ..) => {
            format!("`{operator}` cannot be applied to these types")
        }
        _ => "it is applied to a value of the wrong type".to_owned(),
    }
}

/// Counts work.
#[derive(Clone, Default)]
struct Meter(Arc<AtomicU64>);

impl Meter {
    fn is_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) > BUDGET
    }

    fn charge(&self, units: u64) -> Result<(), ExecutionError> {
        let before = self.0.load(Ordering::Relaxed);
        self.0.store(before.saturating_add(units), Ordering::Relaxed);
        match self.is_used_up() {
            true => Err(ExecutionError::InternalError("the budget is used up".to_owned())),
            false => Ok(()),
        }
    }

    /// What is left, in units.
    fn left(&self) -> u64 {
        BUDGET.saturating_sub(self.0.load(Ordering::Relaxed))
    }

    fn register(&self, context: &mut Context<'_, '_>) -> Result<(), cel::DeclarationError> {
        let meter = self.clone();
        context.add_function(CHARGE, move |call: &FunctionContext| {
            let value = argument(call, 0)?;
            meter.charge(1 + size(value, meter.left()))?;
            Value::try_from(value)
        })?;
        let meter = self.clone();
        context.add_function(CHARGE_RANGE, move |call: &FunctionContext| {
            let value = argument(call, 0)?;
            let weight = argument(call, 1)?.downcast_ref::<CelInt>().map_or(1, |weight| *weight.inner());
            let items = value.as_sizer().map_or(1, |sizer| *sizer.size().inner());
            let steps = items.unsigned_abs().saturating_mul(weight.unsigned_abs());
            meter.charge(1 + size(value, meter.left()) + steps)?;
            Value::try_from(value)
        })?;
        let meter = self.clone();
        context.add_function(CHARGE_RECEIVER, move |call: &FunctionContext| {
            meter.charge(1 + size(argument(call, 0)?, meter.left()))?;
            Value::try_from(argument(call, 1)?)
        })
    }
}

fn argument<'a>(call: &'a FunctionContext<'_, '_>, index: usize) -> Result<&'a dyn Val, ExecutionError> {
    call.args.get(index).map(CowVal::as_ref).ok_or(ExecutionError::MissingArgumentOrTarget)
}

/// The size of a value with all that it contains, in units. Counting ends at `limit`.
fn size(value: &dyn Val, limit: u64) -> u64 {
    let text = |length: usize| (length / TEXT_UNIT) as u64;
    let mut total: u64 = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        total += 1;
        if total > limit {
            break;
        }
        if let Some(list) = value.downcast_ref::<CelList>() {
            open.extend(list.inner().iter().map(|item| item.as_ref() as &dyn Val));
        } else if let Some(map) = value.downcast_ref::<CelMap>() {
            for (key, value) in map.inner() {
                open.push(key.inner());
                open.push(value.as_ref());
            }
        } else if let Some(string) = value.downcast_ref::<CelString>() {
            total += text(string.inner().len());
        } else if let Some(bytes) = value.downcast_ref::<CelBytes>() {
            total += text(bytes.inner().len());
        }
    }
    total
}

/// Puts charges into an expression. Returns how many nodes it has, those of nested loops included.
fn meter(expression: &mut IdedExpr, spelled: &mut BTreeSet<String>) -> Result<i64, String> {
    let mut nodes = 1;
    match &mut expression.expr {
        Expr::Unspecified => {}
        Expr::Ident(name) => note(spelled, name),
        Expr::Literal(literal) => {
            if let LiteralValue::String(text) = literal {
                note(spelled, text.inner());
            }
        }
        Expr::Select(select) => {
            note(spelled, &select.field);
            nodes += meter(&mut select.operand, spelled)?;
        }
        Expr::List(list) => {
            for element in &mut list.elements {
                nodes += meter(element, spelled)?;
                charge(element);
            }
        }
        Expr::Map(map) => {
            for entry in &mut map.entries {
                nodes += meter_entry(&mut entry.expr, spelled)?;
            }
        }
        Expr::Struct(fields) => {
            for entry in &mut fields.entries {
                nodes += meter_entry(&mut entry.expr, spelled)?;
            }
        }
        Expr::Comprehension(comprehension) => nodes += meter_comprehension(comprehension, spelled)?,
        Expr::Call(_) => return meter_call(expression, spelled),
    }
    Ok(nodes)
}

fn note(spelled: &mut BTreeSet<String>, name: &str) {
    spelled.insert(name.to_owned());
}

fn meter_entry(entry: &mut EntryExpr, spelled: &mut BTreeSet<String>) -> Result<i64, String> {
    match entry {
        EntryExpr::StructField(field) => {
            let nodes = meter(&mut field.value, spelled)?;
            charge(&mut field.value);
            Ok(nodes)
        }
        EntryExpr::MapEntry(entry) => {
            let nodes = meter(&mut entry.key, spelled)? + meter(&mut entry.value, spelled)?;
            charge(&mut entry.key);
            charge(&mut entry.value);
            Ok(nodes)
        }
    }
}

fn meter_call(expression: &mut IdedExpr, spelled: &mut BTreeSet<String>) -> Result<i64, String> {
    let Expr::Call(call) = &mut expression.expr else { return Ok(1) };
    let mut nodes = 1;
    let is_control = CONTROL.contains(&call.func_name.as_str());
    // Looking up an item costs the same in large and small containers.
    let is_lookup = call.func_name == operators::INDEX;
    for (index, argument) in call.args.iter_mut().enumerate() {
        nodes += meter(argument, spelled)?;
        let is_free = is_control || (is_lookup && index == 0);
        if !is_free {
            charge(argument);
        }
    }
    let mut receiver = None;
    if let Some(target) = &mut call.target {
        nodes += meter(target, spelled)?;
        // A chain of names stays as it is, because it may also be the qualified name of a function; evaluating it twice
        // costs little.
        match is_chain(target) {
            true => receiver = Some((**target).clone()),
            false => charge(target),
        }
    }
    let builds = call.func_name == operators::ADD;
    if let Some(receiver) = receiver {
        let method = std::mem::take(expression);
        *expression = our_call(CHARGE_RECEIVER, vec![receiver, method]);
    } else if builds {
        charge(expression);
    }
    Ok(nodes)
}

/// Whether an expression only selects fields of a variable.
fn is_chain(expression: &IdedExpr) -> bool {
    match &expression.expr {
        Expr::Ident(_) => true,
        Expr::Select(select) => !select.test && is_chain(&select.operand),
        _ => false,
    }
}

fn meter_comprehension(
    comprehension: &mut ComprehensionExpr,
    spelled: &mut BTreeSet<String>,
) -> Result<i64, String> {
    let variables = [Some(&comprehension.iter_var), comprehension.iter_var2.as_ref()];
    if let Some(name) = variables.into_iter().flatten().find(|name| TYPES.contains(&name.as_str())) {
        return Err(format!("the variable `{name}` has the name of a type; give it another one"));
    }
    let mut body = 1;
    body += meter(&mut comprehension.accu_init, spelled)?;
    body += meter(&mut comprehension.loop_cond, spelled)?;
    body += meter_step(&comprehension.accu_var, &mut comprehension.loop_step, spelled)?;
    body += meter(&mut comprehension.result, spelled)?;
    let range = meter(&mut comprehension.iter_range, spelled)?;
    let list = std::mem::take(&mut comprehension.iter_range);
    let weight = literal(body);
    comprehension.iter_range = our_call(CHARGE_RANGE, vec![list, weight]);
    Ok(range + body)
}

/// Puts charges into the step of a loop. The interpreter recognises steps that append to the result of `map` and `filter`
/// by their form, and then appends in place; the form stays, and what is appended is charged for.
fn meter_step(result: &str, step: &mut IdedExpr, spelled: &mut BTreeSet<String>) -> Result<i64, String> {
    if let Expr::Call(call) = &mut step.expr {
        if is_append(result, call) {
            return Ok(2 + meter(&mut call.args[1], spelled)?);
        }
        if call.func_name == operators::CONDITIONAL && call.args.len() == 3 {
            let guard = meter(&mut call.args[0], spelled)?;
            let then = meter_step(result, &mut call.args[1], spelled)?;
            return Ok(1 + guard + then + meter(&mut call.args[2], spelled)?);
        }
    }
    meter(step, spelled)
}

fn is_append(result: &str, call: &CallExpr) -> bool {
    let is_result = |expression: &IdedExpr| matches!(&expression.expr, Expr::Ident(name) if name == result);
    call.func_name == operators::ADD
        && matches!(call.args.as_slice(), [left, right] if is_result(left) && matches!(right.expr, Expr::List(_)))
}

/// Puts a charge around an expression that may be large.
fn charge(expression: &mut IdedExpr) {
    let is_small = match &expression.expr {
        Expr::Literal(_) => true,
        Expr::Ident(name) => TYPES.contains(&name.as_str()),
        Expr::Select(select) => select.test,
        Expr::Call(call) => {
            let name = call.func_name.as_str();
            [CHARGE, CHARGE_RECEIVER].contains(&name)
                || SCALAR.contains(&name)
                || name == operators::LOGICAL_NOT
        }
        _ => false,
    };
    if !is_small {
        let inner = std::mem::take(expression);
        *expression = our_call(CHARGE, vec![inner]);
    }
}

fn our_call(name: &str, args: Vec<IdedExpr>) -> IdedExpr {
    IdedExpr { id: 0, expr: Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args }) }
}

fn literal(number: i64) -> IdedExpr {
    IdedExpr { id: 0, expr: Expr::Literal(LiteralValue::Int(number.into())) }
}
