//! The result table.

use std::collections::{BTreeMap, BTreeSet};

use crate::Options;

/// Prints one line; the only function of this program that prints.
#[allow(clippy::print_stdout)]
pub(crate) fn print_line(text: &str) {
    println!("{text}");
}

/// The results of one family or chart.
#[derive(Default)]
pub(crate) struct Tally {
    passed: usize,
    total: usize,
    /// The failed cases with their first difference.
    differences: BTreeMap<String, String>,
    /// Failures by group (a template function, a type of case).
    groups: BTreeMap<String, usize>,
}

impl Tally {
    /// Adds a case; `difference` is `None` if it passed.
    pub(crate) fn add(&mut self, id: &str, group: &str, difference: Option<String>) {
        self.total += 1;
        match difference {
            None => self.passed += 1,
            Some(text) => {
                self.differences.insert(id.to_owned(), text);
                if !group.is_empty() {
                    *self.groups.entry(group.to_owned()).or_default() += 1;
                }
            }
        }
    }

    /// Adds the cases of another tally.
    pub(crate) fn merge(&mut self, other: Tally) {
        self.passed += other.passed;
        self.total += other.total;
        self.differences.extend(other.differences);
        for (group, count) in other.groups {
            *self.groups.entry(group).or_default() += count;
        }
    }

    /// The pass rate in percent.
    fn percent(&self) -> f64 {
        if self.total == 0 { 100.0 } else { self.passed as f64 * 100.0 / self.total as f64 }
    }

    /// Prints the row and the first differences, and returns whether all cases pass except the listed exceptions. An exception
    /// that passes is a failure too, so that the list stays minimal.
    pub(crate) fn print(&self, name: &str, options: &Options) -> bool {
        print_line(&format!("{name} {}/{} ({:.2} %)", self.passed, self.total, self.percent()));
        let exceptions = options.exceptions.for_family(name);
        let is_new = |id: &&String| !exceptions.contains_key(id.as_str());
        let unexpected: Vec<&String> = self.differences.keys().filter(is_new).collect();
        for id in unexpected.iter().take(options.show) {
            print_line(&format!("    {id}: {}", self.differences[*id]));
        }
        if unexpected.len() > options.show {
            print_line(&format!("    … {} more{}", unexpected.len() - options.show, self.most_frequent()));
        }
        let differing: BTreeSet<&str> = self.differences.keys().map(String::as_str).collect();
        for (id, reason) in &exceptions {
            if differing.contains(id) {
                print_line(&format!("    except {id}: {reason}"));
            }
        }
        // With `--only`, unused exceptions are not reported: their cases may not have run.
        let stale = exceptions.keys().filter(|id| options.only.is_empty() && !differing.contains(*id));
        let stale: Vec<&&str> = stale.collect();
        for id in &stale {
            print_line(&format!("    {id} passes; remove it from conformance/exceptions.tsv"));
        }
        unexpected.is_empty() && stale.is_empty()
    }

    /// The groups with the most failures.
    fn most_frequent(&self) -> String {
        let mut groups: Vec<(&String, &usize)> = self.groups.iter().collect();
        groups.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
        let groups: Vec<String> =
            groups.iter().take(12).map(|(name, count)| format!("{name} {count}")).collect();
        if groups.is_empty() { String::new() } else { format!(": {}", groups.join(", ")) }
    }
}

/// Describes the first difference of two texts in one line.
pub(crate) fn first_difference(want: &[u8], got: &[u8]) -> String {
    let (mut wanted, mut gotten) = (want.split(|&byte| byte == b'\n'), got.split(|&byte| byte == b'\n'));
    let mut number = 1;
    loop {
        let (left, right) = (wanted.next(), gotten.next());
        if left != right || left.is_none() {
            return format!("line {number}: want {} got {}", show(left), show(right));
        }
        number += 1;
    }
}

fn show(text: Option<&[u8]>) -> String {
    const MAX_SHOWN: usize = 300;
    match text {
        None => "<end>".to_owned(),
        Some(text) => format!("{:?}", String::from_utf8_lossy(&text[..text.len().min(MAX_SHOWN)])),
    }
}
