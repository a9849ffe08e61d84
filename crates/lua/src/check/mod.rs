//! Static checks of scripts: syntax, events, unknown names, `require`, and the use of arguments and context.

mod context;
mod lex;
mod signature;
mod span;

use pintle_chart::{Chart, ext};
use pintle_events::{ChartPath, Event};
use pintle_tree::Str;

use crate::error::{JOIN_STRINGS, Result, sanitized};
use crate::permission::{self, Permission, Permissions};
use crate::require::{MAX_SCRIPT, ModuleResolver, chosen_libraries};
use crate::sandbox;
use lex::{Token, TokenKind};

/// A problem of a script.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file inside the chart.
    pub file: String,
    /// The line.
    pub line: usize,
    /// The message.
    pub message: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}: {}", self.file, self.line, self.message)
    }
}

/// Checks all scripts of a chart and its subcharts; sorted by file and line.
///
/// # Errors
/// When an `ext/permissions.yaml` is invalid.
pub fn check(chart: &Chart) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut tree = Tree { above: Vec::new(), chosen: chosen_libraries(chart) };
    tree.check(chart, ChartPath::top(chart.name()), "", &mut findings)?;
    findings.sort();
    findings.dedup();
    Ok(findings)
}

/// The charts around the one being checked.
struct Tree<'c> {
    /// Topmost first.
    above: Vec<&'c Chart>,
    /// The libraries chosen for the tree.
    chosen: Vec<&'c Chart>,
}

impl<'c> Tree<'c> {
    fn check(
        &mut self,
        chart: &'c Chart,
        path: ChartPath,
        folder: &str,
        findings: &mut Vec<Finding>,
    ) -> Result<()> {
        let requested = permission::requested_by(chart, &path)?;
        let resolver = ModuleResolver::new(chart, &self.above, &self.chosen);
        for (_, file) in ext::scripts(chart) {
            let shown = format!("{folder}{}", file.name);
            let script =
                Script { file: &file.name, shown: &shown, requested: &requested, resolver: &resolver };
            script.check(&file.data.text(), findings);
        }
        self.above.push(chart);
        for (holder, charts) in [("charts", &chart.subcharts), ("library", &chart.libraries)] {
            for below in charts {
                let folder = format!("{folder}{holder}/{}/", below.name());
                self.check(below, path.child(below.name()), &folder, findings)?;
            }
        }
        self.above.pop();
        Ok(())
    }
}

struct Script<'a> {
    /// The file in its own chart.
    file: &'a str,
    /// The file relative to the topmost chart.
    shown: &'a str,
    requested: &'a Permissions,
    resolver: &'a ModuleResolver,
}

