//! Checks how handlers use the context: existing fields, and parts that their event may change.
//! Works on tokens, without a parser: what is not certain is not reported. The same rules hold at run time,
//! where they cannot be missed.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use pintle_events::{ContextField, Event};

use super::lex::{Token, TokenKind};
use super::span::closing;
use crate::bridge::Root;

/// Functions that modify their first argument.
const CHANGING: [&str; 5] = ["insert", "remove", "sort", "clear", "freeze"];

/// Checks all handlers that are written inline where they are registered.
pub(super) fn check(tokens: &[Token], note: &mut dyn FnMut(usize, String)) {
    for start in 0..tokens.len() {
        if let Some((event, handler)) = handler(&tokens[start..])
            && let Some(body) = Body::parse(event, handler)
        {
            body.check(note);
        }
    }
}

/// The event and the function of `events.on("event", …, function` or `:wrap("event", function`.
fn handler(tokens: &[Token]) -> Option<(Event, &[Token])> {
    let rest = match tokens {
        [events, dot, on, open, rest @ ..]
            if events.is("events") && dot.is(".") && on.is("on") && open.is("(") =>
        {
            rest
        }
        [colon, wrap, open, rest @ ..] if colon.is(":") && wrap.is("wrap") && open.is("(") => rest,
        _ => return None,
    };
    let [name, comma, rest @ ..] = rest else { return None };
    if name.kind != TokenKind::Text || !comma.is(",") {
        return None;
    }
    let event = Event::for_handlers(&name.text).ok()?;
    let function = match rest {
        [function, ..] if function.is("function") => rest,
        [_, comma, function, ..] if comma.is(",") && function.is("function") => &rest[2..],
        _ => return None,
    };
    Some((event, function))
}

/// A handler.
struct Body<'t> {
    event: Event,
    /// The name of its context parameter.
    name: &'t str,
    tokens: &'t [Token],
}

impl<'t> Body<'t> {
    fn parse(event: Event, function: &'t [Token]) -> Option<Body<'t>> {
        let end = closing(function)?;
        let [_, open, name, ..] = function else { return None };
        if !open.is("(") || name.kind != TokenKind::Name {
            return None;
        }
        let tokens = &function[3..end];
        // A handler that redeclares the name is skipped.
        let again = super::declared(tokens).contains(&name.text.as_str());
        if again { None } else { Some(Body { event, name: &name.text, tokens }) }
    }

    fn check(&self, note: &mut dyn FnMut(usize, String)) {
        for (index, token) in self.tokens.iter().enumerate() {
            let before = index.checked_sub(1).map(|before| &self.tokens[before]);
            let is_field = before.is_some_and(|before| before.is(".") || before.is(":"));
            if !token.is(self.name) || is_field {
                continue;
            }
            let Some(path) = Path::parse(&self.tokens[index + 1..]) else { continue };
            if let Some(problem) = self.problem(&path, &self.tokens[..index]) {
                note(token.line, problem);
            }
        }
    }

    fn problem(&self, path: &Path<'_>, before: &[Token]) -> Option<String> {
        let (field, name) = (path.fields.first()?, self.name);
        let roots = Root::ALL.map(Root::as_str);
        if *field == "event" {
            return path.is_set.then(|| format!("`{name}.event` is read-only"));
        }
        let Some(root) = Root::ALL.into_iter().find(|root| root.as_str() == *field) else {
            return Some(format!(
                "the context has no field `{field}`; its fields are event, {}",
                roots.join(", ")
            ));
        };
        if !has(self.event, root) && !path.is_tested {
            return Some(format!("`{name}.{field}` is nil in `{}`", self.event));
        }
        if let (Some(known), Some(second)) = (facts().get(field), path.fields.get(1))
            && !known.contains(second)
        {
            return Some(format!("`{name}.{field}` has no field `{second}`; it has {}", known.join(", ")));
        }
        let may_change = root.part().is_some_and(|part: ContextField| self.event.may_change(part));
        let changes = path.is_set || is_changed_by_a_function(before);
        (changes && !may_change).then(|| match root.part() {
            Some(_) => format!("`{name}.{field}` is read-only in `{}`", self.event),
            None => format!("`{name}.{field}` is read-only"),
        })
    }
}

/// Whether the context of an event has a field. What is always there, although it may be empty, counts.
fn has(event: Event, root: Root) -> bool {
    match root {
        Root::Chart | Root::Files | Root::Templates | Root::Dependencies => event.has_chart(),
        Root::Release => event.has_release(),
        Root::Readiness => event.has_readiness(),
        Root::Values | Root::Objects | Root::Capabilities => true,
    }
}

/// Whether these tokens end with `table.insert(` or similar.
fn is_changed_by_a_function(before: &[Token]) -> bool {
    match before {
        [.., table, dot, function, open] => {
            table.is("table")
                && dot.is(".")
                && open.is("(")
                && CHANGING.iter().any(|changing| function.is(changing))
        }
        _ => false,
    }
}

/// The access path after the name of the context.
struct Path<'t> {
    /// The field names after dots, up to the first bracket.
    fields: Vec<&'t str>,
    /// Whether it is assigned.
    is_set: bool,
    /// Whether it is only compared, as in `if ctx.release then`.
    is_tested: bool,
}

