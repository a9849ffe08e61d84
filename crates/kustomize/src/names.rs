//! References to objects whose names have changed, and the hashes in the names of generated ones.

use std::collections::{BTreeMap, BTreeSet};

use pintle_tree::{Node, Str, ValuePath, json};
use sha2::{Digest, Sha256};

use crate::config::{Config, FieldSpec, NameReference};
use crate::context::Context;
use crate::error::Error;
use crate::fields::{Missing, visit};
use crate::id::{Gvk, Id, short};
use crate::object::{ChangeKind, Place};
use crate::resource::Resource;
use crate::value::Value;

/// Adds hashes to the names of generated objects.
pub(crate) fn add_hashes(resources: &mut [Resource]) -> Result<(), Error> {
    for resource in resources.iter_mut().filter(|resource| resource.needs_hash) {
        let hash =
            hash_of(resource).map_err(|error| Error::new(format!("{}: {error}", short(&resource.id()))))?;
        resource.remember();
        let name = format!("{}-{hash}", resource.name());
        resource.set_name(&name.as_str().into());
        let place = resource.origin.clone();
        resource.changed(ValuePath::root().key("metadata").key("name"), ChangeKind::Hash, &place);
    }
    Ok(())
}

/// The hash of what a ConfigMap or Secret holds.
fn hash_of(resource: &Resource) -> Result<String, String> {
    let mut content = pintle_tree::Map::new();
    let kind = resource.top("kind");
    let fields: &[&str] = match kind.as_bytes() {
        b"ConfigMap" => &["data", "binaryData"],
        b"Secret" => &["type", "data", "stringData"],
        _ => return Err("only ConfigMaps and Secrets can have a hash in their names".to_owned()),
    };
    for field in fields {
        let value = match resource.value.get(field) {
            Some(Value::Scalar(scalar)) => Node::Str(scalar.text.clone()),
            Some(value) => value.to_node()?,
            None => Node::from(""),
        };
        // The last of each list is left out if it is no map.
        let optional = matches!(*field, "binaryData" | "stringData");
        if !optional || value.as_map().is_some() {
            content.insert((*field).into(), value);
        }
    }
    content.insert("kind".into(), Node::Str(kind));
    // kustomize looks for the name under a key that no object has.
    content.insert("name".into(), Node::from(""));
    let text = json::write(&Node::Map(content)).map_err(|error| error.to_string())?;
    Ok(encode(&Sha256::digest(&text)))
}

/// Ten digits, without those that make words.
fn encode(digest: &[u8]) -> String {
    let hex: String = digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect();
    let letter = |digit| match digit {
        '0' => 'g',
        '1' => 'h',
        '3' => 'k',
        'a' => 'm',
        'e' => 't',
        other => other,
    };
    hex.chars().map(letter).collect()
}

/// An object that may be referred to, as it was before references are changed.
struct Candidate {
    now: Id,
    previous: Vec<Id>,
    prefixes: Vec<Str>,
    suffixes: Vec<Str>,
    raw_namespace: Str,
    is_service_account: bool,
    place: Place,
}

/// What looks for the object that a field names.
struct Finder<'c> {
    candidates: &'c [Candidate],
    /// The candidates that had a name.
    by_name: BTreeMap<Str, Vec<usize>>,
}

/// The object with the field.
struct Referrer {
    now: Id,
    prefixes: Vec<Str>,
    suffixes: Vec<Str>,
    /// `apiGroup` and `kind` of `roleRef`.
    role: Option<Gvk>,
    /// The namespaces of the service accounts that a role binding names.
    namespaces: BTreeSet<Str>,
}

/// Updates the names in all fields that refer to objects.
pub(crate) fn fix_references(
    context: &Context<'_>,
    config: &Config,
    resources: &mut [Resource],
) -> Result<(), Error> {
    let candidates: Vec<Candidate> = resources.iter().map(candidate).collect();
    let mut by_name: BTreeMap<Str, Vec<usize>> = BTreeMap::new();
    for (index, candidate) in candidates.iter().enumerate() {
        let names: BTreeSet<&Str> = candidate.previous.iter().map(|id| &id.name).collect();
        for name in names {
            by_name.entry(name.clone()).or_default().push(index);
        }
    }
    let finder = Finder { candidates: &candidates, by_name };
    if finder.by_name.is_empty() {
        return Ok(());
    }
    for resource in resources {
        context.charge(1)?;
        let original = resource.original_id().gvk;
        let mut referrer: Option<Referrer> = None;
        for reference in &config.references {
            for spec in reference.referrers.iter().filter(|spec| original.is_selected(&spec.gvk)) {
                let referrer = referrer.get_or_insert_with(|| referrer_of(resource));
                // The specification was for the kind that it had.
                let spec = FieldSpec { gvk: Gvk::default(), ..spec.clone() };
                fix_field(context, &finder, reference, &spec, referrer, resource)?;
            }
        }
    }
    Ok(())
}

