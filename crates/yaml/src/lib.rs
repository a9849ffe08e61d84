//! Reads and writes YAML exactly as Helm's Go libraries do.
//!
//! Helm reads YAML by converting it to JSON and decoding that, and writes it by encoding JSON and converting that.
//! This crate gives the same results and the same errors without the detour. Reading is generic over what is built
//! (see [`Builder`]); writing takes anything that can be walked.
//!
//! Start with [`read`] and [`write()`], or with [`outline`] to edit a text and keep the rest of it.
//!
//! ```
//! let tree = pintle_yaml::read(b"b: [yes, 0x10]\na: text").unwrap();
//! assert_eq!(pintle_yaml::write(&tree).unwrap(), b"a: text\nb:\n- true\n- 16\n");
//! ```

mod builder;
pub mod commented;
pub mod decode;
mod documents;
mod error;
mod exact;
mod fast;
pub mod lint;
pub mod native;
mod normalize;
pub mod outline;
mod read;
mod resolve;
mod stream;
mod timestamp;
mod value;
mod version_3;
mod write;

pub use builder::{Assemble, Assembler, Builder, Validator};
pub use documents::{read_documents, read_values};
pub use error::Error;
pub use normalize::normalize;
pub use stream::Stream;
pub use version_3::{Fractions, read_typed};
pub use write::{write, write_pretty, write_to, write_version_3};

use pintle_tree::{Map, Node};
use read::Rules;
use value::Value;

/// Reads the first document of `text`.
///
/// # Errors
/// When the text is not valid YAML, or cannot be converted to JSON.
pub fn read(text: &[u8]) -> Result<Node, Error> {
    read_with(text, &mut Assembler::default())
}

/// Reads the first document of `text` into whatever `builder` builds.
///
/// # Errors
/// When the text is not valid YAML, or cannot be converted to JSON.
pub fn read_with<B: Builder>(text: &[u8], builder: &mut B) -> Result<B::Node, Error> {
    builder.reset();
    if fast::read(text, builder).is_some() {
        return Ok(builder.finish());
    }
    // The fast reader may have passed half of the document before it gave up.
    builder.reset();
    read::read(text, builder, Rules::default())
}

/// Like [`read`], without the fast reader, for comparing the two.
///
/// # Errors
/// As [`read`].
#[doc(hidden)]
pub fn read_faithfully(text: &[u8]) -> Result<Node, Error> {
    read::read(text, &mut Assembler::default(), Rules::default())
}

/// Like [`read`], with the fast reader only; `None` if it gives up. For comparing the two.
#[doc(hidden)]
pub fn read_fast(text: &[u8]) -> Option<Node> {
    let mut assembler = Assembler::default();
    fast::read(text, &mut assembler)?;
    Some(assembler.finish())
}

/// Checks whether the first document of `text` can be read.
///
/// # Errors
/// When the text is not valid YAML, or cannot be converted to JSON.
pub fn validate(text: &[u8]) -> Result<(), Error> {
    read_with(text, &mut Validator)
}

/// Reads the first document of `text`, which must be a map; an empty text is an empty map.
///
/// # Errors
/// What [`read`] does not read, and documents of other kinds.
pub fn read_map(text: &[u8]) -> Result<Map<Node>, Error> {
    match read(text)? {
        Node::Map(map) => Ok(map),
        Node::Nil => Ok(Map::new()),
        other => Err(wrong_kind(&other, "map[string]interface {}")),
    }
}

/// Reads the first document of `text`, which must be a list; an empty text is an empty list.
///
/// # Errors
/// What [`read`] does not read, and documents of other kinds.
pub fn read_list(text: &[u8]) -> Result<Vec<Node>, Error> {
    match read(text)? {
        Node::List(list) => Ok(list),
        Node::Nil => Ok(Vec::new()),
        other => Err(wrong_kind(&other, "[]interface {}")),
    }
}

fn wrong_kind(node: &Node, wanted: &str) -> Error {
    let found = node.json_type();
    Error::new(format!("json: cannot unmarshal {found} into Go value of type {wanted}"))
        .within("error unmarshaling JSON: while decoding JSON")
}

/// Reads the first document of `text`; duplicate keys are errors.
///
/// # Errors
/// What [`read`] does not read, and repeated keys.
pub fn read_strict(text: &[u8]) -> Result<Node, Error> {
    let mut assembler = Assembler::detecting_duplicates();
    // On duplicates the full reader starts over as well, because its error names all of them with their
    // lines.
    if fast::read(text, &mut assembler).is_some() && !assembler.has_duplicates() {
        return Ok(assembler.finish());
    }
    assembler.reset();
    read::read(text, &mut assembler, Rules { strict: true })
}

/// Reads the first document of `text` with integers as [`Node::Int`], as Kubernetes' own tools do.
///
/// # Errors
/// What [`read`] does not read.
pub fn read_exact(text: &[u8]) -> Result<Node, Error> {
    read_with(text, &mut Assembler::<exact::Exact>::default()).map(|node| node.0)
}

/// Reads the first document of `text` as go-yaml 3 does, without Helm's detour through JSON; `builder` has to ask for
/// that by [`Builder::VERSION_3`]. Keys that occur twice are errors.
///
/// # Errors
/// When the text is not valid YAML, or a key occurs twice in a map.
pub fn read_version_3<B: Builder>(text: &[u8], builder: &mut B) -> Result<B::Node, Error> {
    builder.reset();
    if fast::read(text, builder).is_some() && !builder.has_duplicates() {
        return Ok(builder.finish());
    }
    builder.reset();
    read::read_yaml(text, builder).map_err(Error::into_version_3)
}

/// Converts the first document of `text` to JSON. Integers keep all their digits.
///
/// # Errors
/// When the text is not valid YAML, or cannot be converted to JSON. The error does not name the step.
pub fn to_json(text: &[u8]) -> Result<Vec<u8>, Error> {
    let value = read::read_yaml(text, &mut Assembler::<Value>::default())?;
    pintle_tree::json::write(&value).map_err(|error| Error::new(error.to_string()))
}
