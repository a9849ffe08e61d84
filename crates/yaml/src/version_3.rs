//! Nodes as go-yaml 3 reads them: `yes` is a string, and integers are not floats.

use pintle_tree::number::format_value;
use pintle_tree::{Map, Node, Str};

use super::builder::{Assemble, Assembler};
use super::{Error, read_version_3};

/// How floats are represented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fractions {
    /// Unchanged.
    Kept,
    /// As after writing and reading the document again: `1e3` becomes the integer 1000.
    Rewritten,
}

/// Reads the first document of `text` as go-yaml 3 does. Keys that occur twice are errors.
///
/// # Errors
/// When the text is not valid YAML, or a key occurs twice in a map.
pub fn read_typed(text: &[u8], fractions: Fractions) -> Result<Node, Error> {
    match fractions {
        Fractions::Kept => {
            read_version_3(text, &mut Assembler::<Typed<false>>::detecting_duplicates()).map(|it| it.0)
        }
        Fractions::Rewritten => {
            read_version_3(text, &mut Assembler::<Typed<true>>::detecting_duplicates()).map(|it| it.0)
        }
    }
}

struct Typed<const REWRITTEN: bool>(Node);

impl<const REWRITTEN: bool> Assemble for Typed<REWRITTEN> {
    const VERSION_3: bool = true;

    fn nil() -> Self {
        Typed(Node::Nil)
    }

    fn bool(value: bool) -> Self {
        Typed(Node::Bool(value))
    }

    fn int(value: i64) -> Self {
        Typed(Node::Int(value))
    }

    fn uint(value: u64) -> Self {
        Typed(Node::Float(value as f64))
    }

    fn float(value: f64) -> Self {
        let whole = if REWRITTEN { format_value(value).parse().ok() } else { None };
        Typed(whole.map_or(Node::Float(value), Node::Int))
    }

    fn str(text: Str) -> Self {
        Typed(Node::Str(text))
    }

    fn list(items: Vec<Self>) -> Self {
        Typed(Node::List(items.into_iter().map(|item| item.0).collect()))
    }

    fn map(entries: Vec<(Str, Self)>) -> Self {
        Typed(Node::Map(Map::from_entries(entries.into_iter().map(|(key, node)| (key, node.0)).collect())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_text_and_fractions_are_kept_or_rewritten() {
        let read = |fractions| read_typed(b"[yes, 1, 1e3, 1.5]", fractions).expect("YAML");
        let list = |number: Node| Node::List(vec![Node::from("yes"), Node::Int(1), number, Node::Float(1.5)]);
        assert_eq!(read(Fractions::Kept), list(Node::Float(1000.0)));
        assert_eq!(read(Fractions::Rewritten), list(Node::Int(1000)));
        assert!(read_typed(b"a: 1\na: 2\n", Fractions::Kept).is_err());
    }
}
