//! Functions and blocks that get a value of the wrong kind.

use pintle::tree::Node;

use super::subject::{described, value_path};
use super::template::{Lookup, Spot, how_to_set};
use crate::failure::Failure;

/// Improves the failure of a function or of `range`.
pub(super) fn improve(failure: &mut Failure, spot: &Spot<'_>) -> Option<()> {
    wrong_type(failure, spot).or_else(|| no_range(failure, spot)).or_else(|| called(failure, spot))
}

/// `wrong type for value; expected string; got float64`, and `invalid value; expected string` for nil.
fn wrong_type(failure: &mut Failure, spot: &Spot<'_>) -> Option<()> {
    let message = spot.message;
    let wanted = message
        .strip_prefix("wrong type for value; expected ")
        .map(|rest| rest.split(';').next().unwrap_or(rest))
        .or_else(|| message.strip_prefix("invalid value; expected "))?;
    let function = spot.frame.context.split(' ').next().unwrap_or_default();
    if spot.action().starts_with("template ") {
        failure.own = Some("the output of `template` cannot be used in a pipeline".to_owned());
        let call = spot.action().trim_start_matches("template ");
        failure.hint = Some(format!("use `include`: `{{{{ include {call} }}}}`"));
        return Some(());
    }
    let function = match !function.starts_with(char::is_alphabetic) {
        true => spot
            .action()
            .rsplit('|')
            .next()
            .and_then(|call| call.split_whitespace().next())
            .unwrap_or("the function"),
        false => function,
    };
    let wanted = kind(wanted);
    for keys in spot.paths() {
        let whole = spot.absolute(&keys);
        let path = whole.join(".");
        match spot.value(&keys) {
            Some(Lookup::Unset { keys: count, parent }) => {
                failure.own = Some(format!("`{function}` needs {wanted}, and the value `{path}` is not set"));
                failure.hint = Some(format!(
                    "{}; or give it a default: `.Values.{} | default \"\"`",
                    how_to_set(&whole, count, parent),
                    keys.join(".")
                ));
                return Some(());
            }
            Some(Lookup::Found(node)) if !is_of(node, wanted) => {
                failure.own = Some(format!(
                    "`{function}` needs {wanted}, and the value `{path}` is {}",
                    described(node)
                ));
                let convert = match (wanted, node) {
                    ("text", Node::Map(_) | Node::List(_)) => "toJson",
                    ("text", _) => "toString",
                    ("a number", _) => "int",
                    _ => return Some(()),
                };
                failure.hint = Some(format!("convert it: `.Values.{} | {convert}`", keys.join(".")));
                return Some(());
            }
            _ => {}
        }
    }
    let got = message.split_once("; got ").map(|(_, got)| format!(", and got {}", kind(got)));
    failure.own =
        Some(format!("`{function}` needs {wanted}{}", got.unwrap_or_else(|| ", and got nothing".to_owned())));
    failure.hint = Some(match wanted {
        "text" => "convert it with `toString`, or give it a default".to_owned(),
        _ => "look at what the argument is with `{{ kindOf VALUE }}`".to_owned(),
    });
    Some(())
}

fn kind(name: &str) -> &str {
    match name {
        "string" => "text",
        "int" | "int64" | "float64" | "int32" => "a number",
        "bool" => "true or false",
        "map[string]interface {}" => "a map",
        "[]interface {}" | "[]string" => "a list",
        other => other,
    }
}

fn is_of(node: &Node, wanted: &str) -> bool {
    match wanted {
        "text" => matches!(node, Node::Str(_)),
        "a number" => matches!(node, Node::Int(_) | Node::Float(_)),
        "true or false" => matches!(node, Node::Bool(_)),
        "a map" => matches!(node, Node::Map(_)),
        "a list" => matches!(node, Node::List(_)),
        _ => true,
    }
}

/// `range can't iterate over X`
fn no_range(failure: &mut Failure, spot: &Spot<'_>) -> Option<()> {
    let shown = spot.message.strip_prefix("range can't iterate over ")?;
    let keys = spot.paths().into_iter().next_back();
    let Some((keys, Some(Lookup::Found(node)))) = keys.map(|keys| (keys.clone(), spot.value(&keys))) else {
        failure.own = Some(format!("`range` needs a list or a map, and got `{shown}`"));
        return Some(());
    };
    let whole = spot.absolute(&keys);
    failure.own = Some(format!(
        "`range` needs a list or a map, and the value `{}` is {}",
        whole.join("."),
        described(node)
    ));
    let set_by = spot.subject.set_by(&value_path(&whole));
    let set_by = set_by.map(|source| format!("it is set by {source}; ")).unwrap_or_default();
    failure.hint = Some(format!("{set_by}`--set '{}={{a,b}}'` sets a list", whole.join(".")));
    Some(())
}

/// `error calling NAME: REASON`
fn called(failure: &mut Failure, spot: &Spot<'_>) -> Option<()> {
    let message = spot.message;
    if let Some(rest) = message.strip_prefix("wrong number of args for ") {
        let (name, counts) = rest.split_once(": ")?;
        failure.own = Some(format!("wrong number of arguments for `{name}`: {counts}"));
        failure.hint = Some(match name {
            "include" => "it takes a name and a context: `include \"NAME\" .`".to_owned(),
            _ => "a value before `|` is the last argument".to_owned(),
        });
        return Some(());
    }
    let value = message.strip_prefix("can't give argument to non-function ").or_else(|| {
        message.strip_suffix(" is not a method but has arguments").map(|_| spot.frame.context.as_str())
    });
    if let Some(value) = value {
        failure.own = Some(format!("`{value}` is a value, and what follows it is taken for its argument"));
        let word = spot
            .action()
            .split_whitespace()
            .find(|word| ["and", "or", "eq", "ne", "gt", "lt"].contains(word));
        failure.hint = Some(match word {
            Some(word) => format!("the function comes first: `{word} {value} …`"),
            None => "separate actions: `{{ A }}{{ B }}`, or begin with a function".to_owned(),
        });
        return Some(());
    }
    let (name, reason) = message.strip_prefix("error calling ")?.split_once(": ")?;
    failure.own = Some(format!("`{name}`: {reason}"));
    if reason.starts_with("index out of range: ") || reason.starts_with("reflect: slice index out of range") {
        let index = reason.rsplit(": ").next().unwrap_or_default();
        let length = spot.paths().into_iter().find_map(|keys| match spot.value(&keys)? {
            Lookup::Found(node @ Node::List(_)) => {
                Some(format!("the value `{}` is {}, ", spot.absolute(&keys).join("."), described(node)))
            }
            _ => None,
        });
        failure.own = Some(format!("{}there is no item {index}", length.unwrap_or_default()));
        failure.hint = Some("items are counted from 0; test with `gt (len LIST) N` first".to_owned());
    } else if reason.starts_with("incompatible types for comparison") {
        failure.own = Some(format!("`{name}` compares values of different types"));
        failure.hint = Some(format!("convert one of them: `{name} (toString A) (toString B)`, or `int`"));
    } else if reason.starts_with("index of untyped nil") || reason.starts_with("index of nil") {
        failure.hint = unset_of(spot);
    }
    Some(())
}

/// How to set the first value of the action that is not set.
fn unset_of(spot: &Spot<'_>) -> Option<String> {
    spot.paths().into_iter().find_map(|keys| match spot.value(&keys)? {
        Lookup::Unset { keys: count, parent } => {
            let whole = spot.absolute(&keys);
            Some(format!("`{}` is not set; {}", whole.join("."), how_to_set(&whole, count, parent)))
        }
        _ => None,
    })
}
