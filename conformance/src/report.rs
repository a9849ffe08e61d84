//! The table that a run prints.

use std::collections::BTreeMap;

use crate::Options;

/// Prints one line. The only place of this program that prints.
#[allow(clippy::print_stdout)]
pub(crate) fn line(text: &str) {
    println!("{text}");
}

/// The outcome of the cases of one family or chart.
#[derive(Default)]
pub(crate) struct Tally {
    passed: usize,
    total: usize,
    differences: Vec<String>,
    /// Sub-headings (a function of the library, a kind of case) with their failures.
    groups: BTreeMap<String, usize>,
}

impl Tally {
    /// Counts one case; `difference` says what differs, if anything.
    pub(crate) fn add(&mut self, id: &str, group: &str, difference: Option<String>) {
        self.total += 1;
        match difference {
            None => self.passed += 1,
            Some(text) => {
                self.differences.push(format!("{id}: {text}"));
                if !group.is_empty() {
                    *self.groups.entry(group.to_owned()).or_default() += 1;
                }
            }
        }
    }

    /// Counts in the cases of another tally.
    pub(crate) fn merge(&mut self, other: Tally) {
        self.passed += other.passed;
        self.total += other.total;
        self.differences.extend(other.differences);
        for (group, count) in other.groups {
            *self.groups.entry(group).or_default() += count;
        }
    }

    /// The share that passed, in percent.
    fn percent(&self) -> f64 {
        if self.total == 0 { 100.0 } else { self.passed as f64 * 100.0 / self.total as f64 }
    }

    /// Prints the line of the table with the first differences, and tells whether enough passed.
    pub(crate) fn print(&self, name: &str, options: &Options) -> bool {
        line(&format!("{name} {}/{} ({:.2} %)", self.passed, self.total, self.percent()));
        for difference in self.differences.iter().take(options.show) {
            line(&format!("    {difference}"));
        }
        if self.differences.len() > options.show {
            let mut groups: Vec<(&String, &usize)> = self.groups.iter().collect();
            groups.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
            let groups: Vec<String> =
                groups.iter().take(12).map(|(name, count)| format!("{name} {count}")).collect();
            let groups = if groups.is_empty() { String::new() } else { format!(": {}", groups.join(", ")) };
            line(&format!("    … {} more{groups}", self.differences.len() - options.show));
        }
        self.percent() >= options.least
    }
}

/// Says where two texts first differ, in one line.
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
    const MOST: usize = 300;
    match text {
        None => "<end>".to_owned(),
        Some(text) => format!("{:?}", String::from_utf8_lossy(&text[..text.len().min(MOST)])),
    }
}
