//! A constraint: alternatives of comparators that must all hold.

use std::fmt;
use std::str::FromStr;

use crate::comparator::{Comparator, Failure, Operator};
use crate::error::{Error, Result};
use crate::grammar::{scan_pattern, space_length};
use crate::version::Version;

/// The maximum length of a constraint, in bytes: `MaxConstraintLen` of the library.
pub const MAX_CONSTRAINT_LENGTH: usize = 512;

/// The maximum number of alternatives separated by `||`: `MaxConstraintGroups` of the library.
pub const MAX_CONSTRAINT_GROUPS: usize = 32;

/// A condition on versions such as `>=1.19-0 <2 || ^3.1`.
#[derive(Debug, Clone)]
pub struct Constraint {
    groups: Vec<Group>,
}

/// Comparators that must all hold.
#[derive(Debug, Clone)]
struct Group {
    comparators: Vec<Comparator>,
    /// Prereleases are admitted when one comparator of the group names one.
    admits_prereleases: bool,
}

impl Constraint {
    /// Parses a constraint.
    ///
    /// # Errors
    /// When the text is too long or does not have the shape of a constraint.
    pub fn parse(text: &str) -> Result<Self> {
        if text.len() > MAX_CONSTRAINT_LENGTH {
            return Err(Error::ConstraintTooLong);
        }
        // Before splitting, as in the library, which does it with a regular expression over the whole text.
        let text = rewrite_ranges(text);
        if text.matches("||").count() >= MAX_CONSTRAINT_GROUPS {
            return Err(Error::TooManyGroups);
        }
        let groups = text.split("||").map(Group::parse).collect::<Result<_>>()?;
        Ok(Self { groups })
    }

    /// Returns whether a version satisfies the constraint.
    #[must_use]
    pub fn check(&self, version: &Version) -> bool {
        let holds = |group: &Group| {
            let admits = group.admits_prereleases;
            group.comparators.iter().all(|comparator| comparator.failure(version, admits).is_none())
        };
        self.groups.iter().any(holds)
    }

    /// Returns the reasons why a version does not satisfy the constraint; none when it does.
    #[must_use]
    pub fn validate(&self, version: &Version) -> Vec<String> {
        let mut reasons = Vec::new();
        let mut prerelease_reported = false;
        for group in &self.groups {
            let mut holds = true;
            for comparator in &group.comparators {
                let Some(failure) = comparator.failure(version, group.admits_prereleases) else {
                    continue;
                };
                holds = false;
                if failure == Failure::Prerelease && std::mem::replace(&mut prerelease_reported, true) {
                    continue;
                }
                reasons.push(failure.reason(version, comparator));
            }
            if holds {
                return Vec::new();
            }
        }
        reasons
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, group) in self.groups.iter().enumerate() {
            let mut separator = if index == 0 { "" } else { " || " };
            for comparator in &group.comparators {
                write!(formatter, "{separator}{comparator}")?;
                separator = " ";
            }
        }
        Ok(())
    }
}

impl FromStr for Constraint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl Group {
    /// Reads comparators that are separated by whitespace or by one comma.
    fn parse(text: &str) -> Result<Self> {
        let improper = || Error::ImproperConstraint(text.to_owned());
        let mut tokens = Vec::new();
        let mut rest = text;
        loop {
            rest = &rest[space_length(rest)..];
            let operator = Operator::leading(rest).ok_or_else(improper)?;
            let after = &rest[operator.text().len()..];
            let after = &after[space_length(after)..];
            let (parts, length) = scan_pattern(after).ok_or_else(improper)?;
            tokens.push((operator, &after[..length], parts));
            let end = &after[length..];
            let spaces = space_length(end);
            rest = &end[spaces..];
            if rest.is_empty() {
                break;
            }
            match rest.strip_prefix(',') {
                Some(next) => rest = next,
                None if spaces > 0 => {}
                None => return Err(improper()),
            }
        }
        // The shape of the whole group is checked before any version in it, because it has the better message.
        let comparators =
            tokens.into_iter().map(|(operator, pattern, parts)| Comparator::new(operator, pattern, parts));
        let comparators = comparators.collect::<Result<Vec<_>>>()?;
        let admits_prereleases = comparators.iter().any(Comparator::names_prerelease);
        Ok(Self { comparators, admits_prereleases })
    }
}

