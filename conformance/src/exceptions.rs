//! The cases that may differ from Helm, each with a reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// The reason for each case that differs, by family.
#[derive(Default)]
pub(crate) struct Exceptions(BTreeMap<String, BTreeMap<String, String>>);

impl Exceptions {
    /// Reads a file of lines `family<TAB>case<TAB>reason`; those that begin with `#` are comments.
    pub(crate) fn read(path: &Path) -> Result<Exceptions> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Exceptions::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Exceptions> {
        let mut exceptions = Exceptions::default();
        for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            let [family, case, reason] = line.split('\t').collect::<Vec<_>>()[..] else {
                bail!("a line is not `family<TAB>case<TAB>reason`: {line}");
            };
            let family = exceptions.0.entry(family.to_owned()).or_default();
            family.insert(case.to_owned(), reason.to_owned());
        }
        Ok(exceptions)
    }

    /// The exceptions of a family, as case and reason.
    pub(crate) fn for_family(&self, family: &str) -> BTreeMap<&str, &str> {
        let cases = self.0.get(family).into_iter().flatten();
        cases.map(|(case, reason)| (case.as_str(), reason.as_str())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_exception_has_a_reason() {
        let exceptions = Exceptions::parse("# comment\ntemplate\tt-1\tno network\n").unwrap();
        assert_eq!(exceptions.for_family("template"), BTreeMap::from([("t-1", "no network")]));
        assert!(exceptions.for_family("sprig").is_empty());
        assert!(Exceptions::parse("template\tt-1\n").is_err());
    }
}
