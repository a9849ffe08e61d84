//! The whole comparison.

use std::collections::BTreeSet;

use pintle_chart::{Chart, ext};
use pintle_render::Target;
use pintle_tree::{Map, Node};
use pintle_values::NullRules;

use crate::align::Replaced;
use crate::candidates::Finder;
use crate::documents::Documents;
use crate::error::Error;
use crate::report::{ChartName, Finding, FindingKind, Report, Severity};
use crate::side::Side;
use crate::values::{Values, changed_types};
use crate::{defaults, moves, objects, requirements};

/// What to compare.
pub struct Request<'a> {
    /// The chart that is upgraded from, as loaded.
    pub old: &'a Chart,
    /// The chart that is upgraded to, as loaded.
    pub new: &'a Chart,
    /// The user's values.
    pub user: &'a Map<Node>,
    /// The release and the capabilities to render for.
    pub target: &'a Target,
    /// How nulls in values are treated.
    pub nulls: NullRules,
    /// Whether texts of the new chart are read.
    pub documents: bool,
    /// Whether values are validated against schemas.
    pub schemas: bool,
    /// Loads the schemas that schemas refer to.
    pub load_schema: &'a dyn Fn(&str) -> Result<Vec<u8>, String>,
}

/// Compares two versions of a chart for the values of a user.
///
/// # Errors
/// When a template does not parse, values cannot be computed, or the old chart does not render.
pub fn check(request: &Request<'_>) -> Result<Report, Error> {
    let old = Side::new(request.old, request.user, request.target, request.nulls)?;
    let new = Side::new(request.new, request.user, request.target, request.nulls)?;
    let replaced = Replaced::between(&old, &new);
    let documents = match request.documents {
        true => Documents::read(request.old, request.new),
        false => Documents::default(),
    };
    let values = Values {
        user: request.user,
        old: &old,
        new: &new,
        finder: Finder::new(&old, &new, &replaced, &documents),
    };
    let mut found = values.check();
    let known: BTreeSet<String> = found.findings.iter().map(|finding| finding.subject.clone()).collect();
    found.findings.extend(changed_types(request.user, &old, &new, &known));
    let moves =
        moves::confirmed(request.user, &old, &new, (&found.proven, &found.assumed), &mut found.findings);
    let migrated = moves::migrated(request.user, &moves);
    let before = old.render(request.user).map_err(Error::OldRender)?;
    found.findings.extend(requirements::check(request, &old, &new, &migrated, &before));
    found.findings.extend(defaults::check(request.user, &migrated, &old, &new));
    if let Ok(after) = new.render(&migrated) {
        found.findings.extend(objects::check(request, &before, &after));
    }
    found.findings.extend(limits(&old, &new));
    let mut findings = found.findings;
    findings.sort_by(|a, b| {
        b.severity.cmp(&a.severity).then(a.kind.cmp(&b.kind)).then_with(|| a.subject.cmp(&b.subject))
    });
    let name = |chart: &Chart| ChartName {
        name: chart.metadata.name.clone(),
        version: chart.metadata.version.clone(),
    };
    Ok(Report {
        from: name(request.old),
        to: name(request.new),
        findings,
        moves,
        renders: old.renders() + new.renders(),
    })
}

/// Why a value that seems unread may be read after all, or the reverse.
fn limits(old: &Side<'_>, new: &Side<'_>) -> Vec<Finding> {
    let undecided =
        |message: &str| Finding::new(FindingKind::Undecided, Severity::Warning, new.chart.name(), message);
    let mut findings = Vec::new();
    if new.uses.incomplete || old.uses.incomplete {
        findings
            .push(undecided("some templates take too long to analyse, so more values may be unread or read"));
    }
    if ext::has_scripts(new.chart) {
        findings.push(undecided("the chart has scripts, which may read and change any value"));
    }
    for (side, which) in [(old, "old"), (new, "new")] {
        if let Err(name) = pintle_values::missing_dependencies(side.chart) {
            let message =
                format!("the {which} chart lacks dependencies, whose values were not compared: {name}");
            findings.push(undecided(&message));
        }
    }
    findings
}