fn candidate(resource: &Resource) -> Candidate {
    let place = resource
        .changes
        .iter()
        .rev()
        .find(|change| matches!(change.kind, ChangeKind::Name | ChangeKind::Hash));
    Candidate {
        now: resource.id(),
        previous: resource.previous_ids().collect(),
        prefixes: resource.prefixes.clone(),
        suffixes: resource.suffixes.clone(),
        raw_namespace: resource.namespace(),
        is_service_account: resource.top("kind").as_bytes() == b"ServiceAccount",
        place: place.map_or_else(|| resource.origin.clone(), |change| change.place.clone()),
    }
}

fn referrer_of(resource: &Resource) -> Referrer {
    let role = resource.value.get("roleRef").and_then(|role| {
        Some(Gvk {
            group: role.get("apiGroup")?.text(),
            version: Str::default(),
            kind: role.get("kind")?.text(),
        })
    });
    let is_binding = resource.top("kind").as_bytes() == b"RoleBinding";
    let subjects = match resource.value.get("subjects") {
        Some(Value::List(subjects)) if is_binding => subjects.as_slice(),
        _ => &[],
    };
    let is_account = |subject: &&Value| {
        subject.get("kind").is_some_and(|kind| kind.text().as_bytes() == b"ServiceAccount")
    };
    let accounts = subjects.iter().filter(is_account);
    let namespaces = accounts.filter_map(|subject| subject.get("namespace").map(Value::text)).collect();
    Referrer {
        now: resource.id(),
        prefixes: resource.prefixes.clone(),
        suffixes: resource.suffixes.clone(),
        role,
        namespaces,
    }
}

fn fix_field(
    context: &Context<'_>,
    finder: &Finder<'_>,
    reference: &NameReference,
    spec: &FieldSpec,
    referrer: &Referrer,
    resource: &mut Resource,
) -> Result<(), Error> {
    let is_role = spec.path.as_bytes().ends_with(b"roleRef/name");
    let role = if is_role { referrer.role.as_ref() } else { None };
    let search = Search { finder, target: &reference.target, role, referrer, context };
    let mut changed = Vec::new();
    visit(resource, spec, Missing::Skip, &mut |value, path| match value {
        Value::Scalar(_) => search.fix_scalar(value, path, &mut changed),
        Value::Map(_) => search.fix_map(value, path, &mut changed),
        Value::List(items) => items.iter_mut().enumerate().try_for_each(|(index, item)| match item {
            Value::Scalar(_) => search.fix_scalar(item, &path.index(index), &mut changed),
            Value::Map(_) => search.fix_map(item, &path.index(index), &mut changed),
            Value::List(_) => Err("a list is expected to hold strings or maps".to_owned()),
        }),
    })?;
    for (path, place) in changed {
        resource.changed(path, ChangeKind::Reference, &place);
    }
    Ok(())
}

/// A search for what one field refers to.
struct Search<'s, 'c> {
    finder: &'s Finder<'c>,
    target: &'s Gvk,
    role: Option<&'s Gvk>,
    referrer: &'s Referrer,
    context: &'s Context<'s>,
}

type Changed = Vec<(ValuePath, Place)>;