impl Script<'_> {
    fn check(&self, text: &Str, findings: &mut Vec<Finding>) {
        let mut note = |line: usize, message: String| {
            findings.push(Finding { file: self.shown.to_owned(), line, message: sanitized(&message) });
        };
        if text.len() > MAX_SCRIPT {
            return note(1, format!("a script can have at most {MAX_SCRIPT} bytes"));
        }
        if let Err(error) = sandbox::compiler().compile(text.as_bytes()) {
            let (line, message) = syntax(&error);
            // Without a valid syntax the tokens are meaningless.
            return note(line, message);
        }
        let tokens = lex::tokens(text.as_bytes());
        let declared = declared(&tokens);
        signature::check(&tokens, &declared, &mut note);
        context::check(&tokens, &mut note);
        for (index, token) in tokens.iter().enumerate() {
            let rest = &tokens[index..];
            if let Some((name, line)) = called(rest, &["events", ".", "on"]).or_else(|| handle(rest))
                && let Err(error) = Event::for_handlers(name)
            {
                note(line, error.to_string());
            }
            if let Some((name, line)) = called(rest, &["events", ".", "subchart"])
                && !self.resolver.subcharts("").iter().any(|known| known == name)
            {
                note(line, format!("there is no subchart `{name}`"));
            }
            if let Some((weight, line)) = weight(rest)
                && !(0.0..=1.0).contains(&weight)
            {
                note(line, format!("the weight {weight} is not between 0 and 1"));
            }
            if let Some((name, line)) = called(rest, &["require"])
                && !sandbox::MODULES.contains(&name)
                && let Err(reason) = self.resolver.check(name, self.file)
            {
                note(line, reason);
            }
            if adds_text(rest) {
                note(token.line, JOIN_STRINGS.to_owned());
            }
            if let Some(name) = global(&tokens, index)
                && !declared.contains(&name)
            {
                match self.refused(name) {
                    Some(reason) => note(token.line, reason),
                    None if is_used(rest) && !sandbox::is_global(name) && !KEYWORDS.contains(&name) => {
                        note(token.line, format!("there is no `{name}`"));
                    }
                    None => {}
                }
            }
        }
    }

    /// Why a global name cannot be used.
    fn refused(&self, name: &str) -> Option<String> {
        if let Some(permission) = Permission::ALL.into_iter().find(|permission| permission.module() == name) {
            let missing = !self.requested.contains(permission);
            return missing.then(|| {
                format!("`{name}` needs the permission `{permission}`, which ext/permissions.yaml does not ask for")
            });
        }
        let (_, instead) = FORBIDDEN.iter().find(|(forbidden, _)| *forbidden == name)?;
        Some(format!("there is no `{name}` for scripts of charts{instead}"))
    }
}

/// Globals of other Lua dialects, and what to use instead.
const FORBIDDEN: &[(&str, &str)] = &[
    ("collectgarbage", ""),
    ("debug", ""),
    ("dofile", "; `require` loads a file of ext/lua"),
    ("gcinfo", ""),
    ("getfenv", ""),
    ("io", "; `fs` reads and writes files"),
    ("load", "; `require` loads a file of ext/lua"),
    ("loadfile", "; `require` loads a file of ext/lua"),
    ("loadstring", "; `require` loads a file of ext/lua"),
    ("module", ""),
    ("newproxy", ""),
    ("package", "; `require` loads a file of ext/lua"),
    ("setfenv", ""),
];

/// Keywords that can precede a parenthesis or a bracket.
const KEYWORDS: &[&str] = &[
    "and", "break", "continue", "do", "else", "elseif", "end", "export", "false", "for", "function", "if",
    "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "type", "until", "while",
];

/// Whether the name is called or indexed, which fails if it does not exist.
fn is_used(tokens: &[Token]) -> bool {
    match tokens {
        [_, dot, next, ..] if dot.is(".") => next.kind == TokenKind::Name,
        [_, next, ..] => next.is("("),
        _ => false,
    }
}

/// The line and message of a syntax error.
fn syntax(error: &mlua::Error) -> (usize, String) {
    let text = match error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    // The compiler's format is `line: message`.
    let parts = text.trim_start_matches(':').split_once(':');
    match parts.and_then(|(line, message)| Some((line.trim().parse().ok()?, message.trim().to_owned()))) {
        Some(found) => found,
        None => (1, text),
    }
}

/// The first argument of a call, if it is a string: `name("text"` or `name "text"`.
fn called<'t>(tokens: &'t [Token], name: &[&str]) -> Option<(&'t str, usize)> {
    let (head, rest) = tokens.split_at_checked(name.len())?;
    if !head.iter().zip(name).all(|(token, wanted)| token.is(wanted)) {
        return None;
    }
    first_text(rest)
}

/// Whether a string in quotes is added to something, or something to it.
fn adds_text(tokens: &[Token]) -> bool {
    let is_text = |token: &Token| matches!(token.kind, TokenKind::Text | TokenKind::Interpolated);
    // `x += "a"` has the sign of an assignment in between.
    match tokens {
        [text, plus, next, ..] if is_text(text) && plus.is("+") => !next.is("="),
        [plus, text, ..] if plus.is("+") && is_text(text) => true,
        [plus, equals, text, ..] if plus.is("+") && equals.is("=") && is_text(text) => true,
        _ => false,
    }
}

