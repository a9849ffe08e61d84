//! Checks calls of modules: whether the function exists, and whether it accepts the arguments. Signatures come from
//! the type definitions for editors, so that both always agree.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::lex::{Token, TokenKind};
use super::span::{Arguments, ValueKind, arguments};

/// What a parameter accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parameter {
    /// The expected kind; `None` if any value is accepted.
    shape: Option<ValueKind>,
    optional: bool,
}

/// The functions of each module, with their parameters.
type Modules = BTreeMap<String, BTreeMap<String, Vec<Parameter>>>;

/// Checks all calls of modules.
pub(super) fn check(tokens: &[Token], declared: &[&str], note: &mut dyn FnMut(usize, String)) {
    for (index, window) in tokens.windows(3).enumerate() {
        let [module, dot, function] = window else { continue };
        let is_field =
            index.checked_sub(1).is_some_and(|before| tokens[before].is(".") || tokens[before].is(":"));
        if module.kind != TokenKind::Name || !dot.is(".") || function.kind != TokenKind::Name || is_field {
            continue;
        }
        let Some(functions) = modules().get(&module.text) else { continue };
        // A local that is assigned from `require` of the same module counts as the module.
        let is_other = declared.contains(&module.text.as_str()) && !is_required(tokens, &module.text);
        if is_other {
            continue;
        }
        let name = format!("{}.{}", module.text, function.text);
        let Some(parameters) = functions.get(&function.text) else {
            let known: Vec<&str> = functions.keys().map(String::as_str).collect();
            note(function.line, format!("there is no `{name}`; `{}` has {}", module.text, known.join(", ")));
            continue;
        };
        if let Some(arguments) = arguments(&tokens[index + 3..])
            && let Some(problem) = problem(&name, parameters, arguments)
        {
            note(function.line, problem);
        }
    }
}

/// Whether a name is set by `local name = require("name")`.
fn is_required(tokens: &[Token], name: &str) -> bool {
    tokens.windows(5).enumerate().any(|(index, window)| {
        let begins =
            window[0].is("local") && window[1].is(name) && window[2].is("=") && window[3].is("require");
        let text = if window[4].is("(") { tokens.get(index + 5) } else { window.last() };
        begins && text.is_some_and(|text| text.kind == TokenKind::Text && text.text == name)
    })
}

/// The problem with the arguments of a call.
fn problem(
    name: &str,
    parameters: &[Parameter],
    Arguments { mut shapes, open }: Arguments,
) -> Option<String> {
    // The weight of `events.on` is optional and in the middle.
    if name == "events.on" && shapes.len() == 2 && !open {
        shapes.insert(1, ValueKind::Number);
    }
    let least = parameters.iter().filter(|parameter| !parameter.optional).count();
    let (count, most) = (shapes.len(), parameters.len());
    if count > most || (count < least && !open) {
        let takes = if least == most { format!("{most}") } else { format!("{least} to {most}") };
        let noun = if most == 1 && least == 1 { "argument" } else { "arguments" };
        return Some(format!("`{name}` takes {takes} {noun}, not {count}"));
    }
    let wrong = shapes.iter().zip(parameters).position(|(shape, parameter)| !fits(*shape, *parameter))?;
    let wanted = parameters[wrong].shape?.as_str();
    Some(format!("argument {} of `{name}` must be {wanted}, not {}", wrong + 1, shapes[wrong].as_str()))
}

fn fits(shape: ValueKind, parameter: Parameter) -> bool {
    match (shape, parameter.shape) {
        (ValueKind::Unknown, _) | (_, None) => true,
        (ValueKind::Nil, _) => parameter.optional,
        (shape, Some(wanted)) => shape == wanted,
    }
}

fn modules() -> &'static Modules {
    static MODULES: OnceLock<Modules> = OnceLock::new();
    MODULES.get_or_init(|| {
        // Only scripts of charts are checked here; definitions for plugins come last in the file.
        let of_charts = crate::TYPE_DEFINITIONS.split("-- In plugins alone.").next();
        let mut modules = read(of_charts.unwrap_or_default());
        let texts = |shape| Parameter { shape: Some(shape), optional: false };
        // `events.on` is overloaded; this is the longer form.
        let on = vec![texts(ValueKind::Text), texts(ValueKind::Number), texts(ValueKind::Function)];
        modules.entry("events".to_owned()).or_default().insert("on".to_owned(), on);
        modules
    })
}

