//! Which version of a chart is meant.

use pintle_semver::{Constraint, Version};
use pintle_tree::{LogLevel, LogLine};

use super::catalog::VersionHead;

/// The outcome of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The position of the version.
    pub at: usize,
    /// What there is to say about the choice.
    pub log: Option<LogLine>,
}

/// A version with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The version of the chart.
    pub version: String,
    /// The rest.
    pub detail: super::Detail,
    /// What there is to say about the choice.
    pub log: Option<LogLine>,
}

/// Chooses among versions that are sorted, the newest first: the one that is named, else the newest that fits.
///
/// # Errors
/// A text that is no constraint, and when nothing fits.
pub(super) fn choose(name: &str, versions: &[VersionHead], wanted: &str) -> Result<Chosen, String> {
    if versions.is_empty() {
        return Err("no chart version found".to_owned());
    }
    let constraint = Constraint::parse(if wanted.is_empty() { "*" } else { wanted });
    let constraint = constraint.map_err(|error| error.to_string())?;
    if !wanted.is_empty()
        && let Some(at) = versions.iter().position(|head| head.version == wanted)
    {
        return Ok(Chosen { at, log: None });
    }
    let fits = |head: &VersionHead| Version::parse(&head.version).is_ok_and(|found| constraint.check(&found));
    let Some(at) = versions.iter().position(fits) else {
        return Err(format!("no chart version found for {name}-{wanted}"));
    };
    Ok(Chosen { at, log: (!wanted.is_empty()).then(|| remark(name, wanted, &versions[at].version)) })
}

/// What Helm logs about a version that is not the one that was named.
fn remark(name: &str, wanted: &str, selected: &str) -> LogLine {
    let (level, message, asked) = match is_range(wanted) {
        true => (LogLevel::Debug, "selected version matching constraint", "constraint"),
        false => (
            LogLevel::Warn,
            "unable to find exact version requested; falling back to closest available version",
            "requested",
        ),
    };
    let attributes =
        vec![("chart", name.to_owned()), (asked, wanted.to_owned()), ("selected", selected.to_owned())];
    LogLine { level, message: message.into(), attributes }
}

/// Whether a version looks like a range; only its characters are examined.
fn is_range(version: &str) -> bool {
    if version.contains(['^', '~', '<', '>', '=', '!', '*'])
        || version.contains("||")
        || version.contains(" - ")
    {
        return true;
    }
    let core = &version[..version.find(['-', '+']).unwrap_or(version.len())];
    core.contains(['x', 'X'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(versions: &[&str]) -> Vec<VersionHead> {
        let head = |version: &&str| VersionHead { version: (*version).to_owned(), ..VersionHead::default() };
        versions.iter().map(head).collect()
    }

    fn pick(versions: &[&str], wanted: &str) -> String {
        match choose("c", &heads(versions), wanted) {
            Ok(chosen) => {
                let mark = match chosen.log.map(|line| line.level) {
                    Some(LogLevel::Warn) => "!",
                    Some(_) => "?",
                    None => "",
                };
                format!("{}{mark}", versions[chosen.at])
            }
            Err(error) => error,
        }
    }

    #[test]
    fn the_newest_that_fits_is_chosen_and_an_exact_text_wins() {
        let all = ["2.0.0-rc1", "1.2.0", "1.1.0+b", "1.1.0+a", "1.0.0"];
        assert_eq!(pick(&all, ""), "1.2.0");
        assert_eq!(pick(&all, "1.1.0+a"), "1.1.0+a");
        assert_eq!(pick(&all, "^1.0.0, <1.2"), "1.1.0+b?");
        assert_eq!(pick(&all, "1"), "1.2.0!");
        assert_eq!(pick(&all, "1.x"), "1.2.0?");
        assert_eq!(pick(&all, ">0.0.0-0"), "2.0.0-rc1?");
        assert_eq!(pick(&all, "3.0.0"), "no chart version found for c-3.0.0");
        assert_eq!(pick(&["1.0.0-a"], ""), "no chart version found for c-");
        assert_eq!(pick(&[], ""), "no chart version found");
        assert_eq!(pick(&all, "x y"), "improper constraint: \"x y\"");
    }
}
