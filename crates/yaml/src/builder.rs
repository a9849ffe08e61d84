//! What the reader builds: any tree, or no tree at all.

use pintle_tree::{Map, Node, Str};

/// Receives a document piece by piece and makes something of it.
///
/// Inside a map every value follows its key. A key may come more than once; the last value counts. Numbers come as
/// the narrowest of the three kinds, as Go has them before they pass through JSON.
pub trait Builder {
    /// What is built.
    type Node;

    /// Whether scalars that are values are wanted. If not, they may all come as empty strings. Keys always come.
    const KEEPS_SCALARS: bool = true;

    /// Forgets what was received so far; the document will be told again from the beginning.
    fn reset(&mut self);
    /// Receives nil.
    fn nil(&mut self);
    /// Receives a boolean.
    fn bool(&mut self, value: bool);
    /// Receives a whole number.
    fn int(&mut self, value: i64);
    /// Receives a whole number that is too large for [`Builder::int`].
    fn uint(&mut self, value: u64);
    /// Receives a number with a fraction or an exponent. It is finite in any document that is read to its end.
    fn float(&mut self, value: f64);
    /// Receives a string, which may be any bytes where a `!!binary` tag says so.
    fn str(&mut self, text: &[u8]);
    /// Begins a list.
    fn begin_list(&mut self);
    /// Ends the list that was begun last.
    fn end_list(&mut self);
    /// Begins a map.
    fn begin_map(&mut self);
    /// Receives the key of the next entry.
    fn key(&mut self, key: &[u8]);
    /// Ends the map that was begun last.
    fn end_map(&mut self);
    /// Returns what was built; called once, at the end of a document without errors.
    fn finish(&mut self) -> Self::Node;

    /// Is told by the fast reader, before a scalar or a key, in which bytes it stands, and whether these are its text as
    /// they are, but for quotes.
    fn scalar_at(&mut self, _start: usize, _end: usize, _simple: bool) {}
    /// Is told by the fast reader, before a block scalar, in which bytes it stands and how far its lines are indented.
    fn block_at(&mut self, _start: usize, _end: usize, _indent: usize) {}
    /// Is told by the fast reader, before a list or a map, where it begins and whether in brackets.
    fn begin_at(&mut self, _start: usize, _flow: bool) {}
    /// Is told by the fast reader, before a list or a map in brackets ends, where that is.
    fn end_at(&mut self, _end: usize) {}
    /// Is told by the fast reader where the dash or the colon before the next node stands.
    fn lead_at(&mut self, _at: usize) {}
}

/// Nodes that an [`Assembler`] can put together.
pub trait Assemble: Sized {
    /// The string of these bytes. Unless a tree wants otherwise, it is what comes out of Go's JSON, which has no place
    /// for bytes that are no UTF-8.
    fn text(bytes: &[u8]) -> Str {
        clean_text(bytes)
    }

    /// A nil node.
    fn nil() -> Self;
    /// A boolean node.
    fn bool(value: bool) -> Self;
    /// A node of a whole number.
    fn int(value: i64) -> Self;
    /// A node of a whole number above the largest `i64`.
    fn uint(value: u64) -> Self;
    /// A node of a float.
    fn float(value: f64) -> Self;
    /// A string node.
    fn str(text: Str) -> Self;
    /// A list node.
    fn list(items: Vec<Self>) -> Self;
    /// A map node of entries in the order of the document; of equal keys the last counts.
    fn map(entries: Vec<(Str, Self)>) -> Self;
}

impl Assemble for Node {
    fn nil() -> Self {
        Node::Nil
    }

    fn bool(value: bool) -> Self {
        Node::Bool(value)
    }

    fn int(value: i64) -> Self {
        Node::Float(value as f64)
    }

    fn uint(value: u64) -> Self {
        Node::Float(value as f64)
    }

    fn float(value: f64) -> Self {
        Node::Float(value)
    }

    fn str(text: Str) -> Self {
        Node::Str(text)
    }

    fn list(items: Vec<Self>) -> Self {
        Node::List(items)
    }

    fn map(entries: Vec<(Str, Self)>) -> Self {
        Node::Map(Map::from_entries(entries))
    }
}

/// A [`Builder`] of whole trees.
#[derive(Debug)]
pub struct Assembler<T> {
    /// Finished nodes whose parents are open.
    nodes: Vec<T>,
    /// Keys whose maps are open.
    keys: Vec<Str>,
    /// For each open collection, how many nodes and keys there were before it.
    open: Vec<(usize, usize)>,
    /// Whether to look out for keys that come twice in a map.
    detecting_duplicates: bool,
    has_duplicates: bool,
    /// Nodes in collections that were ended, and text in pieces of [`BYTES_PER_NODE`] bytes.
    made: usize,
}

