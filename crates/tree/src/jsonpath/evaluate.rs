//! Evaluates JSONPath templates.

use std::cmp::Ordering;

use crate::{Map, Node, json, number};

use super::{Part, Slice, Step};

/// A result of a step.
#[derive(Clone, Debug)]
enum Match<'a> {
    /// The root, which is a map.
    Root(&'a Map<Node>),
    /// A node of the data.
    Node(&'a Node),
    /// A string literal of the template.
    Text(&'a str),
    /// An integer literal of the template.
    Int(i64),
    /// A float literal of the template.
    Float(f64),
    /// A boolean literal of the template.
    Bool(bool),
}

/// The expression does not match the data. Helm does not show the error, so it has no text.
#[derive(Debug)]
pub(super) struct NoResult;

type Results<'a> = Result<Vec<Match<'a>>, NoResult>;

/// How many results a step may have. Unions and descents multiply them: `['a','a']['a','a']` has four results in one field.
const MAX_RESULTS: usize = 1_000_000;

/// Results that are collected, up to the limit.
#[derive(Default)]
struct Collected<'a>(Vec<Match<'a>>);

impl<'a> Collected<'a> {
    fn extend(&mut self, more: Vec<Match<'a>>) -> Result<(), NoResult> {
        if self.0.len() + more.len() > MAX_RESULTS {
            return Err(NoResult);
        }
        self.0.extend(more);
        Ok(())
    }
}

/// Evaluates a template.
pub(super) fn evaluate(parts: &[Part], root: &Map<Node>) -> Result<Vec<u8>, NoResult> {
    let mut out = Vec::new();
    write_parts(parts, &Match::Root(root), &mut out)?;
    Ok(out)
}

/// The nodes of the data that an expression finds.
pub(super) fn find<'a>(steps: &'a [Step], root: &'a Map<Node>) -> Vec<&'a Node> {
    let found = walk(steps, vec![Match::Root(root)]).unwrap_or_default();
    let nodes = found.into_iter().filter_map(|found| match found {
        Match::Node(node) => Some(node),
        _ => None,
    });
    nodes.collect()
}

fn write_parts<'a>(parts: &'a [Part], root: &Match<'a>, out: &mut Vec<u8>) -> Result<(), NoResult> {
    for part in parts {
        match part {
            Part::Text(text) => out.extend_from_slice(text.as_bytes()),
            Part::Expression(steps) => {
                for (at, found) in walk(steps, vec![root.clone()])?.iter().enumerate() {
                    if at > 0 {
                        out.push(b' ');
                    }
                    write_match(found, out)?;
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

fn write_match(found: &Match<'_>, out: &mut Vec<u8>) -> Result<(), NoResult> {
    let plain = match found {
        Match::Root(map) => return write_json(*map, out),
        Match::Node(node @ (Node::Map(_) | Node::List(_))) => return write_json(*node, out),
        Match::Node(Node::Str(text)) => {
            out.extend_from_slice(text.as_bytes());
            return Ok(());
        }
        Match::Node(Node::Nil) => "null".to_owned(),
        Match::Node(Node::Bool(truth)) | Match::Bool(truth) => truth.to_string(),
        Match::Node(Node::Int(number)) | Match::Int(number) => number.to_string(),
        Match::Node(Node::Float(float)) | Match::Float(float) => number::format_value(*float),
        Match::Text(text) => (*text).to_owned(),
    };
    out.extend_from_slice(plain.as_bytes());
    Ok(())
}

fn write_json(value: &impl crate::Walk, out: &mut Vec<u8>) -> Result<(), NoResult> {
    out.extend_from_slice(&json::write(value).map_err(|_| NoResult)?);
    Ok(())
}

fn walk<'a>(steps: &'a [Step], mut found: Vec<Match<'a>>) -> Results<'a> {
    for step in steps {
        found = take(step, found)?;
    }
    Ok(found)
}

fn take<'a>(step: &'a Step, input: Vec<Match<'a>>) -> Results<'a> {
    let count = input.len();
    Ok(match step {
        // Once, whatever the input, while numbers and booleans are repeated for each result; that is how
        // kubectl does it.
        Step::Text(text) => vec![Match::Text(text)],
        Step::Int(number) => vec![Match::Int(*number); count],
        Step::Float(number) => vec![Match::Float(*number); count],
        Step::Bool(truth) => vec![Match::Bool(*truth); count],
        Step::Field(name) => return fields(name, &input),
        Step::Slice(slice) => return slices(*slice, &input),
        Step::Filter(left, operator, right) => return filtered(left, operator, right, &input),
        Step::Wildcard => {
            let mut all = Collected::default();
            for found in &input {
                all.extend(children(found))?;
            }
            all.0
        }
        Step::Recursive => descend(input)?,
        Step::Union(each) => {
            let mut all = Collected::default();
            for steps in each {
                all.extend(walk(steps, input.clone())?)?;
            }
            all.0
        }
        Step::Word(_) => return Err(NoResult),
    })
}

fn fields<'a>(name: &str, input: &[Match<'a>]) -> Results<'a> {
    let value = |found: &Match<'a>| match found {
        Match::Root(map) => map.get(name.as_bytes()),
        Match::Node(Node::Map(map)) => map.get(name.as_bytes()),
        _ => None,
    };
    let values: Vec<Match<'a>> = input.iter().filter_map(value).map(Match::Node).collect();
    // A key that is missing everywhere is an error; one that is missing in some of the inputs is not.
    if values.is_empty() && !input.is_empty() { Err(NoResult) } else { Ok(values) }
}

/// The entries of maps and lists. Maps are iterated in key order; Go's order is random.
fn children<'a>(found: &Match<'a>) -> Vec<Match<'a>> {
    match found {
        Match::Root(map) => map.values().map(Match::Node).collect(),
        Match::Node(Node::Map(map)) => map.values().map(Match::Node).collect(),
        Match::Node(Node::List(list)) => list.iter().map(Match::Node).collect(),
        Match::Node(Node::Str(text)) => {
            // Go's reflection iterates over a string like over a slice of bytes.
            text.as_bytes().iter().map(|byte| Match::Int((*byte).into())).collect()
        }
        _ => Vec::new(),
    }
}

