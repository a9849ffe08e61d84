//! A compiled pattern and the searches with it, with Go's rules for empty matches.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::{Input, meta};

use crate::engine;
use crate::error::{Error, ErrorKind, Result};
use crate::expand::expand;
use crate::search_cost::SearchCost;
use crate::subject::Subject;
use crate::syntax::{Pattern, parse};

/// Replacing ends early once the result is longer than this: a few bytes of pattern and replacement can produce more
/// than fits in memory. Callers detect it by the length.
pub const MAX_REPLACED: usize = 64 << 20;

/// The cost of a state when a pattern is compiled, in steps.
const STEPS_PER_STATE: u64 = 16;

/// How many pattern positions, times four for their group slots, are processed per step.
const POSITIONS_PER_STEP: u64 = 64;

/// A compiled regular expression.
#[derive(Debug, Clone)]
pub struct Regex {
    automaton: meta::Regex,
    source: Vec<u8>,
    names: Vec<Option<String>>,
    positions: u64,
    states: u64,
    /// Created on first use, which is rare.
    work: OnceLock<Arc<SearchCost>>,
}

impl Regex {
    /// Compiles a pattern in Go's syntax.
    ///
    /// # Errors
    /// When the pattern is malformed or too large, with Go's text.
    pub fn compile(pattern: impl AsRef<[u8]>) -> Result<Self> {
        Self::compile_within(pattern, u64::MAX)
    }

    /// As [`Regex::compile`], for many patterns of somebody else: each may have `max_states` states.
    ///
    /// # Errors
    /// As [`Regex::compile`].
    pub fn compile_within(pattern: impl AsRef<[u8]>, max_states: u64) -> Result<Self> {
        let source = pattern.as_ref();
        let pattern = parse(source)?;
        if pattern.states > max_states {
            return Err(Error::new(ErrorKind::Large, source));
        }
        let automaton = engine::build(&pattern, source)?;
        let Pattern { names, positions, states, .. } = pattern;
        Ok(Self { automaton, source: source.to_vec(), names, positions, states, work: OnceLock::new() })
    }

    /// What compiling cost, in steps of about a tenth of a microsecond.
    #[must_use]
    pub fn compile_cost(&self) -> u64 {
        self.states.saturating_mul(STEPS_PER_STATE)
    }

    /// Returns the pattern as it was given.
    #[must_use]
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// Returns the names of the groups; the first entry stands for the whole match and has none.
    #[must_use]
    pub fn group_names(&self) -> &[Option<String>] {
        &self.names
    }

    /// Returns whether there is a match anywhere.
    #[must_use]
    pub fn is_match(&self, haystack: &[u8]) -> bool {
        self.automaton.is_match(Subject::new(haystack).text())
    }

    /// What reading so many bytes can cost, in steps of about a tenth of a microsecond. A search can be at every position
    /// of the pattern at once and tracks the groups for each, so long repetitions cost more per byte.
    #[must_use]
    pub fn cost(&self, bytes: u64) -> u64 {
        let groups = self.names.len() as u64;
        let weight = self.positions.saturating_mul(3 + groups) / POSITIONS_PER_STEP;
        (bytes / 2).saturating_add(bytes.saturating_mul(weight))
    }

    /// An estimate of the bytes read when finding all matches in a text, counted up to `most`. Most patterns read the
    /// text once, but some read all that is left at every match.
    #[must_use]
    pub fn work(&self, haystack: &[u8], most: u64) -> u64 {
        let work = self.work.get_or_init(|| {
            Arc::new(parse(&self.source).map_or(SearchCost::Unknown, |pattern| SearchCost::new(&pattern)))
        });
        work.bytes_read(&Subject::new(haystack), most)
    }

    /// Returns the leftmost match.
    #[must_use]
    pub fn find(&self, haystack: &[u8]) -> Option<Range<usize>> {
        let subject = Subject::new(haystack);
        let found = self.automaton.find(subject.text())?;
        Some(subject.range(found.range()))
    }

    /// Returns the leftmost match with its groups; the first entry is the whole match.
    #[must_use]
    pub fn captures(&self, haystack: &[u8]) -> Option<Vec<Option<Range<usize>>>> {
        let subject = Subject::new(haystack);
        let mut slots = self.slots();
        self.search_groups(&subject, 0, &mut slots)?;
        Some(self.groups(&subject, &slots))
    }

    /// Returns the matches that do not overlap, at most `limit` of them; a negative limit means all.
    #[must_use]
    pub fn find_all(&self, haystack: &[u8], limit: isize) -> Vec<Range<usize>> {
        let subject = Subject::new(haystack);
        let mut matches = Vec::new();
        self.each_match(
            &subject,
            limit,
            |at| {
                let range = self.search(&subject, at)?;
                Some((range.clone(), range))
            },
            |range| matches.push(subject.range(range)),
        );
        matches
    }

