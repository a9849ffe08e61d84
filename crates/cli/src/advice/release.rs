//! Releases, versions and templates that do not exist, and names that cannot be used.

use pintle::Error;

use super::names;
use super::subject::Subject;
use crate::failure::Failure;
use crate::flag::names as flags;
use crate::invocation::Invocation;
use crate::kubeconfig;
use crate::suggest::{NameOf, likeliest, question};

/// Improves a failure about a name; false if it is another one.
pub(super) fn improve(failure: &mut Failure, invocation: &mut Invocation<'_>, error: &Error) -> bool {
    match error {
        Error::NoSuchRelease { name }
        | Error::UninstallNotFound { name }
        | Error::NoDeployedReleases { name } => {
            no_release(failure, invocation, name);
        }
        Error::NameInUse { interrupted: false, kept: None } => {
            let name = invocation.operand(0).to_owned();
            let chart = invocation.flags.operands.get(1).map_or("CHART", String::as_str);
            let namespace = kubeconfig::namespace(&invocation.flags, invocation.environment);
            failure.own = Some(format!("there is a release `{name}` in namespace `{namespace}` already"));
            failure.hint = Some(format!(
                "`pintle upgrade {name} {chart}` changes it; `pintle upgrade --install` installs or upgrades, whichever is needed"
            ));
        }
        Error::BadReleaseName { name, .. } => {
            failure.own = Some(format!("`{name}` cannot be the name of a release"));
            let rule = "names have at most 53 lower case letters, digits and dashes, and begin and end with a letter or digit";
            failure.hint = Some(match valid_name(name) {
                Some(valid) => format!("{rule}: `{valid}`"),
                None => rule.to_owned(),
            });
        }
        Error::NoSuchTemplate { pattern } => no_template(failure, &Subject::of(invocation), pattern),
        Error::NoSuchVersion { number, .. } => {
            let name = invocation.operand(0);
            failure.own = Some(format!("release `{name}` has no version {number}"));
        }
        _ => return false,
    }
    true
}

fn no_release(failure: &mut Failure, invocation: &mut Invocation<'_>, name: &str) {
    let namespace = kubeconfig::namespace(&invocation.flags, invocation.environment);
    failure.own = Some(format!("there is no release `{name}` in namespace `{namespace}`"));
    let all = names::releases(invocation);
    let elsewhere: Vec<&str> =
        all.iter().filter(|release| release.name == name).map(|release| release.namespace.as_str()).collect();
    let here: Vec<&str> = all
        .iter()
        .filter(|release| release.namespace == namespace)
        .map(|release| release.name.as_str())
        .collect();
    let near = question(NameOf::Other, name, &here);
    let is_upgrade = invocation.flags.declares(flags::INSTALL);
    failure.hint = Some(match elsewhere.as_slice() {
        [other] => format!("there is one in namespace `{other}`: add `-n {other}`"),
        [first, ..] => format!("there are some in the namespaces {}: add `-n {first}`", elsewhere.join(", ")),
        [] => match near {
            Some(near) if is_upgrade => format!("{near} `--install` installs it if it does not exist"),
            Some(near) => near,
            None if is_upgrade => "`--install` installs it if it does not exist".to_owned(),
            None => names::one_of(
                "release of this namespace",
                name,
                &here,
                "`pintle list --all-namespaces` shows all releases",
            ),
        },
    });
}

/// The nearest name that is valid.
fn valid_name(name: &str) -> Option<String> {
    let letter = |letter: char| match letter.to_ascii_lowercase() {
        letter @ ('a'..='z' | '0'..='9' | '-' | '.') => letter,
        _ => '-',
    };
    let valid: String = name.chars().map(letter).take(53).collect();
    let valid = valid.trim_matches(['-', '.']);
    (!valid.is_empty()).then(|| valid.to_owned())
}

/// The template of the same name in another folder or with another end, or else of the nearest name.
fn same_stem<'k>(typed: &str, known: &[&'k str]) -> Option<&'k str> {
    let stem =
        |path: &'k str| path.rsplit('/').next().and_then(|file| file.split('.').next()).unwrap_or(path);
    let wanted = typed.rsplit('/').next().and_then(|file| file.split('.').next()).unwrap_or(typed);
    let mut same = known.iter().copied().filter(|path| stem(path) == wanted);
    if let (Some(only), None) = (same.next(), same.next()) {
        return Some(only);
    }
    let stems: Vec<&str> = known.iter().map(|path| stem(path)).collect();
    let near = likeliest(NameOf::Other, wanted, &stems)?;
    known.iter().copied().find(|path| stem(path) == near)
}

/// The template that was probably meant by `--show-only`.
fn no_template(failure: &mut Failure, subject: &Subject, pattern: &str) {
    let Some(chart) = subject.chart() else { return };
    let known: Vec<&str> =
        chart.templates.iter().map(|file| file.name.as_str()).filter(|name| !name.contains("/_")).collect();
    failure.own = Some(match known.contains(&pattern) {
        true => format!("`{pattern}` renders to nothing with these values"),
        false => format!("the chart has no template `{pattern}`"),
    });
    failure.hint = Some(match known.contains(&pattern) {
        true => "a condition in it is false; `pintle values CHART --explain` shows which values it reads"
            .to_owned(),
        false => match same_stem(pattern, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => names::one_of(
                "template",
                pattern,
                &known,
                "pass a path inside the chart, such as `templates/service.yaml`",
            ),
        },
    });
}