/// Everything that has entries, each before what is below it. Without recursion, because data may be deep.
fn descend<'a>(input: Vec<Match<'a>>) -> Results<'a> {
    let mut all = Collected::default();
    let mut open = Collected(input.into_iter().rev().collect());
    while let Some(found) = open.0.pop() {
        let mut below = children(&found);
        if !below.is_empty() {
            all.extend(vec![found])?;
            below.reverse();
            open.extend(below)?;
        }
    }
    Ok(all.0)
}

fn slices<'a>(slice: Slice, input: &[Match<'a>]) -> Results<'a> {
    let mut results = Vec::new();
    for found in input {
        let list = match found {
            Match::Node(Node::List(list)) => list,
            Match::Node(Node::Nil) => continue,
            _ => return Err(NoResult),
        };
        let length = i64::try_from(list.len()).map_err(|_| NoResult)?;
        let from = slice.from.unwrap_or(0);
        let from = if from < 0 { from.saturating_add(length) } else { from };
        let to = slice.to.unwrap_or(length);
        // `[-1]` is parsed as `[-1:0]`, and the derived zero means the end of the list.
        let to = if to < 0 || (to == 0 && slice.derived) { to.saturating_add(length) } else { to };
        // kubectl returns here, so an empty slice of one list drops the lists after it.
        if from == to {
            return Ok(results);
        }
        let step = slice.step.unwrap_or(1);
        if !(0..length).contains(&from) || !(0..=length).contains(&to) || from > to || step <= 0 {
            return Err(NoResult);
        }
        let (from, to) =
            (usize::try_from(from).map_err(|_| NoResult)?, usize::try_from(to).map_err(|_| NoResult)?);
        let step = usize::try_from(step).map_err(|_| NoResult)?;
        results.extend(list[from..to].iter().step_by(step).map(Match::Node));
    }
    Ok(results)
}

fn filtered<'a>(left: &'a [Step], operator: &str, right: &'a [Step], input: &[Match<'a>]) -> Results<'a> {
    let mut results = Vec::new();
    for found in input {
        let Match::Node(Node::List(list)) = found else { return Err(NoResult) };
        for entry in list {
            let lefts = walk(left, vec![Match::Node(entry)]);
            if operator == "exists" {
                if lefts.is_ok_and(|lefts| !lefts.is_empty()) {
                    results.push(Match::Node(entry));
                }
                continue;
            }
            let (lefts, rights) = (lefts?, walk(right, vec![Match::Node(entry)])?);
            match (lefts.as_slice(), rights.as_slice()) {
                ([], _) | (_, []) => {}
                ([left], [right]) if compare(left, operator, right)? => results.push(Match::Node(entry)),
                ([_], [_]) => {}
                _ => return Err(NoResult),
            }
        }
    }
    Ok(results)
}

/// Compares two values of the same kind; integers and floats are different kinds, as in Go.
fn compare(left: &Match<'_>, operator: &str, right: &Match<'_>) -> Result<bool, NoResult> {
    use Match::{Bool, Float, Int, Node as Data, Text};
    let text = |found: &Match<'_>| match found {
        Text(text) => Some(text.as_bytes().to_vec()),
        Data(Node::Str(text)) => Some(text.as_bytes().to_vec()),
        _ => None,
    };
    let order = match (left, right) {
        (Bool(a) | Data(Node::Bool(a)), Bool(b) | Data(Node::Bool(b))) => {
            return match operator {
                "==" => Ok(a == b),
                "!=" => Ok(a != b),
                _ => Err(NoResult),
            };
        }
        (Int(a) | Data(Node::Int(a)), Int(b) | Data(Node::Int(b))) => Some(a.cmp(b)),
        (Float(a) | Data(Node::Float(a)), Float(b) | Data(Node::Float(b))) => a.partial_cmp(b),
        _ => Some(text(left).ok_or(NoResult)?.cmp(&text(right).ok_or(NoResult)?)),
    };
    Ok(match operator {
        "==" => order == Some(Ordering::Equal),
        "!=" => order != Some(Ordering::Equal),
        "<" => order == Some(Ordering::Less),
        "<=" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        ">" => order == Some(Ordering::Greater),
        ">=" => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        _ => return Err(NoResult),
    })
}
