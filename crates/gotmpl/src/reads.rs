//! Which parts of their context templates read, found without executing them.
//!
//! The analysis follows the context through variables, `with`, `range` and calls of other templates. Where it cannot know a
//! key, it says [`Segment::Any`]; where a value goes to a function that it does not know, it says that all of the value is
//! used. So what it does not report is not read, except through text that is executed at run time
//! ([`Reads::evaluates`]).

mod call;
mod shape;
mod walk;

use std::collections::BTreeSet;

use pintle_tree::Str;

use crate::set::Set;
use walk::Walker;

/// A part of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// The entry of a map.
    Key(Str),
    /// An item of a list, or an entry whose key is computed.
    Any,
}

/// What a template does with what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Usage {
    /// It is tested, measured or ranged over; nothing below it is read.
    Tested,
    /// It is printed or handed to a function, with everything below it.
    Used,
}

/// A path that a template reads, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Read {
    /// The path from the context of the template where execution began.
    pub path: Vec<Segment>,
    /// The source that has the expression.
    pub source: Str,
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 0 as in Go's errors.
    pub column: usize,
    /// What is done with it.
    pub usage: Usage,
}

/// What a function does with its arguments, for the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Uses all arguments; the result is new.
    Use,
    /// Uses only the kind or the length of its arguments.
    Test,
    /// Returns one of its arguments, from the given index on; those before are used.
    Choose(usize),
    /// `ternary A B TEST`.
    Ternary,
    /// `index VALUE KEY…` and `get MAP KEY`.
    Index,
    /// `hasKey MAP KEY`.
    HasKey,
    /// `dig KEY… DEFAULT MAP`.
    Dig,
    /// `pluck KEY MAP…`.
    Pluck,
    /// `dict KEY VALUE…`.
    Dict,
    /// `list VALUE…`.
    List,
    /// `first LIST`: returns an element of its last argument.
    Element,
    /// `values MAP`: returns a list of the elements of its arguments.
    Elements,
    /// `keys MAP…`: looks at the keys only.
    Keys,
    /// Returns the content of all arguments in one; the first may be changed, as by `merge`.
    Merge,
    /// Returns a part of the first argument, as `omit` and `slice` do; others are used.
    Part,
    /// `set MAP KEY VALUE`.
    Set,
    /// `include NAME CONTEXT`.
    Include,
    /// `tpl TEXT CONTEXT`.
    Evaluate,
}

/// The result of an analysis.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// What is read, sorted and without duplicates.
    pub reads: Vec<Read>,
    /// Whether text that is only known at run time is executed as a template.
    pub evaluates: bool,
    /// Whether the analysis was given up because it took too long; the rest is unknown.
    pub incomplete: bool,
}