/// The weight of `events.on("…", weight, …)`, if it is a number literal.
fn weight(tokens: &[Token]) -> Option<(f64, usize)> {
    called(tokens, &["events", ".", "on"])?;
    let after = tokens.iter().position(|token| token.is(","))?;
    match tokens.get(after + 1..)? {
        [sign, number, ..] if sign.is("-") => {
            number.text.parse().ok().map(|weight: f64| (-weight, number.line))
        }
        [number, ..] if number.kind == TokenKind::Number => {
            number.text.parse().ok().map(|weight| (weight, number.line))
        }
        _ => None,
    }
}

/// The event of `:off("…")` or `:wrap("…"`.
fn handle(tokens: &[Token]) -> Option<(&str, usize)> {
    let [colon, method, rest @ ..] = tokens else { return None };
    if colon.is(":") && (method.is("off") || method.is("wrap")) { first_text(rest) } else { None }
}

fn first_text(tokens: &[Token]) -> Option<(&str, usize)> {
    let tokens = match tokens {
        [open, rest @ ..] if open.is("(") => rest,
        other => other,
    };
    match tokens.first() {
        Some(Token { kind: TokenKind::Text, text, line }) => Some((text, *line)),
        _ => None,
    }
}

/// The name at a position, if it is not a field or a key.
fn global(tokens: &[Token], index: usize) -> Option<&str> {
    let token = &tokens[index];
    let before = index.checked_sub(1).map(|index| &tokens[index]);
    let after = tokens.get(index + 1);
    let is_field = before.is_some_and(|token| token.is(".") || token.is(":"));
    let is_key = after.is_some_and(|token| token.is("="))
        && before.is_some_and(|token| token.is("{") || token.is(",") || token.is(";"));
    (token.kind == TokenKind::Name && !is_field && !is_key).then_some(token.text.as_str())
}

