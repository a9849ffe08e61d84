//! One comparator such as `>=1.2`: the operators and what each of them means for partial versions.

use std::cmp::Ordering;
use std::fmt;

use crate::error::{Error, Result};
use crate::grammar::Parts;
use crate::version::{Version, compare_prerelease};

/// How a version is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal(&'static str),
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual(&'static str),
    LessOrEqual(&'static str),
    Tilde(&'static str),
    Caret,
}

/// Which parts of a comparator's version are missing or wildcards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// None: the version is complete.
    Nothing,
    /// The third number.
    Patch,
    /// The second and third number.
    Minor,
    /// All of them.
    Everything,
}

/// An operator with the version it compares to.
#[derive(Debug, Clone)]
pub(crate) struct Comparator {
    operator: Operator,
    /// The version as it was written.
    pattern: String,
    /// The version with zeros for the missing and wildcard parts.
    bound: Version,
    open: Open,
}

/// Why a version does not satisfy a comparator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    Prerelease,
    IsEqual,
    IsNotEqual,
    IsLess,
    IsLessOrEqual,
    IsGreater,
    IsGreaterOrEqual,
    OtherMajor,
    OtherMajorOrMinor,
    OtherMinor,
    OtherMinorUnderZero,
    OtherPatchUnderZero,
}

impl Operator {
    /// Parses the operator at the start of a text; a missing one means `=`. `None` if it is not a known operator.
    pub(crate) fn leading(text: &str) -> Option<Self> {
        let length = text.bytes().take_while(|byte| b"=!<>~^".contains(byte)).count();
        Some(match &text[..length] {
            "" => Self::Equal(""),
            "=" => Self::Equal("="),
            "!=" => Self::NotEqual,
            ">" => Self::Greater,
            "<" => Self::Less,
            ">=" => Self::GreaterOrEqual(">="),
            "=>" => Self::GreaterOrEqual("=>"),
            "<=" => Self::LessOrEqual("<="),
            "=<" => Self::LessOrEqual("=<"),
            "~" => Self::Tilde("~"),
            "~>" => Self::Tilde("~>"),
            "^" => Self::Caret,
            _ => return None,
        })
    }

    /// Returns the spelling that was read.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Equal(text) | Self::GreaterOrEqual(text) | Self::LessOrEqual(text) | Self::Tilde(text) => {
                text
            }
            Self::NotEqual => "!=",
            Self::Greater => ">",
            Self::Less => "<",
            Self::Caret => "^",
        }
    }
}

impl Comparator {
    /// Creates a comparator of an operator and a version pattern with its parts.
    pub(crate) fn new(operator: Operator, pattern: &str, parts: Parts<'_>) -> Result<Self> {
        let suffix = if parts.pre.is_empty() { String::new() } else { format!("-{}", parts.pre) };
        let (open, closed) = if is_open(parts.major) {
            (Open::Everything, format!("0.0.0{suffix}"))
        } else if is_open(parts.minor) {
            (Open::Minor, format!("{}.0.0{suffix}", parts.major))
        } else if is_open(parts.patch) {
            (Open::Patch, format!("{}.{}.0{suffix}", parts.major, parts.minor))
        } else {
            (Open::Nothing, pattern.to_owned())
        };
        let bound = Version::parse(&closed).map_err(|_| Error::ConstraintParser)?;
        Ok(Self { operator, pattern: pattern.to_owned(), bound, open })
    }

    /// Returns whether the comparator itself names a prerelease.
    pub(crate) fn names_prerelease(&self) -> bool {
        self.bound.is_prerelease()
    }

    /// Returns why a version does not pass, or `None` when it does.
    pub(crate) fn failure(&self, version: &Version, admits_prereleases: bool) -> Option<Failure> {
        // The rule that surprises most: `>=1.0.0` does not match `2.0.0-beta`, while `>=1.0.0-0` does. Helm
        // users write `-0` for it.
        if version.is_prerelease() && !admits_prereleases {
            return Some(Failure::Prerelease);
        }
        let passes = |holds: bool, failure| (!holds).then_some(failure);
        let order = version.compare(&self.bound);
        match self.operator {
            Operator::Equal(_) if self.open == Open::Nothing => passes(order.is_eq(), Failure::IsNotEqual),
            // `=1.2` and `1.2.x` mean `~1.2`, because parts are open.
            Operator::Equal(_) | Operator::Tilde(_) => self.tilde_failure(version, order),
            Operator::NotEqual => passes(self.differs(version, order), Failure::IsEqual),
            Operator::Greater => passes(self.exceeded_by(version, order), Failure::IsLessOrEqual),
            Operator::Less => passes(order.is_lt(), Failure::IsGreaterOrEqual),
            Operator::GreaterOrEqual(_) => passes(order.is_ge(), Failure::IsLess),
            Operator::LessOrEqual(_) => passes(self.reaches(version, order), Failure::IsGreater),
            Operator::Caret => self.caret_failure(version, order),
        }
    }

