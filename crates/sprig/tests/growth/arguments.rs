//! Arguments of a given size, in every shape that may affect the cost of a function.

use std::collections::HashSet;

use pintle_gotmpl::{Type, Value};
use pintle_tree::{Map, Str};

use super::Native;

/// The content of an argument of a given size: a text of that many bytes, or a value that takes about as much memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// Not large.
    Small,
    /// One letter again and again.
    Letters,
    /// The same with another letter at the end, so that searches fail.
    AlmostLetters,
    Words,
    Lines,
    Digits,
    Accents,
    /// Keys in descending order, each on a line.
    Keys,
    JsonList,
    YamlList,
    /// Aliases of aliases.
    Aliases,
    Number,
    Numbers,
    Texts,
    /// One long text many times.
    SameText,
    /// Each list holds the next twice.
    Doubled,
    /// Maps in maps.
    Deep,
    Entries,
}

impl Kind {
    fn of(wanted: Type) -> &'static [Kind] {
        use Kind::*;
        match wanted {
            Type::Str | Type::Bytes => {
                &[Letters, AlmostLetters, Words, Lines, Digits, Accents, Keys, JsonList, YamlList, Aliases]
            }
            Type::Any => &[Letters, Words, Lines, Digits, Numbers, Texts, SameText, Doubled, Deep, Entries],
            Type::List => &[Numbers, Texts, SameText, Doubled],
            Type::Map => &[Deep, Entries],
            Type::Strings => &[Texts, SameText],
            Type::Int | Type::Int64 | Type::NamedInt(_) | Type::Uint32 | Type::Uint64 => &[Number],
            _ => &[],
        }
    }

    /// An argument for a parameter.
    pub(super) fn value(self, wanted: Type, size: usize) -> Value {
        let list = |items: Vec<Value>| Value::list(items);
        match self {
            Kind::Small => small(wanted),
            Kind::Number => match wanted {
                Type::Int64 => Value::int64(size as i64),
                _ => Value::int(size as i64),
            },
            Kind::Numbers => list((0..size / 16).map(|number| Value::int(number as i64)).collect()),
            Kind::Texts => {
                let texts = (0..size / 16).rev().map(|number| format!("{number:08}"));
                if wanted == Type::Strings {
                    Value::strings(texts)
                } else {
                    list(texts.map(Value::str).collect())
                }
            }
            Kind::SameText => {
                let side = (size as f64).sqrt() as usize;
                let text = Value::str("a".repeat(side));
                // An equal text in another allocation, so that comparing pointers is not enough.
                let other = Value::str("a".repeat(side));
                let texts =
                    (0..side / 4).map(|index| if index % 2 == 0 { text.clone() } else { other.clone() });
                if wanted == Type::Strings {
                    Value::strings(texts.filter_map(|text| text.as_text().cloned()))
                } else {
                    list(texts.collect())
                }
            }
            Kind::Doubled => {
                let levels = (size / 16).max(1).ilog2();
                (0..levels).fold(Value::int(1), |inner, _| list(vec![inner.clone(), inner]))
            }
            Kind::Deep => (0..(size / 64).min(5_000)).fold(entries(1), |inner, _| {
                Value::map([(Str::from("k"), inner)].into_iter().collect::<Map<Value>>())
            }),
            Kind::Entries => entries(size / 32),
            _ => {
                let text = Str::from(self.text(size));
                if wanted == Type::Bytes { Value::Bytes(text) } else { Value::Str(text) }
            }
        }
    }

    fn text(self, size: usize) -> String {
        let repeated = |unit: &str| unit.repeat(size / unit.len() + 1);
        match self {
            Kind::AlmostLetters => format!("{}b", "a".repeat(size)),
            Kind::Words => repeated("Foo bar_baz-qux, "),
            Kind::Lines => repeated("ab\n"),
            Kind::Digits => "9".repeat(size),
            Kind::Accents => repeated("é "),
            Kind::Keys => (0..size / 16).rev().map(|number| format!("k{number:08} = 1\n")).collect(),
            Kind::JsonList => format!("[{}1]", repeated("1,")),
            Kind::YamlList => repeated("- a\n"),
            Kind::Aliases => {
                let copies = vec!["*a"; 16].join(", ");
                let lists = repeated(&format!("- [{copies}]\n"));
                format!("- &a [1, 2, 3]\n{lists}")
            }
            _ => "a".repeat(size),
        }
    }
}

