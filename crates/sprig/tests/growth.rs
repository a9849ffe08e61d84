//! The time of every template function may grow with its arguments, but not faster than the steps it is charged;
//! otherwise a chart could stall the program with one call that no limit ends.
//!
//! `cargo xtask native-functions` runs the same with larger arguments and writes the table in
//! docs/contributing/native-functions.md.

mod arguments;
mod measure;
mod table;

use pintle_gotmpl::Type;

use measure::{Call, Growth};

/// The maximum ratio of growth in time to growth in charge, for arguments of sixteen times the size. Quadratic time is at
/// 16; the rest is for busy machines.
const TOLERANCE: f64 = 6.0;

/// A function with its signature.
#[derive(Clone)]
struct Native {
    name: String,
    params: Vec<Type>,
    variadic: Option<Type>,
    /// Whether it charges for more than the size of its arguments and of its result.
    metered: bool,
}

/// The functions that every template has.
const BUILT_IN: &[&str] = &[
    "and", "call", "eq", "ge", "gt", "html", "index", "js", "le", "len", "lt", "ne", "not", "or", "print",
    "printf", "println", "slice", "urlquery",
];

/// Functions whose cost is high and does not depend on their arguments; they charge per call.
const FIXED: &[&str] = &[
    "bcrypt",
    "buildCustomCert",
    "derivePassword",
    "genCA",
    "genCAWithKey",
    "genPrivateKey",
    "genSelfSignedCert",
    "genSelfSignedCertWithKey",
    "genSignedCert",
    "genSignedCertWithKey",
    "htpasswd",
];

/// All functions of the library and of the language.
fn natives() -> Vec<Native> {
    let built_in = BUILT_IN.iter().map(|name| Native {
        name: (*name).to_owned(),
        params: if *name == "printf" { vec![Type::Str] } else { Vec::new() },
        variadic: Some(Type::Any),
        metered: false,
    });
    let library = pintle_sprig::functions().into_iter().map(|function| Native {
        name: function.name.to_owned(),
        params: function.params.to_vec(),
        variadic: function.variadic,
        metered: matches!(function.body, pintle_gotmpl::Body::Metered(_)),
    });
    let mut all: Vec<Native> = built_in.chain(library).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn is_fixed(native: &Native) -> bool {
    FIXED.contains(&native.name.as_str())
}

/// How often a call is timed: before its instructions are counted, which takes seconds, and where they cannot be.
const ATTEMPTS: [usize; 2] = [5, 40];

const TEST: &str = "growth::no_template_function_takes_longer_than_it_is_charged_for";

#[test]
fn no_template_function_takes_longer_than_it_is_charged_for() {
    if let Some(path) = std::env::var_os(table::VARIABLE) {
        return table::write(std::path::Path::new(&path), &natives());
    }
    if let Some(part) = pintle_testkit::counted_part() {
        return run_counted(&part);
    }
    let mut problems = Vec::new();
    for native in natives().iter().filter(|native| !is_fixed(native)) {
        for (index, shape) in arguments::shapes(native).iter().enumerate() {
            problems.extend(problem(native, index, shape));
        }
    }
    assert!(problems.is_empty(), "{}:\n{}", problems.len(), problems.join("\n"));
}

/// Describes a call that grows faster than its charge. Time is measured first; a call that looks too slow is judged by
/// its instruction count, which does not depend on other load.
fn problem(native: &Native, index: usize, shape: &arguments::Shape) -> Option<String> {
    let call = Call::new(native, shape);
    let growth = Growth::measured(&call, TOLERANCE, ATTEMPTS[0]);
    if growth.excess() <= TOLERANCE {
        return None;
    }
    let count = |size: usize, called: bool| {
        pintle_testkit::instructions(TEST, &format!("{} {index} {size} {called}", native.name))
    };
    let excess = growth
        .excess_of_instructions(count)
        .unwrap_or_else(|| Growth::measured(&call, TOLERANCE, ATTEMPTS[1]).excess());
    let described =
        || format!("{} of {}: {excess:.1} times its charge, {growth}", native.name, shape.describe());
    (excess > TOLERANCE).then(described)
}

/// Runs the one call whose instructions are counted.
fn run_counted(part: &str) {
    let words: Vec<&str> = part.split(' ').collect();
    let [name, index, size, called] = words[..] else { panic!("{part} is no part of this test") };
    let native = natives().into_iter().find(|native| native.name == name).expect("the function is known");
    let shape = &arguments::shapes(&native)[index.parse::<usize>().expect("an index")];
    Call::new(&native, shape).run_counted(size.parse().expect("a size"), called == "true");
}

#[test]
fn what_looks_too_slow_is_judged_by_its_instructions() {
    let native = natives().into_iter().find(|native| native.name == "upper").expect("it is known");
    let shape = &arguments::shapes(&native)[0];
    let growth = Growth::measured(&Call::new(&native, shape), TOLERANCE, 0);
    // Quadratic and linear instruction counts.
    let square = |size: usize, called: bool| Some(1_000 + if called { (size * size) as u64 } else { 0 });
    let linear = |size: usize, called: bool| Some(1_000 + if called { size as u64 } else { 0 });
    assert!(growth.excess_of_instructions(square).is_some_and(|excess| excess > TOLERANCE));
    assert!(growth.excess_of_instructions(linear).is_some_and(|excess| excess < TOLERANCE));
    assert!(growth.excess_of_instructions(|_, _| None).is_none());
    let counted = |called: bool| pintle_testkit::instructions(TEST, &format!("upper 0 4096 {called}"));
    if let (Some(without), Some(with)) = (counted(false), counted(true)) {
        assert!(with > without, "{with} {without}");
    }
}

#[test]
fn every_template_function_is_in_the_table() {
    let names = table::names();
    let missing: Vec<String> =
        natives().into_iter().map(|native| native.name).filter(|name| !names.contains(name)).collect();
    assert!(missing.is_empty(), "run `cargo xtask native-functions`: {missing:?} are not in the table");
}