/// Turns every `a - b` into `>= a, <= b `.
fn rewrite_ranges(text: &str) -> String {
    let mut rewritten = text.to_owned();
    let mut start = 0;
    while start < text.len() {
        if !text.is_char_boundary(start) {
            start += 1;
            continue;
        }
        match leading_range(&text[start..]) {
            Some((low, high, length)) => {
                let comparison = format!(">= {low}, <= {high} ");
                // The first occurrence of these bytes is replaced, wherever it is; equal ranges are equal anyway.
                rewritten = rewritten.replacen(&text[start..start + length], &comparison, 1);
                start += length;
            }
            None => start += 1,
        }
    }
    rewritten
}

/// Finds `a - b` at the beginning of a text: both bounds, and the length including the whitespace around it.
fn leading_range(text: &str) -> Option<(&str, &str, usize)> {
    let low_start = space_length(text);
    let (_, length) = scan_pattern(&text[low_start..])?;
    let low_end = low_start + length;
    let dash = low_end + space_length(&text[low_end..]);
    if dash == low_end || !text[dash..].starts_with('-') {
        return None;
    }
    let high_start = dash + 1 + space_length(&text[dash + 1..]);
    if high_start == dash + 1 {
        return None;
    }
    let (_, length) = scan_pattern(&text[high_start..])?;
    let high_end = high_start + length;
    let end = high_end + space_length(&text[high_end..]);
    Some((&text[low_start..low_end], &text[high_start..high_end], end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constraint(text: &str) -> Constraint {
        Constraint::parse(text).expect(text)
    }

    fn checks(text: &str, version: &str) -> bool {
        constraint(text).check(&Version::parse(version).expect(version))
    }

    #[test]
    fn display_is_canonical() {
        assert_eq!(constraint(" >= 1.2 ,<2|| 3 - 4.x").to_string(), ">=1.2 <2 || >=3 <=4.x");
    }

    #[test]
    fn partial_versions_are_ranges() {
        assert!(checks("1.2", "1.2.9") && !checks("1.2", "1.3.0"));
        assert!(checks(">1", "2.0.0") && !checks(">1", "1.9.0"));
        assert!(checks("<=1.2", "1.2.9") && !checks("!=1.2", "1.2.9"));
        assert!(checks("^0.2", "0.2.5") && !checks("^0.0.3", "0.0.4"));
    }

    #[test]
    fn prereleases_match_only_constraints_with_a_prerelease() {
        assert!(!checks(">=1.19", "1.27.3-gke.1700"));
        assert!(checks(">=1.19-0", "1.27.3-gke.1700"));
        assert!(!checks("*", "2.0.0-alpha"));
    }

    #[test]
    fn reasons_name_the_prerelease_once() {
        let version = Version::parse("1.0.0-a").expect("a version");
        let reasons = constraint(">1 <3 || 4").validate(&version);
        let expected =
            "\"1.0.0-a\" is a prerelease version and the constraint is only looking for release versions";
        assert_eq!(reasons, [expected]);
    }

    #[test]
    fn failures_have_the_texts_of_go() {
        let failure = |text: &str| Constraint::parse(text).expect_err(text).to_string();
        assert_eq!(failure(""), "improper constraint: \"\"");
        assert_eq!(failure("1 || >> 2"), "improper constraint: \" >> 2\"");
        assert_eq!(failure("1.2.3-01"), "constraint parser error");
        assert_eq!(failure(&"1 || ".repeat(40)), "too many constraint groups (max 32)");
        assert_eq!(failure(&" ".repeat(513)), "constraint string is too long (max 512 bytes)");
    }
}