    /// Returns the matches that do not overlap with their groups, at most `limit` of them.
    #[must_use]
    pub fn captures_all(&self, haystack: &[u8], limit: isize) -> Vec<Vec<Option<Range<usize>>>> {
        let subject = Subject::new(haystack);
        let mut slots = self.slots();
        let mut matches = Vec::new();
        self.each_match(
            &subject,
            limit,
            |at| {
                let range = self.search_groups(&subject, at, &mut slots)?;
                Some((range, self.groups(&subject, &slots)))
            },
            |groups| matches.push(groups),
        );
        matches
    }

    /// Replaces every match by a template in which `$1`, `${1}` and `$name` stand for groups.
    #[must_use]
    pub fn replace_all(&self, haystack: &[u8], template: &[u8]) -> Vec<u8> {
        if !template.contains(&b'$') {
            return self.replace_all_literal(haystack, template);
        }
        let subject = Subject::new(haystack);
        let mut slots = self.slots();
        self.replace(
            &subject,
            haystack,
            |at| {
                let range = self.search_groups(&subject, at, &mut slots)?;
                Some((range, self.groups(&subject, &slots)))
            },
            |output, groups| expand(output, template, haystack, &groups, &self.names),
        )
    }

    /// Replaces every match by a text.
    #[must_use]
    pub fn replace_all_literal(&self, haystack: &[u8], replacement: &[u8]) -> Vec<u8> {
        let subject = Subject::new(haystack);
        self.replace(
            &subject,
            haystack,
            |at| Some((self.search(&subject, at)?, ())),
            |output, ()| {
                output.extend_from_slice(replacement);
            },
        )
    }