/// Parses `declare module: { function: (name: type, …) -> …, }` from definitions.
fn read(text: &str) -> Modules {
    let mut modules = Modules::new();
    let mut module: Option<String> = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("declare ").and_then(|rest| rest.strip_suffix(": {")) {
            module = Some(name.to_owned());
        } else if line == "}" {
            module = None;
        } else if let Some(module) = &module
            && let Some((name, rest)) = line.trim().split_once(": (")
            && let Some((parameters, _)) = rest.rsplit_once(") -> ")
        {
            let parameters = split(parameters).into_iter().filter_map(parameter).collect();
            modules.entry(module.clone()).or_default().insert(name.to_owned(), parameters);
        }
    }
    modules
}

/// Splits at top-level commas.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, sign) in text.char_indices() {
        match sign {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn parameter(text: &str) -> Option<Parameter> {
    let (_, kind) = text.trim().split_once(": ")?;
    let optional = kind.ends_with('?');
    let shape = match kind.trim_end_matches('?') {
        "string" | "Event" => Some(ValueKind::Text),
        "number" => Some(ValueKind::Number),
        "boolean" => Some(ValueKind::Boolean),
        "Handler" | "Wrapper" => Some(ValueKind::Function),
        "Request" => Some(ValueKind::Table),
        kind if kind.starts_with('{') => Some(ValueKind::Table),
        _ => None,
    };
    Some(Parameter { shape, optional })
}

#[cfg(test)]
mod tests {
    use super::super::{declared, lex};
    use super::*;

    fn findings(script: &str) -> Vec<String> {
        let tokens = lex::tokens(script.as_bytes());
        let mut found = Vec::new();
        check(&tokens, &declared(&tokens), &mut |line, text| found.push(format!("{line}: {text}")));
        found
    }

    #[test]
    fn every_module_of_the_sandbox_has_signatures() {
        for module in crate::modules::ALL {
            let known = modules().get(module.name).unwrap_or_else(|| panic!("{}", module.name));
            let mut names: Vec<&str> = module.functions.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            assert_eq!(known.keys().map(String::as_str).collect::<Vec<_>>(), names, "{}", module.name);
        }
    }

    #[test]
    fn wrong_functions_counts_and_types_are_reported() {
        for (script, problem) in [
            ("json.encod({})", "there is no `json.encod`; `json` has decode, encode, pretty"),
            ("yaml.decode({})", "argument 1 of `yaml.decode` must be a string, not a table"),
            ("yaml.decode{}", "argument 1 of `yaml.decode` must be a string, not a table"),
            ("json.decode()", "`json.decode` takes 1 argument, not 0"),
            ("json.decode('a', 'b')", "`json.decode` takes 1 argument, not 2"),
            ("regex.find('a')", "`regex.find` takes 2 arguments, not 1"),
            ("regex.split('a', 'b', 'c')", "argument 3 of `regex.split` must be a number, not a string"),
            ("kubernetes.get('v1', 'Secret')", "`kubernetes.get` takes 3 to 4 arguments, not 2"),
            ("semver.satisfies('1', nil)", "argument 2 of `semver.satisfies` must be a string, not nil"),
            ("http.get('http://x', 5)", "argument 2 of `http.get` must be a table, not a number"),
            ("events.on('ready', 0.5, 'f')", "argument 3 of `events.on` must be a function, not a string"),
            ("events.on('ready', 'f')", "argument 3 of `events.on` must be a function, not a string"),
            ("events.on('ready')", "`events.on` takes 3 arguments, not 1"),
            ("events.off('ready')", "there is no `events.off`; `events` has on, subchart"),
            ("local json = require('json')\njson.decode(1)", "argument 1 of `json.decode` must be a string"),
        ] {
            let found = findings(script);
            assert!(found.len() == 1 && found[0].contains(problem), "{script}: {found:?}");
        }
    }

    #[test]
    fn valid_calls_and_unknown_types_are_not_reported() {
        let script = "local x = json.decode(read())\nregex.find(f())\nregex.find(...)\nlog.info(5)\nlog.warn{}\n\
                      events.on('ready', function(ctx) return json.encode(ctx.values), 1 end)\n\
                      events.on(name, weight, handler)\nlocal fs = {}\nfs.open(1, 2, 3)\na.json.encod()\n\
                      template.render('{{ . }}', nil)\nregex.split('a', 'b', nil)\nlocal f = http.get\n\
                      local d = kubernetes.storage_classes()\nyaml.encode(if x then 1 else 2)";
        assert_eq!(findings(script), Vec::<String>::new());
    }
}
