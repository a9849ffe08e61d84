//! The checks behind the assertions.

mod compare;
mod contains;
mod document;
mod equal;
mod failed;
mod length;
mod pattern;
mod snapshot;
mod value;

use pintle_tree::Node;

use crate::fail::{self, Info};
use crate::mapstructure::Fields;
use crate::path::Path;
pub(crate) use snapshot::Comparer;

/// Whether a check passed, and if not, why.
pub(crate) type Verdict = (bool, Info);

/// What a check works on: the documents of one template.
pub(crate) struct Context<'c, 's> {
    /// All documents of the template.
    pub(crate) documents: &'c [&'c Node],
    /// Those that the assertion selects.
    pub(crate) selected: &'c [&'c Node],
    /// Whether the check must not hold.
    pub(crate) negative: bool,
    pub(crate) snapshots: &'c mut Comparer<'s>,
    /// Why the chart did not render, if that was not put into a document.
    pub(crate) render_error: Option<&'c str>,
    pub(crate) fail_fast: bool,
    /// Whether to repeat what helm-unittest does by mistake.
    pub(crate) quirks: bool,
}

/// A check with its parameters.
#[derive(Debug)]
pub(crate) enum Check {
    Equal(equal::Equal),
    EqualRaw(equal::EqualRaw),
    Compare(compare::Compare),
    Exists(value::Exists),
    IsNullOrEmpty(value::IsNullOrEmpty),
    IsType(value::IsType),
    MatchRegex(pattern::MatchRegex),
    MatchRegexRaw(pattern::MatchRegexRaw),
    Contains(contains::Contains),
    IsSubset(contains::IsSubset),
    IsKind(document::Is),
    IsApiVersion(document::Is),
    HasDocuments(document::HasDocuments),
    ContainsDocument(document::ContainsDocument),
    LengthEqual(length::LengthEqual),
    FailedTemplate(failed::FailedTemplate),
    MatchSnapshot(snapshot::MatchSnapshot),
    MatchSnapshotRaw,
}

/// An assertion type.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Whether the name negates the check.
    pub(crate) antonym: bool,
    /// Whether the chart must render.
    pub(crate) needs_render: bool,
    read: fn(&mut Fields<'_>) -> Check,
}

const fn kind(name: &'static str, antonym: bool, read: fn(&mut Fields<'_>) -> Check) -> Kind {
    Kind { name, antonym, needs_render: true, read }
}

/// All assertion types.
pub(crate) static KINDS: [Kind; 36] = [
    kind("matchSnapshot", false, |fields| Check::MatchSnapshot(snapshot::MatchSnapshot::read(fields))),
    kind("matchSnapshotRaw", false, |_| Check::MatchSnapshotRaw),
    kind("equal", false, |fields| Check::Equal(equal::Equal::read(fields))),
    kind("notEqual", true, |fields| Check::Equal(equal::Equal::read(fields))),
    kind("greaterOrEqual", false, |fields| Check::Compare(compare::Compare::read(fields, true))),
    kind("notGreaterOrEqual", true, |fields| Check::Compare(compare::Compare::read(fields, true))),
    kind("lessOrEqual", false, |fields| Check::Compare(compare::Compare::read(fields, false))),
    kind("notLessOrEqual", true, |fields| Check::Compare(compare::Compare::read(fields, false))),
    kind("equalRaw", false, |fields| Check::EqualRaw(equal::EqualRaw::read(fields))),
    kind("notEqualRaw", true, |fields| Check::EqualRaw(equal::EqualRaw::read(fields))),
    kind("exists", false, |fields| Check::Exists(value::Exists::read(fields))),
    kind("notExists", true, |fields| Check::Exists(value::Exists::read(fields))),
    kind("matchRegex", false, |fields| Check::MatchRegex(pattern::MatchRegex::read(fields))),
    kind("notMatchRegex", true, |fields| Check::MatchRegex(pattern::MatchRegex::read(fields))),
    kind("matchRegexRaw", false, |fields| Check::MatchRegexRaw(pattern::MatchRegexRaw::read(fields))),
    kind("notMatchRegexRaw", true, |fields| Check::MatchRegexRaw(pattern::MatchRegexRaw::read(fields))),
    kind("contains", false, |fields| Check::Contains(contains::Contains::read(fields))),
    kind("notContains", true, |fields| Check::Contains(contains::Contains::read(fields))),
    kind("isKind", false, |fields| Check::IsKind(document::Is::read(fields))),
    kind("isAPIVersion", false, |fields| Check::IsApiVersion(document::Is::read(fields))),
    kind("hasDocuments", false, |fields| Check::HasDocuments(document::HasDocuments::read(fields))),
    kind("isSubset", false, |fields| Check::IsSubset(contains::IsSubset::read(fields))),
    kind("isNotSubset", true, |fields| Check::IsSubset(contains::IsSubset::read(fields))),
    kind("isNullOrEmpty", false, |fields| Check::IsNullOrEmpty(value::IsNullOrEmpty::read(fields))),
    kind("isNotNullOrEmpty", true, |fields| Check::IsNullOrEmpty(value::IsNullOrEmpty::read(fields))),
    Kind {
        name: "failedTemplate",
        antonym: false,
        needs_render: false,
        read: |fields| Check::FailedTemplate(failed::FailedTemplate::read(fields)),
    },
    kind("notFailedTemplate", true, |fields| Check::FailedTemplate(failed::FailedTemplate::read(fields))),
    kind("containsDocument", false, |fields| {
        Check::ContainsDocument(document::ContainsDocument::read(fields))
    }),
    kind("lengthEqual", false, |fields| Check::LengthEqual(length::LengthEqual::read(fields))),
    kind("notLengthEqual", true, |fields| Check::LengthEqual(length::LengthEqual::read(fields))),
    kind("isNull", true, |fields| Check::Exists(value::Exists::read(fields))),
    kind("isNotNull", false, |fields| Check::Exists(value::Exists::read(fields))),
    kind("isEmpty", false, |fields| Check::IsNullOrEmpty(value::IsNullOrEmpty::read(fields))),
    kind("isNotEmpty", true, |fields| Check::IsNullOrEmpty(value::IsNullOrEmpty::read(fields))),
    kind("isType", false, |fields| Check::IsType(value::IsType::read(fields))),
    kind("isNotType", true, |fields| Check::IsType(value::IsType::read(fields))),
];