    /// Splits at the matches into at most `limit` pieces; a negative limit means all.
    #[must_use]
    pub fn split<'h>(&self, haystack: &'h [u8], limit: isize) -> Vec<&'h [u8]> {
        if limit == 0 {
            return Vec::new();
        }
        // Go tests whether the pattern itself is empty, not whether it can match the empty string.
        if !self.source.is_empty() && haystack.is_empty() {
            return vec![haystack];
        }
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut pieces = Vec::new();
        let (mut begin, mut end) = (0, 0);
        for separator in self.find_all(haystack, limit) {
            if pieces.len() >= most - 1 {
                break;
            }
            end = separator.start;
            // An empty match at the very start separates nothing.
            if separator.end != 0 {
                pieces.push(&haystack[begin..end]);
            }
            begin = separator.end;
        }
        if end != haystack.len() {
            pieces.push(&haystack[begin..]);
        }
        pieces
    }

    fn search(&self, subject: &Subject<'_>, at: usize) -> Option<Range<usize>> {
        let input = Input::new(subject.text()).range(at..);
        self.automaton.search(&input).map(|found| found.range())
    }

    fn slots(&self) -> Vec<Option<NonMaxUsize>> {
        vec![None; self.automaton.group_info().slot_len()]
    }

    fn search_groups(
        &self,
        subject: &Subject<'_>,
        at: usize,
        slots: &mut [Option<NonMaxUsize>],
    ) -> Option<Range<usize>> {
        let input = Input::new(subject.text()).range(at..);
        self.automaton.search_slots(&input, slots)?;
        Some(slots[0]?.get()..slots[1]?.get())
    }

    /// The groups of the last search. Groups that the automaton dropped, as in `(a){0}`, did not participate.
    fn groups(&self, subject: &Subject<'_>, slots: &[Option<NonMaxUsize>]) -> Vec<Option<Range<usize>>> {
        let mut groups: Vec<_> =
            slots.chunks_exact(2).map(|pair| Some(subject.range(pair[0]?.get()..pair[1]?.get()))).collect();
        groups.resize(self.names.len(), None);
        groups
    }

    /// Delivers successive matches. An empty match right after another match does not count.
    fn each_match<T>(
        &self,
        subject: &Subject<'_>,
        limit: isize,
        mut search: impl FnMut(usize) -> Option<(Range<usize>, T)>,
        mut deliver: impl FnMut(T),
    ) {
        let mut left = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut at = Some(0);
        let mut previous_end = None;
        while let Some(start) = at.filter(|_| left > 0) {
            let Some((range, found)) = search(start) else {
                break;
            };
            let mut counts = true;
            if range.end == start {
                // Go ignores an empty match right after another match: `a*` finds `aa` and not the empty text
                // behind it.
                counts = previous_end != Some(range.start);
                at = subject.after_character(start);
            } else {
                at = Some(range.end);
            }
            previous_end = Some(range.end);
            if counts {
                deliver(found);
                left -= 1;
            }
        }
    }

    /// Writes the haystack with matches replaced, stepping through it as Go does.
    fn replace<T>(
        &self,
        subject: &Subject<'_>,
        haystack: &[u8],
        mut search: impl FnMut(usize) -> Option<(Range<usize>, T)>,
        mut substitute: impl FnMut(&mut Vec<u8>, T),
    ) -> Vec<u8> {
        let mut output = Vec::with_capacity(haystack.len());
        let mut last_end = 0;
        let mut at = 0;
        while at <= subject.text().len() {
            if output.len() > MAX_REPLACED {
                return output;
            }
            let Some((range, found)) = search(at) else {
                break;
            };
            output.extend_from_slice(&haystack[subject.range(last_end..range.start)]);
            if range.end > last_end || range.start == 0 {
                substitute(&mut output, found);
            }
            last_end = range.end;
            // At least one character further, or an empty match would be found again.
            at = subject.after_character(at).unwrap_or(at + 1).max(range.end);
        }
        output.extend_from_slice(&haystack[subject.haystack_offset(last_end)..]);
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regex(pattern: &str) -> Regex {
        Regex::compile(pattern).expect(pattern)
    }

    fn failure(pattern: &str) -> String {
        Regex::compile(pattern).expect_err(pattern).to_string()
    }

    fn found(pattern: &str, haystack: &str) -> Option<String> {
        let range = regex(pattern).find(haystack.as_bytes())?;
        Some(haystack[range].to_owned())
    }

    #[test]
    fn perl_classes_are_ascii() {
        assert!(!regex(r"^\d+$").is_match("٣".as_bytes()));
        assert!(regex(r"(?i)^\w$").is_match("\u{212a}".as_bytes()));
        assert!(regex(r"a\bé").is_match("aé".as_bytes()));
    }

    #[test]
    fn syntax_of_go_is_read() {
        assert_eq!(found(r"\Qa.b\E+", "xa.bbb").as_deref(), Some("a.bbb"));
        assert_eq!(found(r"\101\x{42}[[:digit:]]", "AB7").as_deref(), Some("AB7"));
        assert_eq!(found(r"[a&&b]+", "x&ab").as_deref(), Some("&ab"));
        assert_eq!(found(r"(?U)a+", "aaa").as_deref(), Some("a"));
        assert_eq!(found(r"a{,2}", "a{,2}").as_deref(), Some("a{,2}"));
        assert_eq!(found(r"\p{greek}\pL\P{^nd}", "αb٣").as_deref(), Some("αb٣"));
    }

    #[test]
    fn failures_have_the_texts_of_go() {
        let cases = [
            ("(", "missing closing ): `(`"),
            ("a)", "unexpected ): `a)`"),
            ("[a", "missing closing ]: `[a`"),
            ("x**", "invalid nested repetition operator: `**`"),
            ("a|*", "missing argument to repetition operator: `*`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("(a{100}){11}", "invalid repeat count: `{11}`"),
            (r"\", "trailing backslash at end of expression: ``"),
            (r"\C", r"invalid escape sequence: `\C`"),
            ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
            ("(?P<a-b>c)", "invalid named capture: `(?P<a-b>`"),
            (r"\p{Alphabetic}", r"invalid character class range: `\p{Alphabetic}`"),
            ("[z-a]", "invalid character class range: `z-a`"),
        ];
        for (pattern, text) in cases {
            assert_eq!(failure(pattern), format!("error parsing regexp: {text}"));
        }
        let invalid = Regex::compile(b"a\xff").expect_err("not UTF-8");
        assert_eq!(invalid.kind, ErrorKind::InvalidUtf8);
    }

    #[test]
    fn hostile_patterns_end_in_an_error() {
        let kind = |pattern: String| Regex::compile(pattern).expect_err("a limit").kind;
        assert_eq!(kind("(".repeat(2000) + &")".repeat(2000)), ErrorKind::NestingDepth);
        assert_eq!(kind(r"(\pL{999})".repeat(200)), ErrorKind::Large);
        assert_eq!(kind("(a)".repeat(5000)), ErrorKind::Large);
        assert!(Regex::compile("(".repeat(900) + &")".repeat(900)).is_ok());
    }

    #[test]
    fn empty_matches_follow_the_rules_of_go() {
        assert_eq!(regex("a*").find_all(b"baac", -1), [0..0, 1..3, 4..4]);
        assert_eq!(regex("").find_all("é".as_bytes(), -1), [0..0, 2..2]);
        assert_eq!(regex("a*").replace_all(b"baac", b"x"), b"xbxcx");
        assert_eq!(regex("a*").split(b"abaabaccadaaae", 5), [&b""[..], b"b", b"b", b"c", b"cadaaae"]);
    }

    #[test]
    fn bytes_that_are_not_utf8_are_single_characters() {
        assert_eq!(regex("^.$").find(b"\xff"), Some(0..1));
        assert_eq!(regex("[^a]").replace_all(b"a\xe4\xb8a", b"-"), b"a--a");
        assert_eq!(regex("b").find(b"\xffb"), Some(1..2));
    }

    #[test]
    fn groups_that_cannot_take_part_are_there_but_empty() {
        assert_eq!(regex("(a){0}(b)").captures(b"b"), Some(vec![Some(0..1), None, Some(0..1)]));
        assert_eq!(regex("(?P<n>a)|(?P<n>b)").replace_all(b"ab", b"<$n>"), b"<a><b>");
    }
}