    /// `!=`: open parts do not count.
    fn differs(&self, version: &Version, order: Ordering) -> bool {
        if self.open != Open::Nothing && version.major != self.bound.major {
            return true;
        }
        match self.open {
            Open::Minor => false,
            Open::Patch if version.minor != self.bound.minor => true,
            Open::Patch => compare_prerelease(&version.pre, &self.bound.pre).is_ne(),
            Open::Nothing | Open::Everything => order.is_ne(),
        }
    }

    /// `>`: a partial bound is exceeded only beyond everything it covers.
    fn exceeded_by(&self, version: &Version, order: Ordering) -> bool {
        match self.open {
            Open::Nothing => order.is_gt(),
            _ if version.major != self.bound.major => version.major > self.bound.major,
            Open::Minor => false,
            Open::Patch => version.minor > self.bound.minor,
            Open::Everything => order.is_gt(),
        }
    }

    /// `<=`: a partial bound reaches to the end of everything it covers.
    ///
    /// With an open patch or a lone `*` only the first two numbers are compared.
    fn reaches(&self, version: &Version, order: Ordering) -> bool {
        match self.open {
            Open::Nothing => order.is_le(),
            Open::Minor => version.major <= self.bound.major,
            Open::Patch | Open::Everything => {
                (version.major, version.minor) <= (self.bound.major, self.bound.minor)
            }
        }
    }

    /// `~`, and `=` with open parts: the closed parts must be equal.
    fn tilde_failure(&self, version: &Version, order: Ordering) -> Option<Failure> {
        if order.is_lt() {
            return Some(Failure::IsLess);
        }
        let bound = &self.bound;
        let closed_minor = self.open != Open::Minor;
        // `~0.0.0` and `*` accept any version.
        if (bound.major, bound.minor, bound.patch) == (0, 0, 0) && closed_minor && self.open != Open::Patch {
            None
        } else if version.major != bound.major {
            Some(Failure::OtherMajor)
        } else if version.minor != bound.minor && closed_minor {
            Some(Failure::OtherMajorOrMinor)
        } else {
            None
        }
    }

    /// `^`: the first non-zero part must be equal.
    fn caret_failure(&self, version: &Version, order: Ordering) -> Option<Failure> {
        let bound = &self.bound;
        if order.is_lt() {
            Some(Failure::IsLess)
        } else if version.major != bound.major {
            Some(Failure::OtherMajor)
        } else if bound.major > 0 || self.open == Open::Minor {
            None
        } else if bound.minor > 0 || self.open == Open::Patch {
            (version.minor != bound.minor).then_some(Failure::OtherMinorUnderZero)
        } else if version.minor > 0 {
            Some(Failure::OtherMinor)
        } else {
            (version.patch != bound.patch).then_some(Failure::OtherPatchUnderZero)
        }
    }
}

impl fmt::Display for Comparator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}", self.operator.text(), self.pattern)
    }
}

impl Failure {
    /// Returns the message of the Go library for the failure.
    pub(crate) fn reason(self, version: &Version, comparator: &Comparator) -> String {
        // Both texts passed the grammar, so they need no escapes.
        let (text, pattern) = (version, &comparator.pattern);
        match self {
            Self::Prerelease => {
                format!(
                    "\"{text}\" is a prerelease version and the constraint is only looking for release versions"
                )
            }
            Self::IsEqual => format!("\"{text}\" is equal to \"{pattern}\""),
            Self::IsNotEqual => format!("\"{text}\" is not equal to \"{pattern}\""),
            Self::IsLess => format!("\"{text}\" is less than \"{pattern}\""),
            Self::IsLessOrEqual => format!("\"{text}\" is less than or equal to \"{pattern}\""),
            Self::IsGreater => format!("\"{text}\" is greater than \"{pattern}\""),
            Self::IsGreaterOrEqual => format!("\"{text}\" is greater than or equal to \"{pattern}\""),
            Self::OtherMajor => format!("\"{text}\" does not have same major version as \"{pattern}\""),
            Self::OtherMajorOrMinor => {
                format!("\"{text}\" does not have same major and minor version as \"{pattern}\"")
            }
            Self::OtherMinor => format!("\"{text}\" does not have same minor version as \"{pattern}\""),
            Self::OtherMinorUnderZero => format!(
                "\"{text}\" does not have same minor version as \"{pattern}\". Expected minor versions to match when constraint major version is 0"
            ),
            Self::OtherPatchUnderZero => format!(
                "\"{text}\" does not equal \"{pattern}\". Expect version and constraint to equal when major and minor versions are 0"
            ),
        }
    }
}

fn is_open(number: &str) -> bool {
    matches!(number, "" | "x" | "X" | "*")
}
