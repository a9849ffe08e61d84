//! Choosing between values by whether they are empty.

use pintle_gotmpl::{Args, CallResult, Function, Type, Value};

/// The functions of this family. Empty is what Go's templates count as false.
pub(crate) fn functions() -> Vec<Function> {
    use Type::{Any, Bool};
    vec![
        Function::pure("default", &[Any], Some(Any), Any, default),
        Function::pure("empty", &[Any], None, Bool, |args| Ok(Value::Bool(!args.any(0).is_true()))),
        Function::pure("coalesce", &[], Some(Any), Any, coalesce),
        Function::pure("all", &[], Some(Any), Bool, |args| {
            Ok(Value::Bool(args.0.iter().all(Value::is_true)))
        }),
        Function::pure("any", &[], Some(Any), Bool, |args| {
            Ok(Value::Bool(args.0.iter().any(Value::is_true)))
        }),
        Function::pure("ternary", &[Any, Any, Bool], None, Any, ternary),
    ]
}

fn default(args: Args<'_>) -> CallResult {
    // Without a second argument nil is tested, so the default is returned.
    Ok(args.any(usize::from(args.any(1).is_true())).clone())
}

fn coalesce(args: Args<'_>) -> CallResult {
    Ok(args.0.iter().find(|value| value.is_true()).cloned().unwrap_or_default())
}

fn ternary(args: Args<'_>) -> CallResult {
    Ok(args.any(usize::from(!args.bool(2))).clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_default_replaces_an_empty_value() {
        let chosen = |given: Value| default(Args(&["d".into(), given])).unwrap();
        assert_eq!(chosen(Value::Bool(false)).as_text().unwrap().to_string(), "d");
        assert!(matches!(chosen(Value::int(3)), Value::Int(_, 3)));
        assert!(default(Args(&["d".into()])).unwrap().as_text().is_some());
    }
}
