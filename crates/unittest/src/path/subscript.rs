//! What stands between brackets after a list: an index, a slice, a union of these, or `*`.

/// A parsed subscript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subscript {
    parts: Vec<Part>,
    all: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    All,
    Index(i64),
    Slice { from: Option<i64>, to: Option<i64>, step: i64 },
}

impl Subscript {
    /// Parses the text between the brackets.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let union: Vec<&str> = text.split(',').collect();
        for (index, member) in union.iter().enumerate() {
            let part = match member.trim() {
                "*" if union.len() > 1 => Err("wildcard cannot be used in union"),
                member => part(member),
            };
            let part = part.map_err(|error| match union.len() {
                1 => error.to_owned(),
                _ => format!("error in union member {index}: {error}"),
            });
            parts.push(part?);
        }
        Ok(Subscript { parts, all: text == "*" })
    }

    /// Whether it is `*`, which also applies to maps.
    pub(super) fn is_all(&self) -> bool {
        self.all
    }

    /// The indices in a list of this length.
    pub(super) fn indices(&self, length: usize) -> Vec<usize> {
        let length = length as i64;
        let mut indices = Vec::new();
        for part in &self.parts {
            let (from, to, step) = match part {
                Part::All => (0, length, 1),
                Part::Index(at) => {
                    let at = if *at < 0 { at + length } else { *at };
                    (at, at.saturating_add(1), 1)
                }
                Part::Slice { from, to, step } => {
                    let wrap = |at: i64| if at < 0 { at + length } else { at };
                    let (first, last) = if *step > 0 { (0, length) } else { (length - 1, -1) };
                    (from.map_or(first, wrap), to.map_or(last, wrap), *step)
                }
            };
            let (mut at, to) =
                if step > 0 { (from.max(0), to.min(length)) } else { (from.min(length), to.max(-1)) };
            while (step > 0 && at < to) || (step < 0 && at > to) {
                if (0..length).contains(&at) {
                    indices.push(at as usize);
                }
                at = at.saturating_add(step);
            }
        }
        indices
    }
}

fn part(text: &str) -> Result<Part, &'static str> {
    if text == "*" {
        return Ok(Part::All);
    }
    let fields: Vec<&str> = text.split(':').map(str::trim).collect();
    if fields.len() > 3 {
        return Err("malformed array index, too many colons");
    }
    let mut numbers = [None; 3];
    for (number, field) in numbers.iter_mut().zip(&fields) {
        if !field.is_empty() {
            *number = Some(field.parse::<i64>().map_err(|_| "non-integer array index")?);
        }
    }
    if fields.len() == 1 {
        return numbers[0].map(Part::Index).ok_or("array index missing");
    }
    match numbers {
        [_, _, Some(0)] => Err("array index step value must be non-zero"),
        [from, to, step] => Ok(Part::Slice { from, to, step: step.unwrap_or(1) }),
    }
}