impl<'t> Path<'t> {
    fn parse(tokens: &'t [Token]) -> Option<Path<'t>> {
        let (mut fields, mut plain, mut at) = (Vec::new(), true, 0);
        loop {
            match tokens.get(at..)? {
                [dot, name, ..] if dot.is(".") && name.kind == TokenKind::Name => {
                    if plain {
                        fields.push(name.text.as_str());
                    }
                    at += 2;
                }
                rest @ [open, ..] if open.is("[") => {
                    plain = false;
                    at += closing(rest)? + 1;
                }
                rest => {
                    let is_tested = at == 2 && is_test(rest);
                    return Some(Path { fields, is_set: is_assignment(rest), is_tested });
                }
            }
        }
    }
}

/// Whether these tokens start with what follows a condition.
fn is_test(tokens: &[Token]) -> bool {
    let words = ["then", "and", "or", "~"];
    match tokens {
        [equals, again, ..] if equals.is("=") && again.is("=") => true,
        [first, ..] => words.iter().any(|word| first.is(word)),
        [] => false,
    }
}

/// Whether these tokens start with `=` or a compound assignment, but not with a comparison.
fn is_assignment(tokens: &[Token]) -> bool {
    let equals = |token: Option<&Token>| token.is_some_and(|token| token.is("="));
    let operators = ["+", "-", "*", "/", "%", "^", "."];
    let skip = tokens.iter().take_while(|token| operators.iter().any(|sign| token.is(sign))).count();
    equals(tokens.get(skip)) && !equals(tokens.get(skip + 1))
}

/// The fields of read-only parts, from the type definitions for editors.
fn facts() -> &'static BTreeMap<&'static str, Vec<&'static str>> {
    static FACTS: OnceLock<BTreeMap<&'static str, Vec<&'static str>>> = OnceLock::new();
    FACTS.get_or_init(|| {
        let parts = [
            ("chart", "Chart"),
            ("release", "Release"),
            ("capabilities", "Capabilities"),
            ("readiness", "Readiness"),
        ];
        parts.into_iter().map(|(part, name)| (part, fields(name))).collect()
    })
}

