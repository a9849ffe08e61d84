//! Differences of texts, line by line, with what is equal folded.

use pintle::diff::lines::{Side, diff};
use serde_json::{Value, json};

/// The largest texts that are compared line by line: the comparison takes time for each pair of lines that differ.
const MAX_COMPARED: usize = 4 << 20;

/// What is left of the lines of a comparison.
pub(crate) struct LineBudget {
    left: usize,
    context: usize,
    pub(crate) is_exceeded: bool,
}

impl LineBudget {
    pub(crate) fn new(limit: usize, context: usize) -> LineBudget {
        LineBudget { left: limit, context, is_exceeded: false }
    }

    /// The lines that differ, with some around them; null when they would be too many.
    pub(crate) fn lines(&mut self, before: &str, after: &str) -> Value {
        if before == after {
            return json!([]);
        }
        if before.len().max(after.len()) > MAX_COMPARED || self.left == 0 {
            self.is_exceeded = true;
            return Value::Null;
        }
        // The end of the last line begins no other one.
        let text = |text: &'_ str| text.strip_suffix('\n').unwrap_or(text).as_bytes().to_vec();
        let (old, new) = (text(before), text(after));
        let (old, new) = (old.as_slice(), new.as_slice());
        let all = diff(old, new, false);
        let is_changed: Vec<bool> = all.iter().map(|line| line.side != Side::Common).collect();
        let mut shown = Vec::new();
        let mut skipped = 0_usize;
        for (index, line) in all.iter().enumerate() {
            let around = index.saturating_sub(self.context)..(index + self.context + 1).min(all.len());
            if !is_changed[around].contains(&true) {
                skipped += 1;
                continue;
            }
            if std::mem::take(&mut skipped) > 0 {
                shown.push(json!({"op": "…", "skipped": index - count(&shown)}));
            }
            let op = match line.side {
                Side::Common => "=",
                Side::Old => "-",
                Side::New => "+",
            };
            shown.push(json!({"op": op, "text": String::from_utf8_lossy(line.text(old, new))}));
        }
        if skipped > 0 {
            shown.push(json!({"op": "…", "skipped": skipped}));
        }
        if shown.len() > self.left {
            self.is_exceeded = true;
            return Value::Null;
        }
        self.left -= shown.len();
        Value::Array(shown)
    }
}

/// How many lines of the comparison the lines so far stand for.
fn count(shown: &[Value]) -> usize {
    let of = |line: &Value| line.get("skipped").and_then(Value::as_u64).unwrap_or(1);
    usize::try_from(shown.iter().map(of).sum::<u64>()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(lines: impl Iterator<Item = usize>) -> String {
        lines.map(|line| format!("line {line}\n")).collect()
    }

    #[test]
    fn equal_lines_are_folded_and_counted() {
        let (before, after) = (text(0..100), text((0..100).filter(|line| *line != 50)));
        let lines = LineBudget::new(1000, 2).lines(&before, &after);
        let ops: Vec<&str> =
            lines.as_array().expect("lines").iter().filter_map(|line| line["op"].as_str()).collect();
        assert_eq!(ops, ["…", "=", "=", "-", "=", "=", "…"]);
        assert_eq!((&lines[0]["skipped"], &lines[6]["skipped"]), (&json!(48), &json!(47)));
        assert_eq!(lines[3]["text"], "line 50");
        let twice = text((0..100).filter(|line| !matches!(line, 10 | 90)));
        let lines = LineBudget::new(1000, 0).lines(&before, &twice);
        let skipped: Vec<u64> =
            lines.as_array().expect("lines").iter().filter_map(|line| line["skipped"].as_u64()).collect();
        assert_eq!(skipped, [10, 79, 9]);
    }

    #[test]
    fn too_many_lines_are_left_out_and_said_so() {
        let mut budget = LineBudget::new(10, 3);
        assert!(budget.lines("a\n", "b\n").is_array());
        assert!(budget.lines("", &text(0..100)).is_null() && budget.is_exceeded);
        assert_eq!(budget.lines("a", "a"), json!([]));
    }
}