impl Set {
    /// Analyses templates of the set, each executed on the same context. `effects` describes the functions by name,
    /// Go's built-ins included.
    pub fn reads<'n>(
        &self,
        templates: impl IntoIterator<Item = &'n str>,
        effects: &dyn Fn(&str) -> Effect,
    ) -> Reads {
        let mut walker = Walker::new(self, effects);
        for template in templates {
            walker.template(template.as_bytes(), &shape::Shape::Path(Vec::new()));
        }
        let reads: BTreeSet<Read> = walker.reads.iter().map(|(key, &usage)| key.read(usage)).collect();
        Reads {
            reads: reads.into_iter().collect(),
            evaluates: walker.evaluates,
            incomplete: walker.is_exhausted(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallResult, Function, Functions, Type, Value};

    fn function(name: &'static str) -> Function {
        fn nothing(_: crate::Args<'_>) -> CallResult {
            Ok(Value::Nil)
        }
        Function::pure(name, &[], Some(Type::Any), Type::Any, nothing)
    }

    fn effect(name: &str) -> Effect {
        match name {
            "and" | "or" => Effect::Choose(0),
            "not" => Effect::Test,
            "index" | "get" => Effect::Index,
            "hasKey" => Effect::HasKey,
            "dig" => Effect::Dig,
            "dict" => Effect::Dict,
            "list" => Effect::List,
            "default" => Effect::Choose(0),
            "merge" => Effect::Merge,
            "set" => Effect::Set,
            "include" => Effect::Include,
            "tpl" => Effect::Evaluate,
            "keys" => Effect::Keys,
            _ => Effect::Use,
        }
    }

    /// The reads of a source as `path`, with `?` after what is only tested.
    fn reads(source: &str) -> Vec<String> {
        let mut functions = Functions::new();
        for name in [
            "print", "printf", "get", "hasKey", "dig", "dict", "list", "default", "merge", "set", "include",
            "tpl", "keys", "quote",
        ] {
            functions.add(function(name));
        }
        let mut set = Set::new(functions);
        set.parse("t", source).expect("a template");
        let mut texts: Vec<String> = set.reads(["t"], &effect).reads.iter().map(show).collect();
        texts.dedup();
        texts
    }

    fn show(read: &Read) -> String {
        let segments = read.path.iter().map(|segment| match segment {
            Segment::Key(key) => key.to_str_lossy().into_owned(),
            Segment::Any => "*".to_owned(),
        });
        let path = segments.collect::<Vec<_>>().join(".");
        format!("{path}{}", if read.usage == Usage::Tested { "?" } else { "" })
    }

    #[test]
    fn fields_variables_and_scopes_lead_to_paths() {
        assert_eq!(reads("{{ .a.b }}{{ $.c }}{{ $x := .d }}{{ $x.e }}"), ["a.b", "c", "d.e"]);
        assert_eq!(reads("{{ with .a }}{{ .b }}{{ else }}{{ .c }}{{ end }}"), ["a?", "a.b", "c"]);
        assert_eq!(reads("{{ if .a }}x{{ end }}"), ["a?"]);
        assert_eq!(
            reads("{{ range $k, $v := .a }}{{ $v.b }}{{ .c }}{{ end }}"),
            ["a?", "a.*?", "a.*.b", "a.*.c"]
        );
        assert_eq!(reads("{{ (index .a 0).b }}"), ["a.*.b"]);
        assert_eq!(reads("{{ with $x := .a.b }}{{ $x.c }}{{ $.d }}{{ end }}"), ["a.b?", "a.b.c", "d"]);
    }

    #[test]
    fn a_variable_that_branches_assign_may_be_either() {
        assert_eq!(reads("{{ $x := .a }}{{ if .t }}{{ $x = .b }}{{ end }}{{ $x.c }}"), ["a.c", "b.c", "t?"]);
        assert_eq!(
            reads("{{ $x := .a }}{{ range .l }}{{ $x.c }}{{ $x = . }}{{ end }}"),
            ["a.c", "l?", "l.*?", "l.*.c"]
        );
    }

    #[test]
    fn functions_pass_paths_on() {
        assert_eq!(reads(r#"{{ get .a "b" }}{{ index .c "d" "e" }}"#), ["a.b", "c.d.e"]);
        assert_eq!(reads(r#"{{ range list "x" "y" }}{{ index $.a . }}{{ end }}"#), ["a.x", "a.y"]);
        assert_eq!(reads(r#"{{ (default .a .b).c }}"#), ["a?", "a.c", "b?", "b.c"]);
        assert_eq!(reads(r#"{{ if hasKey .a "b" }}{{ dig "x" "y" "" .a }}{{ end }}"#), ["a.b?", "a.x.y"]);
        assert_eq!(reads(r#"{{ $m := merge dict .a .b }}{{ $m.c }}"#), ["a.c", "b.c"]);
        // What goes into the context itself may be read from anywhere.
        assert_eq!(reads(r#"{{ $_ := set .a "k" .b }}"#), ["b"]);
        assert_eq!(reads(r#"{{ quote .a | print }}{{ .b | quote }}"#), ["a", "b"]);
    }

    #[test]
    fn contexts_of_called_templates_are_followed() {
        let partial = r#"{{ define "p" }}{{ .ctx.a }}{{ .item.b }}{{ include "q" .ctx }}{{ end }}{{ define "q" }}{{ .z }}{{ end }}"#;
        assert_eq!(
            reads(&format!(r#"{partial}{{{{ include "p" (dict "ctx" $ "item" .i) }}}}"#)),
            ["a", "i.b", "z"]
        );
        assert_eq!(reads(&format!(r#"{partial}{{{{ template "q" .x }}}}"#)), ["x.z"]);
        // A rendered file reads what it reads by itself; with another context, anything of that.
        assert_eq!(reads(r#"{{ include (print $.Template.BasePath "/a.yaml") . }}{{ .a }}"#), ["a"]);
        assert_eq!(reads(r#"{{ include (print $.Template.BasePath "/a.yaml") .x }}"#), ["x"]);
        // A name that is computed may be any template.
        assert_eq!(reads(&format!(r#"{partial}{{{{ include (printf "%s" "q") .x }}}}"#)), ["x"]);
    }

    #[test]
    fn recursion_ends() {
        let source = r#"{{ define "r" }}{{ .name }}{{ range .children }}{{ template "r" . }}{{ end }}{{ end }}{{ template "r" .tree }}"#;
        let reads = reads(source);
        assert!(reads.contains(&"tree.children.*.children.*.name".to_owned()), "{reads:?}");
    }

    #[test]
    fn a_map_under_construction_keeps_what_is_set() {
        assert_eq!(
            reads(r#"{{ $d := dict "a" .x }}{{ $_ := set $d "b" .y }}{{ $d.a.p }}{{ $d.b.q }}"#),
            ["x.p", "y.q"]
        );
    }

    #[test]
    fn reads_have_positions() {
        let mut set = Set::new(Functions::new());
        set.parse("t", "x\n  {{ .a.b }}").expect("a template");
        let reads = set.reads(["t"], &effect).reads;
        assert_eq!((reads[0].line, reads[0].column), (2, 5));
    }
}