/// Names that the script declares: `local` and `function`, parameters, loop variables, types, and assigned globals.
fn declared(tokens: &[Token]) -> Vec<&str> {
    let mut names = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if token.kind == TokenKind::Name
            && tokens.get(index + 1).is_some_and(|next| next.is("="))
            && !tokens.get(index + 2).is_some_and(|next| next.is("="))
        {
            names.push(token.text.as_str());
        }
        let begins = token.is("local") || token.is("for") || token.is("function") || token.is("type");
        if !begins {
            continue;
        }
        let end = |token: &&Token| !(token.is("=") || token.is("in") || token.is(")") || token.is("do"));
        // Too many names are harmless: they only hide findings.
        let following = tokens[index + 1..].iter().take(256).take_while(end);
        names
            .extend(following.filter(|token| token.kind == TokenKind::Name).map(|token| token.text.as_str()));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_chart::File;
    use pintle_chart::metadata::Dependency;

    fn findings(script: &str, permissions: &str) -> Vec<String> {
        let chart = Chart {
            files: vec![
                File::new("ext/lua/chart.lua", script.as_bytes()),
                File::new("ext/lua/a/b.lua", "return 1".as_bytes()),
                File::new("ext/permissions.yaml", permissions.as_bytes()),
            ],
            ..Chart::default()
        };
        check(&chart).expect("good permissions").iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_good_script_has_no_findings() {
        let script = "-- os.execute\nlocal io = require('a.b')\nlocal t = {debug = 1}\nt.load = io\n\
                      events.on('pre-render', 0.1, function(ctx) ctx.values.os = `{t.debug}` end)\n\
                      local yaml = require 'yaml'\nlocal s = [[ loadstring ]]\nlocal h = http";
        assert_eq!(findings(script, "lua: [network]"), Vec::<String>::new());
    }

    #[test]
    fn syntax_errors_have_a_line() {
        let found = findings("local x = 1\nlocal y = = 2\n", "");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("ext/lua/chart.lua:2: "), "{found:?}");
    }

    #[test]
    fn events_requirements_and_names_are_checked() {
        let script = "events.on('pre-instal', f)\nevents.on(\"render\", f)\nrequire('a.c')\nrequire('../x')\n\
                      os.execute('x')\nloadstring('x')\nevents.subchart('db'):off('boom')\n\
                      events.on('ready', 2, f)\nevents.on('ready', -0.5, f)\n";
        let found = findings(script, "");
        let parts = [
            ":1: there is no event `pre-instal`; did you mean `pre-install`?",
            ":2: `render` is a core event",
            ":3: require(\"a.c\"): there is no such module in ext/lua; there are: a.b, chart",
            ":4: require(\"../x\"): a module is named after its file",
            ":5: `os` needs the permission `os`",
            ":5: there is no `os.execute`; `os` has getenv, time",
            ":6: there is no `loadstring` for scripts of charts; `require` loads",
            ":7: there is no event `boom`; the events are",
            ":7: there is no subchart `db`",
            ":8: the weight 2 is not between 0 and 1",
            ":9: the weight -0.5 is not between 0 and 1",
        ];
        assert_eq!(found.len(), parts.len(), "{found:?}");
        for (found, part) in found.iter().zip(parts) {
            assert!(found.contains(part), "{found} should have {part}");
        }
    }

    #[test]
    fn adding_strings_is_reported() {
        let join = "strings are joined with `..`, not with `+`";
        for script in [
            "print('got chart ' + name)",
            "print(name + 'x')",
            "local s = ''\ns += `x`",
            "local n = 1 + [[a]]",
        ] {
            let found = findings(script, "");
            assert!(found.len() == 1 && found[0].ends_with(join), "{script}: {found:?}");
        }
        assert_eq!(findings("local n = 1 + 2\nprint('a' .. '+' .. n + 1, '+')", ""), Vec::<String>::new());
    }

    #[test]
    fn unknown_names_are_reported() {
        let script = "evnets.on('ready', print)\nlocal function f(a) return a.x(helper(1)) end\nf(jsn.decode('1'))\n\
                      counter = 1\ncounter.x = f\nif (math.max(1, 2)) then print(`{f(1)}`) end\n\
                      type Size = (n: number) -> string\nfor _, v in pairs({}) do v.x() end\nreturn (f)";
        assert_eq!(
            findings(script, ""),
            [
                "ext/lua/chart.lua:1: there is no `evnets`",
                "ext/lua/chart.lua:2: there is no `helper`",
                "ext/lua/chart.lua:3: there is no `jsn`",
            ]
        );
    }

    #[test]
    fn subcharts_are_checked_with_the_libraries_of_their_parents() {
        let chart = |name: &str, file: &str, text: &str| {
            let mut chart = Chart::default();
            chart.metadata.name = name.to_owned();
            chart.files.push(File::new(file, text.as_bytes()));
            chart
        };
        let mut web = chart("web", "ext/lua/chart.lua", "events.subchart('db'):off()");
        web.subcharts.push(chart("db", "ext/lua/chart.lua", "require('common/x')\nrequire('common/z')"));
        let mut common = chart("common", "ext/lua/x.lua", "io.open('x')");
        common.metadata.version = "1.0.0".to_owned();
        web.libraries.push(common);
        web.metadata.libraries.push(Dependency { name: "common".to_owned(), ..Dependency::default() });
        let found: Vec<String> = check(&web).expect("good").iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "charts/db/ext/lua/chart.lua:2: require(\"common/z\"): there is no such module in library common; \
                 there are: x",
                "library/common/ext/lua/x.lua:1: there is no `io` for scripts of charts; `fs` reads and writes files",
            ]
        );
    }
}
