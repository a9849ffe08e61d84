//! The builder interface of the readers: any tree, or no tree at all.

use pintle_tree::{Map, Node, Str};

/// Receives the events of a document and builds something from them.
///
/// Inside a map every value follows its key. A key may occur more than once; the last value counts. Numbers come as
/// the narrowest of the three kinds, as Go has them before they pass through JSON.
pub trait Builder {
    /// The result.
    type Node;

    /// Whether scalar values are needed. If not, they may all come as empty strings. Keys always come.
    const KEEPS_SCALARS: bool = true;

    /// Whether scalars and merge keys are read as go-yaml 3 reads them: `yes`, `on` and the like are strings, and the
    /// keys of a map win over merged ones wherever they are.
    const VERSION_3: bool = false;

    /// Discards what was received so far; the document starts again from the beginning.
    fn reset(&mut self);
    /// Receives the text of a plain scalar before its value.
    fn plain(&mut self, _text: &[u8]) {}
    /// Called by the full reader before the value of a scalar that is written in quotes or as a block.
    fn quoted(&mut self) {}
    /// Whether a duplicate key was received, if the builder detects them.
    fn has_duplicates(&self) -> bool {
        false
    }
    /// Receives nil.
    fn nil(&mut self);
    /// Receives a boolean.
    fn bool(&mut self, value: bool);
    /// Receives an integer.
    fn int(&mut self, value: i64);
    /// Receives an integer too large for [`Builder::int`].
    fn uint(&mut self, value: u64);
    /// Receives a number with a fraction or an exponent. It is finite in any document that is read to its end.
    fn float(&mut self, value: f64);
    /// Receives a string, which may be any bytes with a `!!binary` tag.
    fn str(&mut self, text: &[u8]);
    /// Starts a list.
    fn begin_list(&mut self);
    /// Ends the innermost list.
    fn end_list(&mut self);
    /// Starts a map.
    fn begin_map(&mut self);
    /// Receives the key of the next entry.
    fn key(&mut self, key: &[u8]);
    /// Ends the innermost map.
    fn end_map(&mut self);
    /// Returns the result; called once, at the end of a document without errors.
    fn finish(&mut self) -> Self::Node;

    /// Called by the fast reader before a scalar or a key: its byte range, and whether these bytes, apart from
    /// quotes, are its text.
    fn scalar_at(&mut self, _start: usize, _end: usize, _simple: bool) {}
    /// Called by the fast reader before a block scalar: its byte range, and the indentation of its lines.
    fn block_at(&mut self, _start: usize, _end: usize, _indent: usize) {}
    /// Called by the fast reader before a list or a map: where it starts, and whether it is in flow style.
    fn begin_at(&mut self, _start: usize, _flow: bool) {}
    /// Called by the fast reader before a flow collection ends: where.
    fn end_at(&mut self, _end: usize) {}
    /// Called by the fast reader: the offset of the dash or the colon before the next node.
    fn lead_at(&mut self, _at: usize) {}
}

/// Nodes that an [`Assembler`] can build.
pub trait Assemble: Sized {
    /// See [`Builder::VERSION_3`].
    const VERSION_3: bool = false;

    /// Converts bytes to a string. By default as Go's JSON does, which cannot represent invalid UTF-8.
    fn text(bytes: &[u8]) -> Str {
        clean_text(bytes)
    }

    /// A nil node.
    fn nil() -> Self;
    /// A boolean node.
    fn bool(value: bool) -> Self;
    /// An integer node.
    fn int(value: i64) -> Self;
    /// A node of an integer above the largest `i64`.
    fn uint(value: u64) -> Self;
    /// A node of a float.
    fn float(value: f64) -> Self;
    /// A string node.
    fn str(text: Str) -> Self;
    /// A list node.
    fn list(items: Vec<Self>) -> Self;
    /// A map node of entries in document order; of equal keys the last counts.
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
        // Values reach templates as float64, because Helm decodes JSON into `interface {}`. So `1` in
        // values.yaml is not an int.
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
    /// Finished nodes whose parents are still open.
    nodes: Vec<T>,
    /// Keys whose maps are still open.
    keys: Vec<Str>,
    /// For each open collection, the number of nodes and keys before it.
    open: Vec<(usize, usize)>,
    /// Whether to detect duplicate keys.
    detecting_duplicates: bool,
    has_duplicates: bool,
    /// The number of nodes in finished collections, plus text in units of [`BYTES_PER_NODE`].
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
    /// An assembler that detects duplicate keys.
    pub fn detecting_duplicates() -> Self {
        Assembler { detecting_duplicates: true, ..Assembler::default() }
    }

    /// Whether a duplicate key was found.
    pub fn has_duplicates(&self) -> bool {
        self.has_duplicates
    }

    /// The number of nodes built, including those that aliases expand to; long texts count as several. Documents that
    /// failed, or were read twice, count too.
    pub fn made(&self) -> usize {
        self.made + self.nodes.len()
    }

    fn watch(&mut self, keys: usize) {
        let mut sorted: Vec<&Str> = self.keys[keys..].iter().collect();
        // A set would allocate for each map; most maps have a handful of keys.
        sorted.sort_unstable();
        self.has_duplicates |= sorted.windows(2).any(|pair| pair[0] == pair[1]);
    }
}

/// The bytes as UTF-8, with U+FFFD for each invalid byte.
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
                // Go's JSON encoder writes one U+FFFD for each invalid byte, while Rust's lossy conversion
                // merges adjacent ones.
                clean.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
            }
            Str::from(clean)
        }
    }
}

impl<T: Assemble> Builder for Assembler<T> {
    type Node = T;

    const VERSION_3: bool = T::VERSION_3;

    fn has_duplicates(&self) -> bool {
        self.has_duplicates
    }

    fn reset(&mut self) {
        // Work before a restart counts too, because callers limit the total.
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

/// A [`Builder`] of nothing, for validation.
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
