//! Arithmetic on integers, which wraps, on floats, which goes through decimals, and sequences of integers.

use pintle_gotmpl::{Args, CallError, CallResult, Function, List, ListType, Type, Value};

use crate::convert::{to_float, to_int};
use crate::decimal::Decimal;
use crate::text::{check_length, check_size, text};

/// The functions of this family.
pub(crate) fn functions() -> Vec<Function> {
    use Type::{Any, Float64, Int, Int64, Ints, Str};
    vec![
        Function::pure("add", &[], Some(Any), Int64, |args| Ok(folded(0, args.0, i64::wrapping_add))),
        Function::pure("add1", &[Any], None, Int64, |args| Ok(folded(1, args.0, i64::wrapping_add))),
        Function::pure("sub", &[Any, Any], None, Int64, |args| Ok(reduced(args, i64::wrapping_sub))),
        Function::pure("mul", &[Any], Some(Any), Int64, |args| Ok(reduced(args, i64::wrapping_mul))),
        Function::pure("div", &[Any, Any], None, Int64, |args| divided(args, i64::wrapping_div)),
        Function::pure("mod", &[Any, Any], None, Int64, |args| divided(args, i64::wrapping_rem)),
        Function::pure("max", &[Any], Some(Any), Int64, |args| Ok(reduced(args, i64::max))),
        Function::pure("biggest", &[Any], Some(Any), Int64, |args| Ok(reduced(args, i64::max))),
        Function::pure("min", &[Any], Some(Any), Int64, |args| Ok(reduced(args, i64::min))),
        Function::metered("addf", &[], Some(Any), Float64, |fuel, args| {
            decimals(&mut |digits| fuel.spend(digits), &Value::Nil, args.0, sum)
        }),
        Function::metered("add1f", &[Any], None, Float64, |fuel, args| {
            decimals(&mut |digits| fuel.spend(digits), &Value::int(1), args.0, sum)
        }),
        Function::metered("subf", &[Any], Some(Any), Float64, |fuel, args| {
            decimals(&mut |digits| fuel.spend(digits), args.any(0), args.rest(1), |a, b| Ok(a.minus(b)))
        }),
        Function::metered("mulf", &[Any], Some(Any), Float64, |fuel, args| {
            decimals(&mut |digits| fuel.spend(digits), args.any(0), args.rest(1), |a, b| Ok(a.times(b)))
        }),
        Function::metered("divf", &[Any], Some(Any), Float64, |fuel, args| {
            decimals(&mut |digits| fuel.spend(digits * 32), args.any(0), args.rest(1), Decimal::divided)
        }),
        Function::pure("maxf", &[Any], Some(Any), Float64, |args| Ok(extreme(args, f64::max))),
        Function::pure("minf", &[Any], Some(Any), Float64, |args| Ok(extreme(args, f64::min))),
        Function::pure("floor", &[Any], None, Float64, |args| {
            Ok(Value::Float(to_float(args.any(0)).floor()))
        }),
        Function::pure("ceil", &[Any], None, Float64, |args| Ok(Value::Float(to_float(args.any(0)).ceil()))),
        Function::pure("round", &[Any, Int], Some(Float64), Float64, round),
        Function::pure("until", &[Int], None, Ints, until),
        Function::pure("untilStep", &[Int, Int, Int], None, Ints, |args| {
            counted("untilStep", args.int(0), args.int(1), args.int(2)).map(ints)
        }),
        Function::pure("seq", &[], Some(Int), Str, seq),
    ]
}

fn folded(start: i64, values: &[Value], operation: fn(i64, i64) -> i64) -> Value {
    Value::int64(values.iter().map(to_int).fold(start, operation))
}

fn reduced(args: Args<'_>, operation: fn(i64, i64) -> i64) -> Value {
    folded(to_int(args.any(0)), args.rest(1), operation)
}

fn divided(args: Args<'_>, operation: fn(i64, i64) -> i64) -> CallResult {
    match to_int(args.any(1)) {
        0 => Err(CallError::new("runtime error: integer divide by zero")),
        divisor => Ok(Value::int64(operation(to_int(args.any(0)), divisor))),
    }
}

