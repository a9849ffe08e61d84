//! The flags that `(?ims-U)` switches.

/// How the following part of the pattern is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// `i`: upper and lower case are the same.
    pub(crate) fold_case: bool,
    /// `m`: `^` and `$` match at lines.
    pub(crate) multi_line: bool,
    /// `s`: the dot matches a line feed.
    pub(crate) dot_matches_line_feed: bool,
    /// `U`: repetitions are lazy, and greedy with `?`.
    pub(crate) lazy: bool,
}

impl Flags {
    /// Switches the flag with this letter; `false` when there is none.
    pub(crate) fn switch(&mut self, letter: char, on: bool) -> bool {
        let flag = match letter {
            'i' => &mut self.fold_case,
            'm' => &mut self.multi_line,
            's' => &mut self.dot_matches_line_feed,
            'U' => &mut self.lazy,
            _ => return false,
        };
        *flag = on;
        true
    }
}