impl<'c> Search<'_, 'c> {
    fn fix_scalar(&self, value: &mut Value, path: &ValuePath, changed: &mut Changed) -> Result<(), String> {
        let Value::Scalar(scalar) = value else { return Ok(()) };
        if value_is_missing(scalar) {
            return Ok(());
        }
        let same = |one: &Candidate, other: &Candidate| one.now.name == other.now.name;
        let Some(found) = self.find(&scalar.text, None, same)? else { return Ok(()) };
        if found.now.name != scalar.text {
            scalar.set(found.now.name.clone());
            changed.push((path.clone(), found.place.clone()));
        }
        Ok(())
    }

    fn fix_map(&self, value: &mut Value, path: &ValuePath, changed: &mut Changed) -> Result<(), String> {
        let Some(map) = value.as_map_mut() else { return Ok(()) };
        let name = map.get("name").ok_or("path config error; no 'name' field in node")?.text();
        let namespace = map.get("namespace").map(Value::text);
        let same = |one: &Candidate, other: &Candidate| {
            one.now.name == other.now.name && one.raw_namespace == other.raw_namespace
        };
        let Some(found) = self.find(&name, namespace.as_ref(), same)? else { return Ok(()) };
        let mut set = |field: &str, text: &Str| {
            if map.get(field).is_some_and(|value| value.text() == *text) {
                return;
            }
            match map.get_mut(field) {
                Some(Value::Scalar(scalar)) => scalar.set(text.clone()),
                _ => drop(map.insert(field.into(), Value::string(text.clone()))),
            }
            changed.push((path.key(field), found.place.clone()));
        };
        if found.now.name == name && found.raw_namespace.is_empty() {
            return Ok(());
        }
        set("name", &found.now.name);
        if !found.raw_namespace.is_empty() {
            set("namespace", &found.raw_namespace);
        }
        Ok(())
    }

    /// Whether the referrer may see an object at all.
    fn is_visible(&self, candidate: &Candidate) -> bool {
        let referrer = &self.referrer.now;
        referrer.cluster_scoped
            || candidate.now.cluster_scoped
            || candidate.now.effective_namespace() == referrer.effective_namespace()
            || self.referrer.namespaces.contains(&candidate.raw_namespace)
    }

    fn is_in_namespace(&self, candidate: &Candidate) -> bool {
        let referrer = &self.referrer.now;
        referrer.cluster_scoped
            || candidate.now.cluster_scoped
            || candidate.is_service_account
            || candidate.now.effective_namespace() == referrer.effective_namespace()
    }

    fn find(
        &self,
        name: &Str,
        namespace: Option<&Str>,
        same: impl Fn(&Candidate, &Candidate) -> bool,
    ) -> Result<Option<&'c Candidate>, String> {
        let Some(named) = self.finder.by_name.get(name) else { return Ok(None) };
        self.context.charge(named.len()).map_err(|error| error.message().to_owned())?;
        let all = self.finder.candidates;
        let mut found: Vec<&'c Candidate> =
            named.iter().map(|index| &all[*index]).filter(|candidate| self.is_visible(candidate)).collect();
        if let Some(namespace) = namespace {
            found = self.in_namespace(found, namespace);
        }
        let had =
            |candidate: &Candidate, gvk: &Gvk| candidate.previous.iter().any(|id| id.gvk.is_selected(gvk));
        found.retain(|candidate| {
            had(candidate, self.target)
                && self.role.is_none_or(|role| had(candidate, role))
                && self.is_in_namespace(candidate)
        });
        if found.len() > 1 {
            found.retain(|candidate| self.has_affixes(candidate, true));
        }
        if found.len() > 1 {
            found.retain(|candidate| self.has_affixes(candidate, false));
        }
        match found.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            [first, rest @ ..] if rest.iter().all(|other| same(first, other)) => Ok(Some(first)),
            _ => {
                let ids: Vec<String> = found.iter().map(|candidate| short(&candidate.now)).collect();
                Err(format!("found multiple possible referrals: {}", ids.join(", ")))
            }
        }
    }

    /// The candidates of a namespace: the one they had first, or, if no object had it, the one they have.
    fn in_namespace(&self, found: Vec<&'c Candidate>, namespace: &Str) -> Vec<&'c Candidate> {
        let original = |candidate: &Candidate| {
            let id = candidate.previous.first().unwrap_or(&candidate.now);
            (!id.cluster_scoped).then(|| id.effective_namespace())
        };
        let current = |candidate: &Candidate| {
            (!candidate.now.cluster_scoped).then(|| candidate.now.effective_namespace())
        };
        let visible = || self.finder.candidates.iter().filter(|candidate| self.is_visible(candidate));
        let first = visible().any(|candidate| original(candidate).as_ref() == Some(namespace));
        let fits = |candidate: &&Candidate| {
            let of = if first { original(candidate) } else { current(candidate) };
            of.as_ref() == Some(namespace)
        };
        found.into_iter().filter(fits).collect()
    }

    fn has_affixes(&self, candidate: &Candidate, allow_none: bool) -> bool {
        let fits = |one: &[Str], other: &[Str]| {
            (allow_none && (one.is_empty() || other.is_empty())) || same_ending(one, other)
        };
        fits(&candidate.prefixes, &self.referrer.prefixes)
            && fits(&candidate.suffixes, &self.referrer.suffixes)
    }
}

fn value_is_missing(scalar: &crate::value::Scalar) -> bool {
    scalar.tag == crate::value::Tag::Null
}

/// Whether the shorter list is the end of the longer one.
fn same_ending(one: &[Str], other: &[Str]) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if short.is_empty() { long.is_empty() } else { long.ends_with(short) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_have_no_vowels_and_few_digits() {
        assert_eq!(encode(&[0x01, 0x3a, 0xe2, 0xff, 0x45]), "ghkmt2ff45");
    }

    #[test]
    fn one_list_may_be_the_end_of_the_other() {
        let list = |words: &[&str]| words.iter().map(|word| Str::from(*word)).collect::<Vec<_>>();
        assert!(same_ending(&list(&["a", "b"]), &list(&["b"])));
        assert!(!same_ending(&list(&["a", "b"]), &list(&["a"])));
        assert!(!same_ending(&list(&["a"]), &[]) && same_ending(&[], &[]));
    }
}