fn sum(a: &Decimal, b: &Decimal) -> Result<Decimal, String> {
    Ok(a.plus(b))
}

/// Computes with exact numbers, which grow with every product; `pay` gets their length, in units of nine decimal digits.
/// Each unit of a quotient takes many products.
fn decimals(
    pay: &mut dyn FnMut(u64) -> Result<(), CallError>,
    start: &Value,
    values: &[Value],
    operation: impl Fn(&Decimal, &Decimal) -> Result<Decimal, String>,
) -> CallResult {
    let mut result = Decimal::from_float(to_float(start))?;
    for value in values {
        pay(result.digits() as u64 + 1)?;
        result = operation(&result, &Decimal::from_float(to_float(value))?)?;
    }
    Ok(Value::Float(result.to_float()))
}

/// The largest or smallest; NaN wins over everything except the infinity that is itself the extreme.
fn extreme(args: Args<'_>, operation: fn(f64, f64) -> f64) -> Value {
    let unbeaten = operation(f64::INFINITY, f64::NEG_INFINITY);
    let better =
        |a: f64, b: f64| match (a.is_nan() || b.is_nan(), a == unbeaten || b == unbeaten) {
            (_, true) => unbeaten,
            (true, false) => f64::NAN,
            // The sign of zero decides between zeros.
            (false, false) if a == 0.0 && b == 0.0 => {
                if (operation(0.0, 1.0) == 1.0) == a.is_sign_negative() { b } else { a }
            }
            (false, false) => operation(a, b),
        };
    Value::Float(args.rest(1).iter().map(to_float).fold(to_float(args.any(0)), better))
}

fn round(args: Args<'_>) -> CallResult {
    let power = power_of_ten(args.int(1));
    let threshold = if args.len() > 2 { args.float(2) } else { 0.5 };
    let scaled = power * to_float(args.any(0));
    let rounded = if scaled.fract() >= threshold { scaled.ceil() } else { scaled.floor() };
    Ok(Value::Float(rounded / power))
}

/// Ten to the power of `exponent` with the rounding errors of Go's `math.Pow`: by squaring a fraction whose power of
/// two is kept separately.
fn power_of_ten(exponent: i64) -> f64 {
    if exponent.unsigned_abs() >= 1 << 62 {
        return if exponent > 0 { f64::INFINITY } else { 0.0 };
    }
    let (mut fraction, mut binary) = (0.625_f64, 4_i64);
    let (mut result, mut result_binary) = (1.0_f64, 0_i64);
    let mut left = exponent.unsigned_abs();
    while left != 0 {
        // Beyond any float64; Go's loop stops here as well, to keep the exponent from overflowing.
        if binary.abs() > 1 << 12 {
            result_binary += binary;
            break;
        }
        if left & 1 == 1 {
            result *= fraction;
            result_binary += binary;
        }
        fraction *= fraction;
        binary <<= 1;
        if fraction < 0.5 {
            fraction += fraction;
            binary -= 1;
        }
        left >>= 1;
    }
    if exponent < 0 {
        result = 1.0 / result;
        result_binary = -result_binary;
    }
    times_power_of_two(result, result_binary)
}

/// `value` times a power of two, rounded once.
fn times_power_of_two(value: f64, exponent: i64) -> f64 {
    let exponent = exponent.clamp(-2_000, 2_000) as i32;
    let first = exponent.clamp(-1_000, 1_000);
    value * 2f64.powi(first) * 2f64.powi((exponent - first).clamp(-1_000, 1_000))
}

fn until(args: Args<'_>) -> CallResult {
    let count = args.int(0);
    counted("until", 0, count, if count < 0 { -1 } else { 1 }).map(ints)
}

