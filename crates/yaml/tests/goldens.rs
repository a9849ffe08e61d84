//! Compares reading and writing with recorded results of Helm. Skipped where the recordings are absent.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "all of this is a test")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_tree::{Map, Node, Str};
use serde_json::Value;

/// The share of cases that must agree.
const WANTED: f64 = 0.995;

fn cases(family: &str) -> Option<Vec<Value>> {
    let lines = pintle_testkit::recorded(family);
    (!lines.is_empty()).then(|| lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// Runs all cases on a thread whose stack holds a tree of ten thousand levels even without optimization.
fn check(family: &'static str, case: fn(&Value) -> Result<(), String>) {
    let run = move || {
        let Some(cases) = cases(family) else { return };
        let mut failures = Vec::new();
        for value in &cases {
            if let Err(why) = case(value) {
                failures.push(format!("{}: {why}", value["id"].as_str().unwrap()));
            }
        }
        for failure in failures.iter().take(40) {
            println!("{failure}");
        }
        let passed = cases.len() - failures.len();
        println!("{family}: {passed} of {} agree", cases.len());
        assert!(passed as f64 >= WANTED * cases.len() as f64);
    };
    std::thread::Builder::new().stack_size(64 << 20).spawn(run).unwrap().join().unwrap();
}

fn node(value: &Value, ints: bool) -> Node {
    match value {
        Value::Null => Node::Nil,
        Value::Bool(value) => Node::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(whole) if ints => Node::Int(whole),
            _ => Node::Float(number.as_f64().unwrap()),
        },
        Value::String(text) => Node::Str(text.as_str().into()),
        Value::Array(items) => Node::List(items.iter().map(|item| node(item, ints)).collect()),
        Value::Object(map) => Node::Map(
            map.iter().map(|(key, value)| (Str::from(key), node(value, ints))).collect::<Map<Node>>(),
        ),
    }
}

fn depth(node: &Node) -> usize {
    match node {
        Node::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Node::Map(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn compare<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what}\n  found  {found:?}\n  wanted {wanted:?}")) }
}

fn text_of(input: &Value) -> Vec<u8> {
    match input["text_b64"].as_str() {
        Some(encoded) => STANDARD.decode(encoded).unwrap(),
        None => input["text"].as_str().unwrap().as_bytes().to_vec(),
    }
}

fn parse_case(case: &Value) -> Result<(), String> {
    let text = text_of(&case["in"]);
    let out = &case["out"];
    let err = out["err"].as_str().map(str::to_owned);
    let read = pintle_yaml::read(&text).map_err(|error| error.to_string());
    compare("error", read.as_ref().err().cloned(), err.clone())?;
    if let Ok(tree) = &read {
        match out["ok_depth"].as_u64() {
            Some(wanted) => compare("depth", depth(tree), wanted as usize)?,
            None => compare("tree", tree.clone(), node(&out["ok"], false))?,
        }
    }
    if let Some(json) = out["json"].as_str() {
        let found = pintle_yaml::to_json(&text).map_err(|error| error.to_string())?;
        compare("json", String::from_utf8(found).unwrap(), json.to_owned())?;
    }
    let map_err = out["map_err"].as_str().map(str::to_owned).or(err);
    let map = pintle_yaml::read_map(&text).map_err(|error| error.to_string());
    compare("map error", map.err(), map_err.clone())?;
    if let Some(strict) = out["strict_err"].as_str() {
        let found = pintle_yaml::read_strict(&text).map_err(|error| error.to_string());
        compare("strict error", found.err().as_deref(), Some(strict))?;
    } else if read.is_ok() {
        compare("strict", pintle_yaml::read_strict(&text).err().map(|error| error.to_string()), None)?;
    }
    let values = pintle_yaml::read_values(&text).map(Node::Map).map_err(|error| error.to_string());
    let wanted = match (&out["values"], out["values_err"].as_str()) {
        (_, Some(error)) => Err(error.to_owned()),
        (Value::Null, None) => match map_err {
            Some(error) => Err(format!("cannot unmarshal yaml document: {error}")),
            None if out["values_depth"].is_u64() || out["ok_depth"].is_u64() => return Ok(()),
            None => Ok(node(&out["ok"], false)),
        },
        (values, None) => Ok(node(values, false)),
    };
    compare("values", values, wanted)
}

fn emit_case(case: &Value) -> Result<(), String> {
    let input = &case["in"];
    let tree = match input["string_b64"].as_str() {
        Some(encoded) => Node::Str(STANDARD.decode(encoded).unwrap().into()),
        None => node(&input["value"], input["ints"].as_bool().unwrap_or(false)),
    };
    let out = &case["out"];
    let written = pintle_yaml::write(&tree).map_err(|error| error.to_string());
    compare("error", written.as_ref().err().map(String::as_str), out["must_err"].as_str())?;
    compare_text("text", &written.unwrap_or_default(), out, "ok")?;
    compare_text("pretty", &pintle_yaml::write_pretty(&tree), out, "pretty")
}

fn compare_text(what: &str, found: &[u8], out: &Value, field: &str) -> Result<(), String> {
    let found = found.strip_suffix(b"\n").unwrap_or(found);
    if let Some(length) = out[format!("{field}_len")].as_u64() {
        return compare(what, found.len(), length as usize);
    }
    if let Some(encoded) = out[format!("{field}_b64")].as_str() {
        return compare(what, found, &STANDARD.decode(encoded).unwrap());
    }
    let found = String::from_utf8_lossy(found).into_owned();
    compare(what, found.as_str(), out[field].as_str().unwrap_or_default())
}

#[test]
fn reading_agrees_with_helm() {
    check("yaml-parse", parse_case);
}

#[test]
fn writing_agrees_with_helm() {
    check("yaml-emit", emit_case);
}
