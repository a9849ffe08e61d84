//! Helm's release storage format: encoding to a Secret, and decoding.

use std::collections::BTreeMap;

use pintle_release::{Timestamp, helm};
use serde_json::{Value, json};

use crate::case::{Case, compare_text};
use crate::report::first_difference;

/// The placeholder for the current time in the cases.
const CLOCK: &str = "<unix seconds>";

pub(super) fn check(case: &Case) -> Option<String> {
    let got = match case.text("op") {
        "encode" => stored(case),
        _ => read(case),
    };
    let got = match got {
        Ok(got) => got,
        Err(error) => {
            return case.compare("err", format!("get: failed to decode data \"k\": {error}").as_bytes());
        }
    };
    let Some(want) = case.output.get("ok") else {
        return Some(format!("a failure was recorded, got {got}"));
    };
    if let Some(difference) = compare_text(want, "json", got["json"].as_str().unwrap_or_default().as_bytes())
    {
        return Some(difference);
    }
    let rest = |value: &Value| {
        let mut value = value.clone();
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|key, _| key == "labels" || key == "name" || key == "type");
        }
        value.to_string()
    };
    let (want, got) = (rest(want), rest(&got));
    (want != got).then(|| first_difference(want.as_bytes(), got.as_bytes()))
}

fn stored(case: &Case) -> Result<Value, helm::Error> {
    let mut version = helm::decode(case.input["release"].to_string().as_bytes())?;
    version.labels = texts(&case.input["labels"]);
    let stamp =
        if case.flag("update") { helm::TimestampLabel::Modified } else { helm::TimestampLabel::Created };
    let labels = helm::labels(&version, stamp(Timestamp::from_unix(0, 0)));
    let labels: BTreeMap<String, String> = labels
        .into_iter()
        .map(|(key, value)| if value == "0" { (key, CLOCK.to_owned()) } else { (key, value) })
        .collect();
    // Decode the stored payload again, so that compression and Base64 are covered in both directions.
    let json = helm::unpack(helm::pack(&helm::encode(&version)?).as_bytes())?;
    Ok(json!({
        "name": helm::object_name(&version.name, version.number),
        "type": helm::SECRET_TYPE,
        "labels": labels,
        "json": String::from_utf8_lossy(&json),
    }))
}

fn read(case: &Case) -> Result<Value, helm::Error> {
    let data = case.bytes("data").unwrap_or_default();
    let json = helm::encode(&helm::decode(&helm::unpack(&data)?)?)?;
    let labels = helm::user_labels(texts(&case.input["labels"]));
    Ok(json!({"labels": labels, "json": String::from_utf8_lossy(&json)}))
}

fn texts(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
}
