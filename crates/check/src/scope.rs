//! Collects what the rules find in a document.

use std::collections::BTreeMap;

use crate::document::{Document, Object};
use crate::finding::{Finding, ObjectName, SourceLine};
use crate::fix::Replacement;
use crate::ignore;
use crate::locate::Locator;
use crate::rule::{RULES, Rule, Severity};
use crate::run::Settings;

/// The rules that apply, with their severities.
pub(crate) struct ActiveRules(BTreeMap<&'static str, (&'static Rule, Severity)>);

impl ActiveRules {
    pub(crate) fn new(settings: &Settings<'_>) -> Self {
        let severity = |rule: &'static Rule| {
            let severity = settings.config.severity(rule)?;
            let strict = settings.strict && matches!(rule.name, "unknown-field" | "duplicate-key");
            Some((rule.name, (rule, if strict { Severity::Error } else { severity })))
        };
        ActiveRules(RULES.iter().filter_map(severity).collect())
    }
}

/// A kind and a name.
pub(crate) type KindName = (String, String);

/// A finding in one rendering.
pub(crate) struct Found {
    pub(crate) finding: Finding,
    /// Whether an annotation or the configuration ignores it.
    pub(crate) ignored: bool,
    /// The object that the finding says is missing: if the rendering has it, there is no finding.
    pub(crate) unless: Option<KindName>,
}

/// A finding whose line is not known yet.
struct Raised {
    found: Found,
    /// The JSON pointer in the document.
    pointer: String,
}

/// Takes the findings about one document after the other.
pub(crate) struct Scope<'s> {
    settings: &'s Settings<'s>,
    rules: &'s ActiveRules,
    versions: Vec<String>,
    raised: Vec<Raised>,
}

impl<'s> Scope<'s> {
    /// `version` is the Kubernetes version of the rendering; empty for all.
    pub(crate) fn new(settings: &'s Settings<'s>, rules: &'s ActiveRules, version: &str) -> Self {
        let all = settings.catalogs.iter().map(|catalog| catalog.version());
        let versions = all.filter(|it| version.is_empty() || it == version).collect();
        Scope { settings, rules, versions, raised: Vec::new() }
    }

    /// The Kubernetes versions to check for.
    pub(crate) fn versions(&self) -> &[String] {
        &self.versions
    }

    /// Adds a finding about a field of an object.
    pub(crate) fn add(&mut self, name: &'static str, object: &Object, pointer: &str, message: String) {
        self.push(name, object, pointer, message, Vec::new(), None);
    }

    /// Adds a finding that another object is missing.
    pub(crate) fn add_missing(
        &mut self,
        name: &'static str,
        object: &Object,
        pointer: &str,
        message: String,
        missing: KindName,
    ) {
        let before = self.raised.len();
        self.add(name, object, pointer, message);
        if let Some(raised) = self.raised.get_mut(before) {
            raised.found.unless = Some(missing);
        }
    }

    /// Adds a finding that replacing a text of the template fixes.
    pub(crate) fn add_fixable(
        &mut self,
        name: &'static str,
        object: &Object,
        pointer: &str,
        message: String,
        (version, fix): (Option<&str>, Option<Replacement>),
    ) {
        self.push(name, object, pointer, message, version.map(str::to_owned).into_iter().collect(), fix);
    }

    fn push(
        &mut self,
        name: &'static str,
        object: &Object,
        pointer: &str,
        message: String,
        versions: Vec<String>,
        fix: Option<Replacement>,
    ) {
        let Some(mut finding) = self.finding(name, message, Some(object.name.clone())) else { return };
        finding.pointer = pointer.to_owned();
        finding.versions = versions.into_iter().collect();
        finding.fix = fix;
        let found = Found { finding, ignored: ignore::is_ignored(object, name), unless: None };
        self.raised.push(Raised { found, pointer: format!("{}{pointer}", object.pointer) });
    }

    fn finding(&self, name: &'static str, message: String, object: Option<ObjectName>) -> Option<Finding> {
        let (rule, severity) = *self.rules.0.get(name)?;
        Some(Finding {
            rule,
            severity,
            message,
            location: None,
            object,
            pointer: String::new(),
            scenarios: Default::default(),
            versions: Default::default(),
            fix: None,
        })
    }

    /// A finding that is not about an object, if the rule applies.
    pub(crate) fn at(
        &self,
        name: &'static str,
        location: Option<SourceLine>,
        message: String,
    ) -> Option<Found> {
        let finding = Finding { location, ..self.finding(name, message, None)? };
        Some(Found { ignored: self.settings.config.ignores(&finding), finding, unless: None })
    }

    /// Takes the findings that were added, with their lines in the document that they are all about.
    pub(crate) fn take(&mut self, document: &Document<'_, '_>) -> Vec<Found> {
        if self.raised.is_empty() {
            return Vec::new();
        }
        let locator = Locator::new(document);
        let located = |Raised { mut found, pointer }| {
            found.finding.location = Some(locator.field(&pointer));
            found.ignored |= self.settings.config.ignores(&found.finding);
            found
        };
        std::mem::take(&mut self.raised).into_iter().map(located).collect()
    }
}
