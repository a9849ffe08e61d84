//! Errors of patches, with apimachinery's messages, which users know from Helm.

/// Why a patch could not be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The merge keys of the kind are not known.
    #[error("no merge keys are known for {api_version}, kind {kind}")]
    UnknownKind {
        /// The API version of the object.
        api_version: String,
        /// The kind of the object.
        kind: String,
    },
    /// The kind has no such field.
    #[error("unable to find api field in struct {owner} for the json field \"{field}\"")]
    UnknownField {
        /// The type that lacks the field.
        owner: String,
        /// The field.
        field: String,
    },
    /// A map where the kind has none.
    #[error("merging an object in json but data type is not struct, instead is: {0}")]
    NoStruct(&'static str),
    /// A list where the kind has none.
    #[error("expected slice or array type, but got: struct")]
    NoList,
    /// A list of lists where elements are merged.
    #[error("lists of lists are not supported")]
    ListOfLists,
    /// The elements of a list are of several types.
    #[error("list element types are not identical: {0}")]
    MixedElements(String),
    /// Without elements the type of a list is unknown.
    #[error("no elements in any of the given slices")]
    NoElements,
    /// An element of a list lacks its merge key.
    #[error("map: {element} does not contain declared merge key: {key}")]
    NoMergeKey {
        /// The element.
        element: String,
        /// The field that it lacks.
        key: String,
    },
    /// The kind merges a list of maps and does not say by which field.
    #[error("cannot merge lists without merge key for struct")]
    NoKeyDeclared,
    /// A value does not have the type that its field requires.
    #[error("expected a {expected}, but received a {actual}")]
    WrongType {
        /// The expected Go type.
        expected: &'static str,
        /// The actual Go type.
        actual: &'static str,
    },
    /// The manifest has a directive whose value is not a string.
    #[error("invalid value for special key: $patch")]
    BadDirective,
    /// The manifest holds a directive that does not exist.
    #[error("unknown patch type: {directive} in map: {map}")]
    UnknownDirective {
        /// The directive.
        directive: String,
        /// The map that contains it.
        map: String,
    },
    /// The orders of elements of two patches contradict each other.
    #[error("invalid patch format of setElementOrder list")]
    ElementOrder,
    /// The patch and the order of its elements contradict each other.
    #[error("The order in patch list:\n{list}\n doesn't match $setElementOrder list:\n{order}\n")]
    OrderMismatch {
        /// The elements of the patch.
        list: String,
        /// The requested order.
        order: String,
    },
    /// Two patches want to retain different fields.
    #[error("{0} and {1} are not deep equal: this may happen when calculating the 3-way diff patch")]
    RetainKeys(String, String),
    /// The kind has a patch strategy that does not exist.
    #[error("unexpected patch strategy: [{0}]")]
    UnknownStrategy(String),
    /// The patch would change the API version, kind or name of the object.
    #[error("precondition failed for: {0}")]
    Precondition(String),
}
