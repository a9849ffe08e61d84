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

/// How much longer than it is charged for a call may take when its arguments get sixteen times as long. What takes the
/// square of the time is at 16; the rest is for machines that are busy.
const TOLERANCE: f64 = 6.0;

/// A function, by what templates know of it.
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

/// Functions whose work is the same whatever they are given, and so much of it that they charge by the call.
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

#[test]
fn no_template_function_takes_longer_than_it_is_charged_for() {
    if let Some(path) = std::env::var_os(table::VARIABLE) {
        return table::write(std::path::Path::new(&path), &natives());
    }
    let mut problems = Vec::new();
    for native in natives().iter().filter(|native| !is_fixed(native)) {
        for shape in arguments::shapes(native) {
            let growth = Growth::measured(&Call::new(native, &shape), TOLERANCE);
            if growth.excess() > TOLERANCE {
                problems.push(format!("{} of {}: {growth}", native.name, shape.describe()));
            }
        }
    }
    assert!(problems.is_empty(), "{}:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn every_template_function_is_in_the_table() {
    let names = table::names();
    let missing: Vec<String> =
        natives().into_iter().map(|native| native.name).filter(|name| !names.contains(name)).collect();
    assert!(missing.is_empty(), "run `cargo xtask native-functions`: {missing:?} are not in the table");
}