/// How many bytes of text count as much as a node.
const BYTES_PER_NODE: usize = 64;

impl<T> Default for Assembler<T> {
    fn default() -> Self {
        Assembler {
            nodes: Vec::new(),
            keys: Vec::new(),
            open: Vec::new(),
            detecting_duplicates: false,
            has_duplicates: false,
            made: 0,
        }
    }
}

impl<T> Assembler<T> {
    /// An assembler that notices keys that come twice in a map.
    pub fn detecting_duplicates() -> Self {
        Assembler { detecting_duplicates: true, ..Assembler::default() }
    }

    /// Whether a watchful assembler saw a key twice in a map.
    pub fn has_duplicates(&self) -> bool {
        self.has_duplicates
    }

    /// How many nodes were made, those that aliases stand for included; long texts count as several. A document that
    /// turned out to be wrong, or was read twice, counts too.
    pub fn made(&self) -> usize {
        self.made + self.nodes.len()
    }

    fn watch(&mut self, keys: usize) {
        let mut sorted: Vec<&Str> = self.keys[keys..].iter().collect();
        sorted.sort_unstable();
        self.has_duplicates |= sorted.windows(2).any(|pair| pair[0] == pair[1]);
    }
}

/// The bytes as UTF-8, with a replacement character for each byte that is none.
fn clean_text(bytes: &[u8]) -> Str {
    if bytes.is_ascii() {
        return Str::new(bytes);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Str::new(text),
        Err(_) => {
            let mut clean = String::with_capacity(bytes.len() + 8);
            for chunk in bytes.utf8_chunks() {
                clean.push_str(chunk.valid());
                clean.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
            }
            Str::from(clean)
        }
    }
}

impl<T: Assemble> Builder for Assembler<T> {
    type Node = T;

    fn reset(&mut self) {
        self.made += self.nodes.len();
        self.nodes.clear();
        self.keys.clear();
        self.open.clear();
        self.has_duplicates = false;
    }

    fn nil(&mut self) {
        self.nodes.push(T::nil());
    }

    fn bool(&mut self, value: bool) {
        self.nodes.push(T::bool(value));
    }

    fn int(&mut self, value: i64) {
        self.nodes.push(T::int(value));
    }

    fn uint(&mut self, value: u64) {
        self.nodes.push(T::uint(value));
    }

    fn float(&mut self, value: f64) {
        self.nodes.push(T::float(value));
    }

    fn str(&mut self, text: &[u8]) {
        self.made += text.len() / BYTES_PER_NODE;
        self.nodes.push(T::str(T::text(text)));
    }

    fn begin_list(&mut self) {
        self.open.push((self.nodes.len(), self.keys.len()));
    }

    fn end_list(&mut self) {
        let (nodes, _) = self.open.pop().expect("only an open list is ended");
        self.made += self.nodes.len() - nodes;
        let items = self.nodes.drain(nodes..).collect();
        self.nodes.push(T::list(items));
    }

    fn begin_map(&mut self) {
        self.open.push((self.nodes.len(), self.keys.len()));
    }

    fn key(&mut self, key: &[u8]) {
        self.keys.push(T::text(key));
    }

    fn end_map(&mut self) {
        let (nodes, keys) = self.open.pop().expect("only an open map is ended");
        if self.detecting_duplicates {
            self.watch(keys);
        }
        self.made += self.nodes.len() - nodes;
        let entries = self.keys.drain(keys..).zip(self.nodes.drain(nodes..)).collect();
        self.nodes.push(T::map(entries));
    }

    fn finish(&mut self) -> T {
        self.nodes.pop().unwrap_or_else(T::nil)
    }
}

/// A [`Builder`] of nothing, for telling whether a text is YAML.
#[derive(Clone, Copy, Debug, Default)]
pub struct Validator;

impl Builder for Validator {
    type Node = ();

    const KEEPS_SCALARS: bool = false;

    fn reset(&mut self) {}
    fn nil(&mut self) {}
    fn bool(&mut self, _: bool) {}
    fn int(&mut self, _: i64) {}
    fn uint(&mut self, _: u64) {}
    fn float(&mut self, _: f64) {}
    fn str(&mut self, _: &[u8]) {}
    fn begin_list(&mut self) {}
    fn end_list(&mut self) {}
    fn begin_map(&mut self) {}
    fn key(&mut self, _: &[u8]) {}
    fn end_map(&mut self) {}
    fn finish(&mut self) {}
}
