//! What JSONPath templates make of data.

use std::cmp::Ordering;

use pintle_tree::{Map, Node, json, number};

use super::{Part, Slice, Step};

/// Something that a step has found.
#[derive(Clone, Debug)]
enum Found<'a> {
    /// The root, which is a map.
    Root(&'a Map<Node>),
    /// A part of the data.
    Node(&'a Node),
    /// A text of the template.
    Text(&'a str),
    /// A whole number of the template.
    Int(i64),
    /// A number of the template.
    Float(f64),
    /// A truth of the template.
    Bool(bool),
}

/// Why there is no result. Helm does not show it, so it needs no text.
#[derive(Debug)]
pub(super) struct Misfit;

type Results<'a> = Result<Vec<Found<'a>>, Misfit>;

/// Fills in a template.
pub(super) fn evaluate(parts: &[Part], root: &Map<Node>) -> Result<Vec<u8>, Misfit> {
    let mut out = Vec::new();
    write_parts(parts, &Found::Root(root), &mut out)?;
    Ok(out)
}

fn write_parts<'a>(parts: &'a [Part], root: &Found<'a>, out: &mut Vec<u8>) -> Result<(), Misfit> {
    for part in parts {
        match part {
            Part::Text(text) => out.extend_from_slice(text.as_bytes()),
            Part::Expression(steps) => {
                for (at, found) in walk(steps, vec![root.clone()])?.iter().enumerate() {
                    if at > 0 {
                        out.push(b' ');
                    }
                    write_found(found, out)?;
                }
            }
            Part::Range(steps, body) => {
                for found in walk(steps, vec![root.clone()])? {
                    write_parts(body, &found, out)?;
                }
            }
        }
    }
    Ok(())
}

fn write_found(found: &Found<'_>, out: &mut Vec<u8>) -> Result<(), Misfit> {
    let plain = match found {
        Found::Root(map) => return write_json(*map, out),
        Found::Node(node @ (Node::Map(_) | Node::List(_))) => return write_json(*node, out),
        Found::Node(Node::Str(text)) => {
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        Found::Node(Node::Nil) => "null".to_owned(),
        Found::Node(Node::Bool(truth)) | Found::Bool(truth) => truth.to_string(),
        Found::Node(Node::Int(number)) | Found::Int(number) => number.to_string(),
        Found::Node(Node::Float(float)) | Found::Float(float) => number::format_value(*float),
        Found::Text(text) => (*text).to_owned(),
    };
    out.extend_from_slice(plain.as_bytes());
    Ok(())
}

fn write_json(value: &impl pintle_tree::Walk, out: &mut Vec<u8>) -> Result<(), Misfit> {
    out.extend_from_slice(&json::write(value).map_err(|_| Misfit)?);
    Ok(())
}

fn walk<'a>(steps: &'a [Step], mut found: Vec<Found<'a>>) -> Results<'a> {
    for step in steps {
        found = take(step, found)?;
    }
    Ok(found)
}

fn take<'a>(step: &'a Step, input: Vec<Found<'a>>) -> Results<'a> {
    let count = input.len();
    Ok(match step {
        Step::Text(text) => vec![Found::Text(text)],
        Step::Int(number) => vec![Found::Int(*number); count],
        Step::Float(number) => vec![Found::Float(*number); count],
        Step::Bool(truth) => vec![Found::Bool(*truth); count],
        Step::Field(name) => return fields(name, &input),
        Step::Slice(slice) => return slices(*slice, &input),
        Step::Filter(left, operator, right) => return filtered(left, operator, right, &input),
        Step::Wildcard => input.iter().flat_map(children).collect(),
        Step::Recursive => {
            let mut all = Vec::new();
            descend(&input, &mut all);
            all
        }
        Step::Union(each) => {
            let mut all = Vec::new();
            for steps in each {
                all.extend(walk(steps, input.clone())?);
            }
            all
        }
        Step::Word(_) => return Err(Misfit),
    })
}

fn fields<'a>(name: &str, input: &[Found<'a>]) -> Results<'a> {
    let value = |found: &Found<'a>| match found {
        Found::Root(map) => map.get(name.as_bytes()),
        Found::Node(Node::Map(map)) => map.get(name.as_bytes()),
        _ => None,
    };
    let values: Vec<Found<'a>> = input.iter().filter_map(value).map(Found::Node).collect();
    if values.is_empty() && !input.is_empty() { Err(Misfit) } else { Ok(values) }
}