impl Kind {
    /// Reads the parameters of an assertion of this type.
    ///
    /// # Errors
    /// When they have the wrong types.
    pub(crate) fn read(&self, parameters: &Node) -> Result<Check, String> {
        let mut fields = Fields::new(parameters)?;
        let check = (self.read)(&mut fields);
        fields.finish()?;
        Ok(check)
    }
}

impl Check {
    pub(crate) fn validate(&self, context: &mut Context<'_, '_>) -> Verdict {
        match self {
            Check::Equal(check) => check.validate(context),
            Check::EqualRaw(check) => check.validate(context),
            Check::Compare(check) => check.validate(context),
            Check::Exists(check) => check.validate(context),
            Check::IsNullOrEmpty(check) => check.validate(context),
            Check::IsType(check) => check.validate(context),
            Check::MatchRegex(check) => check.validate(context),
            Check::MatchRegexRaw(check) => check.validate(context),
            Check::Contains(check) => check.validate(context),
            Check::IsSubset(check) => check.validate(context),
            Check::IsKind(check) => check.validate(context, "kind", " to be kind"),
            Check::IsApiVersion(check) => check.validate(context, "apiVersion", " to be apiVersion"),
            Check::HasDocuments(check) => check.validate(context),
            Check::ContainsDocument(check) => check.validate(context),
            Check::LengthEqual(check) => check.validate(context),
            Check::FailedTemplate(check) => check.validate(context),
            Check::MatchSnapshot(check) => check.validate(context),
            Check::MatchSnapshotRaw => snapshot::validate_raw(context),
        }
    }
}

/// Checks every selected document; all must pass. `none` explains that there is no document, which only a negated check
/// accepts.
fn each_document(
    context: &mut Context<'_, '_>,
    mut check: impl FnMut(&mut Context<'_, '_>, usize, &Node) -> Verdict,
    none: impl FnOnce() -> Info,
) -> Verdict {
    let selected = context.selected;
    if selected.is_empty() {
        return if context.negative { (true, Info::new()) } else { (false, none()) };
    }
    let (mut passed, mut info) = (true, Info::new());
    for (index, document) in selected.iter().enumerate() {
        let (document_passed, mut lines) = check(context, index, document);
        info.append(&mut lines);
        passed &= document_passed;
        if !passed && context.fail_fast {
            break;
        }
    }
    (passed, info)
}

/// Checks every value at a path of a document; all must pass. If there is no value, only a negated check passes.
/// `check` returns `None` for a value that does not change the result.
fn each_value(
    context: &mut Context<'_, '_>,
    index: usize,
    document: &Node,
    path: &Path,
    quoted: bool,
    mut check: impl FnMut(&mut Context<'_, '_>, usize, &Node) -> (Option<bool>, Info),
) -> Verdict {
    let found = match path.find(document) {
        Ok(found) => found,
        Err(error) => return (false, fail::error(Some(index), None, &error)),
    };
    if found.is_empty() {
        if context.negative {
            return (true, Info::new());
        }
        let text = if quoted {
            format!("unknown path '{}'", path.text())
        } else {
            format!("unknown path {}", path.text())
        };
        return (false, fail::error(Some(index), None, &text));
    }
    let (mut passed, mut info) = (false, Info::new());
    for (at, value) in found.iter().enumerate() {
        let (result, mut lines) = check(context, at, value);
        info.append(&mut lines);
        if let Some(result) = result {
            passed = result && (at == 0 || passed);
            if !passed && context.fail_fast {
                break;
            }
        }
    }
    (passed, info)
}

/// Checks every value at a path of every selected document, which is passed on with its indices.
fn each_value_of_documents(
    context: &mut Context<'_, '_>,
    path: &Path,
    mut check: impl FnMut(&Node, usize, usize) -> Verdict,
    none: impl FnOnce() -> Info,
) -> Verdict {
    each_document(
        context,
        |context, index, document| {
            each_value(context, index, document, path, false, |_, at, value| {
                let (passed, info) = check(value, index, at);
                (Some(passed), info)
            })
        },
        none,
    )
}

/// The text of a document that is no YAML, or of an error.
fn raw_text(document: &Node) -> String {
    match document.get("raw") {
        None | Some(Node::Nil) => "<nil>".to_owned(),
        Some(Node::Str(text)) => text.to_string(),
        Some(other) => fail::yaml(other).trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests;