/// The field names of a type.
fn fields(name: &str) -> Vec<&'static str> {
    let start = format!("export type {name} = {{");
    let lines = crate::TYPE_DEFINITIONS.lines().skip_while(|line| *line != start).skip(1);
    lines.take_while(|line| *line != "}").filter_map(|line| Some(line.trim().split_once(": ")?.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::lex;
    use super::*;

    fn findings(event: &str, body: &str) -> Vec<String> {
        let script = format!("events.on('{event}', 0.5, function(ctx) {body} end)");
        let mut found = Vec::new();
        check(&lex::tokens(script.as_bytes()), &mut |_, text| found.push(text));
        found
    }

    #[test]
    fn unknown_fields_are_reported() {
        for (body, problem) in [
            ("print(ctx.value.x)", "the context has no field `value`; its fields are event, chart, values, "),
            ("print(ctx.chart.nam)", "`ctx.chart` has no field `nam`; it has apiVersion, name, version, "),
            ("if ctx.release.upgrade then return end", "`ctx.release` has no field `upgrade`; it has name, "),
            ("print(ctx.capabilities.kubeVersion())", "`ctx.capabilities` has no field `kubeVersion`"),
        ] {
            let found = findings("pre-render", body);
            assert!(found.len() == 1 && found[0].starts_with(problem), "{body}: {found:?}");
        }
    }

    #[test]
    fn fields_that_an_event_does_not_have_are_reported() {
        for (event, body, problem) in [
            ("chart-loaded", "print(ctx.release.name)", "`ctx.release` is nil in `chart-loaded`"),
            ("pre-package", "f(ctx.release)", "`ctx.release` is nil in `pre-package`"),
            ("pre-delete", "print(ctx.chart.name())", "`ctx.chart` is nil in `pre-delete`"),
            ("post-list", "for _, f in ctx.files do end", "`ctx.files` is nil in `post-list`"),
            ("pre-create", "local n = #ctx.dependencies", "`ctx.dependencies` is nil in `pre-create`"),
            ("ready", "print(ctx.readiness.name)", "`ctx.readiness` is nil in `ready`"),
        ] {
            assert_eq!(findings(event, body), [problem], "{body}");
        }
        for (event, body) in [
            ("watch", "print(ctx.readiness.name)"),
            ("pre-delete", "print(ctx.release.name, ctx.capabilities.helmVersion, #ctx.objects)"),
            ("chart-loaded", "if ctx.release then return end\nif ctx.release == nil or x then return end"),
            ("pre-list", "print(ctx.release.name, ctx.capabilities.apiVersions)"),
        ] {
            assert_eq!(findings(event, body), Vec::<String>::new(), "{body}");
        }
    }

    #[test]
    fn changes_that_an_event_forbids_are_reported() {
        for (event, body, problem) in [
            ("post-render", "ctx.values.x = 1", "`ctx.values` is read-only in `post-render`"),
            ("pre-render", "ctx.objects[1].kind = 'x'", "`ctx.objects` is read-only in `pre-render`"),
            ("ready", "table.insert(ctx.objects, {})", "`ctx.objects` is read-only in `ready`"),
            ("pre-render", "ctx.chart.name = 'x'", "`ctx.chart` is read-only"),
            ("pre-render", "ctx.event = 'x'", "`ctx.event` is read-only"),
            ("post-install", "ctx.values.n += 1", "`ctx.values` is read-only in `post-install`"),
        ] {
            assert_eq!(findings(event, body), [problem], "{body}");
        }
    }

    #[test]
    fn valid_handlers_are_not_reported() {
        for (event, body) in [
            (
                "pre-render",
                "ctx.values.a.b = ctx.release.name\nctx.values['x y'] = 1\nctx.templates = array()",
            ),
            (
                "post-render",
                "for _, o in ctx.objects do o.kind = 'x' end\ntable.insert(ctx.objects, {kind = 1})",
            ),
            ("pre-install", "if ctx.values.a == 1 and ctx.values.b ~= 2 then print(ctx.chart.name()) end"),
            ("ready", "local ctx = {}\nctx.anything = 1"),
            ("pre-render", "other.ctx.anything = 1\nprint(ctx)\nf(1, ctx)"),
        ] {
            assert_eq!(findings(event, body), Vec::<String>::new(), "{body}");
        }
        let mut found = Vec::new();
        let wrapped = "events.subchart('db'):wrap('ready', function(c, next) next(); c.values.x = 1 end)";
        check(&lex::tokens(wrapped.as_bytes()), &mut |_, text| found.push(text));
        assert_eq!(found, ["`c.values` is read-only in `ready`"]);
    }
}