fn entries(count: usize) -> Value {
    let entry = |number: usize| (Str::from(format!("k{number:08}")), Value::str("v"));
    Value::map((0..count.max(1)).map(entry).collect::<Map<Value>>())
}

fn small(wanted: Type) -> Value {
    match wanted {
        Type::Int | Type::NamedInt(_) | Type::Uint32 | Type::Uint64 => Value::int(3),
        Type::Int64 => Value::int64(3),
        Type::Float64 => Value::Float(0.5),
        Type::Bool => Value::Bool(true),
        Type::List => Value::list(vec![Value::int(1)]),
        Type::Strings => Value::strings(["a"]),
        Type::Map => entries(1),
        Type::StrMap => entries(1),
        Type::Bytes => Value::Bytes("a".into()),
        _ => Value::str("a"),
    }
}

/// Which arguments of a call are large, and how.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) arguments: Vec<(Type, Kind)>,
    /// Repeats the last argument once per this many bytes of size.
    pub(super) repeated: Option<usize>,
}

impl Shape {
    pub(super) fn describe(&self) -> String {
        let kinds: Vec<String> = self.arguments.iter().map(|(_, kind)| format!("{kind:?}")).collect();
        format!("({}{})", kinds.join(", "), if self.repeated.is_some() { " …" } else { "" })
    }
}

/// Every parameter large by itself, all of them at once, and many arguments where any number is taken.
pub(super) fn shapes(native: &Native) -> Vec<Shape> {
    let mut params = native.params.clone();
    params.extend(
        native.variadic.into_iter().flat_map(|further| [further, further]).take(3 - params.len().min(2)),
    );
    let mut shapes = Vec::new();
    for large in 0..params.len() {
        for kind in Kind::of(params[large]) {
            let kind_of = |index| if index == large { *kind } else { Kind::Small };
            let arguments = params.iter().enumerate().map(|(index, wanted)| (*wanted, kind_of(index)));
            shapes.push(Shape { arguments: arguments.collect(), repeated: None });
        }
    }
    let texts = params.iter().filter(|wanted| !Kind::of(**wanted).is_empty()).count();
    // Long patterns are slow to compile; as the only large argument they are covered above.
    if texts > 1 && !native.name.contains("egex") {
        for kind in [Kind::Letters, Kind::AlmostLetters, Kind::SameText, Kind::Entries, Kind::Doubled] {
            // A parameter that does not take this kind gets the first kind that it takes.
            let chosen = |wanted: Type| {
                let known = Kind::of(wanted);
                if known.contains(&kind) { kind } else { known.first().copied().unwrap_or(Kind::Small) }
            };
            let mut arguments: Vec<(Type, Kind)> =
                params.iter().map(|wanted| (*wanted, chosen(*wanted))).collect();
            shapes.push(Shape { arguments: arguments.clone(), repeated: None });
            if let Some(first) = arguments.first_mut().filter(|(_, first)| *first == Kind::Letters) {
                first.1 = Kind::AlmostLetters;
                shapes.push(Shape { arguments, repeated: None });
            }
        }
    }
    if let Some(further) = native.variadic {
        let mut arguments: Vec<(Type, Kind)> =
            native.params.iter().map(|wanted| (*wanted, Kind::Small)).collect();
        arguments.push((further, Kind::Small));
        shapes.push(Shape { arguments: arguments.clone(), repeated: Some(16) });
        if further == Type::Any {
            // A number with a fraction, for those that compute.
            arguments.iter_mut().for_each(|(wanted, _)| {
                if *wanted == Type::Any {
                    *wanted = Type::Float64;
                }
            });
            shapes.push(Shape { arguments, repeated: Some(16) });
        }
    }
    let mut known = HashSet::new();
    shapes.retain(|shape| known.insert((shape.arguments.clone(), shape.repeated)));
    shapes
}