/// The entries of maps and lists; maps in the order of their keys, where Go has none.
fn children<'a>(found: &Found<'a>) -> Vec<Found<'a>> {
    match found {
        Found::Root(map) => map.values().map(Found::Node).collect(),
        Found::Node(Node::Map(map)) => map.values().map(Found::Node).collect(),
        Found::Node(Node::List(list)) => list.iter().map(Found::Node).collect(),
        Found::Node(Node::Str(text)) => {
            text.as_bytes().iter().map(|byte| Found::Int((*byte).into())).collect()
        }
        _ => Vec::new(),
    }
}

fn descend<'a>(input: &[Found<'a>], all: &mut Vec<Found<'a>>) {
    for found in input {
        let below = children(found);
        if !below.is_empty() {
            all.push(found.clone());
            descend(&below, all);
        }
    }
}

fn slices<'a>(slice: Slice, input: &[Found<'a>]) -> Results<'a> {
    let mut results = Vec::new();
    for found in input {
        let list = match found {
            Found::Node(Node::List(list)) => list,
            Found::Node(Node::Nil) => continue,
            _ => return Err(Misfit),
        };
        let length = i64::try_from(list.len()).map_err(|_| Misfit)?;
        let from = slice.from.unwrap_or(0);
        let from = if from < 0 { from.saturating_add(length) } else { from };
        let to = slice.to.unwrap_or(length);
        let to = if to < 0 || (to == 0 && slice.derived) { to.saturating_add(length) } else { to };
        if from == to {
            return Ok(results);
        }
        let step = slice.step.unwrap_or(1);
        if !(0..length).contains(&from) || !(0..=length).contains(&to) || from > to || step <= 0 {
            return Err(Misfit);
        }
        let (from, to) =
            (usize::try_from(from).map_err(|_| Misfit)?, usize::try_from(to).map_err(|_| Misfit)?);
        let step = usize::try_from(step).map_err(|_| Misfit)?;
        results.extend(list[from..to].iter().step_by(step).map(Found::Node));
    }
    Ok(results)
}

fn filtered<'a>(left: &'a [Step], operator: &str, right: &'a [Step], input: &[Found<'a>]) -> Results<'a> {
    let mut results = Vec::new();
    for found in input {
        let Found::Node(Node::List(list)) = found else { return Err(Misfit) };
        for entry in list {
            let lefts = walk(left, vec![Found::Node(entry)]);
            if operator == "exists" {
                if lefts.is_ok_and(|lefts| !lefts.is_empty()) {
                    results.push(Found::Node(entry));
                }
                continue;
            }
            let (lefts, rights) = (lefts?, walk(right, vec![Found::Node(entry)])?);
            match (lefts.as_slice(), rights.as_slice()) {
                ([], _) | (_, []) => {}
                ([left], [right]) if compare(left, operator, right)? => results.push(Found::Node(entry)),
                ([_], [_]) => {}
                _ => return Err(Misfit),
            }
        }
    }
    Ok(results)
}

/// Compares two values of one kind; whole numbers and others are two kinds, as in Go.
fn compare(left: &Found<'_>, operator: &str, right: &Found<'_>) -> Result<bool, Misfit> {
    use Found::{Bool, Float, Int, Node as Data, Text};
    let text = |found: &Found<'_>| match found {
        Text(text) => Some(text.as_bytes().to_vec()),
        Data(Node::Str(text)) => Some(text.as_bytes().to_vec()),
        _ => None,
    };
    let order = match (left, right) {
        (Bool(a) | Data(Node::Bool(a)), Bool(b) | Data(Node::Bool(b))) => {
            return match operator {
                "==" => Ok(a == b),
                "!=" => Ok(a != b),
                _ => Err(Misfit),
            };
        }
        (Int(a) | Data(Node::Int(a)), Int(b) | Data(Node::Int(b))) => Some(a.cmp(b)),
        (Float(a) | Data(Node::Float(a)), Float(b) | Data(Node::Float(b))) => a.partial_cmp(b),
        _ => Some(text(left).ok_or(Misfit)?.cmp(&text(right).ok_or(Misfit)?)),
    };
    Ok(match operator {
        "==" => order == Some(Ordering::Equal),
        "!=" => order != Some(Ordering::Equal),
        "<" => order == Some(Ordering::Less),
        "<=" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        ">" => order == Some(Ordering::Greater),
        ">=" => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        _ => return Err(Misfit),
    })
}
