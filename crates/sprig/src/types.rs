//! Type functions.

use pintle_gotmpl::{Args, CallResult, Function, Type, Value};

use crate::equal::deep_equal;
use crate::text::text;

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    use Type::{Any, Bool, Str};
    vec![
        Function::pure("typeOf", &[Any], None, Str, |args| text(args.any(0).type_name())),
        Function::pure("typeIs", &[Str, Any], None, Bool, type_is),
        Function::pure("typeIsLike", &[Str, Any], None, Bool, type_is_like),
        Function::pure("kindOf", &[Any], None, Str, |args| text(args.any(0).kind().name())),
        Function::pure("kindIs", &[Str, Any], None, Bool, kind_is),
        Function::metered("deepEqual", &[Any, Any], None, Bool, |fuel, args| {
            Ok(Value::Bool(deep_equal(fuel, args.any(0), args.any(1))?))
        }),
    ]
}

fn type_is(args: Args<'_>) -> CallResult {
    Ok(Value::Bool(args.text(0) == args.any(1).type_name().as_bytes()))
}

/// Also true for a pointer to the type.
fn type_is_like(args: Args<'_>) -> CallResult {
    let (wanted, name) = (args.text(0), args.any(1).type_name());
    let name = name.as_bytes();
    Ok(Value::Bool(wanted == name || name.strip_prefix(b"*") == Some(wanted)))
}

fn kind_is(args: Args<'_>) -> CallResult {
    Ok(Value::Bool(args.text(0) == args.any(1).kind().name().as_bytes()))
}
