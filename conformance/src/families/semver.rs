//! Versions and constraints.

use pintle_semver::{Constraint, Version};
use serde_json::{Value, json};

use crate::case::Case;
use crate::report::first_difference;

pub(super) fn check(case: &Case) -> Option<String> {
    let got = if case.input.get("parse").is_some() {
        parse(case.text("parse"))
    } else if case.input.get("sort").is_some() {
        sort(&case.input["sort"])
    } else if case.input.get("v").is_some() {
        constraint_check(case.text("c"), case.text("v"))
    } else {
        match Constraint::parse(case.text("c")) {
            Ok(constraint) => json!({"ok": constraint.to_string()}),
            Err(error) => json!({"err": error.to_string()}),
        }
    };
    let (want, got) = (case.output.to_string(), got.to_string());
    (want != got).then(|| first_difference(want.as_bytes(), got.as_bytes()))
}

fn constraint_check(constraint: &str, version: &str) -> Value {
    let constraint = match Constraint::parse(constraint) {
        Ok(constraint) => constraint,
        Err(error) => return json!({"err": error.to_string()}),
    };
    let version = match Version::parse(version) {
        Ok(version) => version,
        Err(error) => return json!({"err": error.to_string(), "version_err": true}),
    };
    let mut answer = json!({"ok": constraint.check(&version)});
    let reasons = constraint.validate(&version);
    if !reasons.is_empty() {
        answer["reasons"] = reasons.iter().map(ToString::to_string).collect::<Vec<_>>().into();
    }
    answer
}

fn parse(text: &str) -> Value {
    let mut answer = match Version::parse(text) {
        Err(error) => json!({"err": error.to_string()}),
        Ok(version) => json!({"ok": {
            "major": version.major, "minor": version.minor, "patch": version.patch,
            "pre": version.pre, "meta": version.metadata,
            "original": version.original, "string": version.to_string(),
        }}),
    };
    if let Err(error) = Version::parse_strict(text) {
        answer["strict_err"] = error.to_string().into();
    }
    answer
}

fn sort(texts: &Value) -> Value {
    let texts = texts.as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut versions: Vec<Version> = match texts.map(Version::parse).collect() {
        Ok(versions) => versions,
        Err(error) => return json!({"err": error.to_string()}),
    };
    versions.sort_by(Version::compare);
    let order: Vec<&str> = versions.iter().map(|version| version.original.as_str()).collect();
    let neighbours: Vec<i8> = versions.windows(2).map(|pair| pair[0].compare(&pair[1]) as i8).collect();
    json!({"ok": order, "compare_next": neighbours})
}