/// The integers from `start` to before `stop`; none when `step` leads away.
fn counted(
    function: &str,
    start: i64,
    stop: i64,
    step: i64,
) -> Result<impl Iterator<Item = i64> + use<>, CallError> {
    let leads_there = if stop < start { step < 0 } else { step > 0 };
    let count = if leads_there {
        let distance = i128::from(stop) - i128::from(start);
        distance.unsigned_abs().div_ceil(u128::from(step.unsigned_abs()))
    } else {
        0
    };
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    check_length(function, count)?;
    // The count keeps all of them between start and stop, so only the last step could overflow.
    Ok((0..count).scan(start, move |next, _| {
        let value = *next;
        *next = next.wrapping_add(step);
        Some(value)
    }))
}

fn ints(numbers: impl Iterator<Item = i64>) -> Value {
    Value::List(List::of(ListType::Int, numbers.map(Value::int).collect()))
}

/// The numbers that the command `seq` prints, in one line.
fn seq(args: Args<'_>) -> CallResult {
    let direction = |start: i64, end: i64| if end < start { -1 } else { 1 };
    let (start, end, step) = match args.len() {
        1 => (1, args.int(0), direction(1, args.int(0))),
        2 => (args.int(0), args.int(1), direction(args.int(0), args.int(1))),
        3 if args.int(2) < args.int(0) && args.int(1) > 0 => return text(""),
        3 => (args.int(0), args.int(2), args.int(1)),
        _ => return text(""),
    };
    let numbers = counted("seq", start, end.wrapping_add(direction(start, end)), step)?;
    let mut out = String::new();
    for number in numbers {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&number.to_string());
        check_size("seq", out.len())?;
    }
    text(out)
}

#[cfg(test)]
mod tests {
    use pintle_gotmpl::print;

    use super::*;

    fn call(body: fn(Args<'_>) -> CallResult, args: &[Value]) -> String {
        match body(Args(args)) {
            Ok(value) => print::to_str(&value).to_string(),
            Err(error) => format!("error: {}", error.message),
        }
    }

    #[test]
    fn powers_of_ten_are_exact_where_floats_are() {
        for exponent in 0..=22 {
            assert_eq!(power_of_ten(exponent), format!("1e{exponent}").parse::<f64>().unwrap());
        }
        assert_eq!(power_of_ten(-2), 0.01);
        assert_eq!(power_of_ten(400), f64::INFINITY);
        assert_eq!(power_of_ten(-400), 0.0);
    }

    #[test]
    fn sequences_count_in_both_directions() {
        assert_eq!(call(until, &[Value::int(3)]), "[0 1 2]");
        assert_eq!(call(until, &[Value::int(-2)]), "[0 -1]");
        assert_eq!(call(seq, &[Value::int(-2)]), "1 0 -1 -2");
        assert_eq!(call(seq, &[Value::int(0), Value::int(2), Value::int(5)]), "0 2 4");
        assert_eq!(call(seq, &[Value::int(5), Value::int(2), Value::int(0)]), "");
        assert!(call(until, &[Value::int(i64::MAX)]).starts_with("error: the result of until"));
    }

    #[test]
    fn integers_wrap_and_division_by_zero_is_go_panic() {
        assert_eq!(
            call(|args| divided(args, i64::wrapping_div), &[Value::int(i64::MIN), Value::int(-1)]),
            i64::MIN.to_string()
        );
        assert_eq!(
            call(|args| divided(args, i64::wrapping_rem), &[Value::int(1), "x".into()]),
            "error: runtime error: integer divide by zero"
        );
    }

    #[test]
    fn rounding_takes_a_threshold() {
        assert_eq!(call(round, &[Value::Float(123.5555), Value::int(3)]), "123.556");
        assert_eq!(call(round, &[Value::Float(3.45), Value::int(1), Value::Float(0.6)]), "3.4");
        assert_eq!(call(|args| Ok(extreme(args, f64::max)), &[Value::Float(f64::NAN), Value::int(1)]), "NaN");
    }

    #[test]
    fn products_of_very_many_numbers_are_paid_for_by_their_length() {
        let mut paid = 0;
        let mut pay = |digits| {
            paid += digits;
            Ok(())
        };
        let numbers = vec![Value::Float(1.1); 2000];
        decimals(&mut pay, &Value::Float(1.1), &numbers, |a, b| Ok(a.times(b))).expect("a number");
        assert!(paid > 2000 * 100, "{paid}");
    }
}
