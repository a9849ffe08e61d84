//! How much text repeated searches read: each search may have to read to the end before it knows its match, which is
//! quadratic.
//! A chart can only cause this on purpose or by accident with long texts; the render charges for it before it
//! happens.

use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::primitives::NonMaxUsize;

use crate::subject::Subject;
use crate::syntax::Pattern;

/// The most memory that the automaton and its states may take, in bytes.
const MAX_SIZE: usize = 8 << 20;

/// Caching states pays off if so many bytes are read per state.
const BYTES_PER_STATE: usize = 16;

/// Matches no longer than this, in bytes, cannot make a search read far.
const SHORT: usize = 32;

/// An automaton that reads as far as a search does, and reports how far that is.
#[derive(Debug)]
pub(crate) enum SearchCost {
    /// Matches are short, so every search ends soon after its match begins.
    Short,
    Counted(Box<DFA>),
    /// The automaton would be too large.
    Unknown,
}

impl SearchCost {
    pub(crate) fn new(pattern: &Pattern) -> Self {
        if pattern.hir.properties().maximum_len().is_some_and(|length| length <= SHORT) {
            return SearchCost::Short;
        }
        let config = thompson::Config::new()
            .utf8(true)
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(MAX_SIZE));
        let automaton = thompson::NFA::compiler().configure(config).build_from_hir(&pattern.hir);
        // Some patterns create a new state at every byte. That costs more than what is to be counted, so it ends
        // early.
        let config = DFA::config()
            .cache_capacity(MAX_SIZE)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(0))
            .minimum_bytes_per_state(Some(BYTES_PER_STATE));
        match automaton.ok().and_then(|nfa| DFA::builder().configure(config).build_from_nfa(nfa).ok()) {
            Some(automaton) => SearchCost::Counted(Box::new(automaton)),
            None => SearchCost::Unknown,
        }
    }

    /// The bytes that successive searches for all matches read, counted up to `most`.
    pub(crate) fn bytes_read(&self, subject: &Subject<'_>, most: u64) -> u64 {
        let length = subject.text().len() as u64;
        match self {
            SearchCost::Short => length.saturating_mul(2).min(most),
            SearchCost::Counted(automaton) => {
                count(automaton, subject, most).unwrap_or_else(|| square(length, most))
            }
            SearchCost::Unknown => square(length, most),
        }
    }
}

/// The worst case, for searches whose cost is unknown.
fn square(length: u64, most: u64) -> u64 {
    length.saturating_mul(length).min(most)
}

/// Follows all searches; `None` when the automaton gives up.
fn count(automaton: &DFA, subject: &Subject<'_>, most: u64) -> Option<u64> {
    let mut cache = automaton.create_cache();
    let mut read = 0;
    let mut at = Some(0);
    while let Some(start) = at.filter(|_| read < most) {
        let Some(end) = search(automaton, &mut cache, subject.text(), start, &mut read, most)? else { break };
        at = if end.get() == start { subject.after_character(start) } else { Some(end.get()) };
    }
    Some(read.min(most))
}

/// Follows one search to its end and returns the end of its match; the outer `None` means that the automaton gave up.
fn search(
    automaton: &DFA,
    cache: &mut Cache,
    text: &str,
    start: usize,
    read: &mut u64,
    most: u64,
) -> Option<Option<NonMaxUsize>> {
    let input = Input::new(text).range(start..);
    let mut state = automaton.start_state_forward(cache, &input).ok()?;
    let mut end = None;
    for (index, byte) in text.as_bytes().iter().enumerate().skip(start) {
        state = automaton.next_state(cache, state, *byte).ok()?;
        *read += 1;
        if state.is_match() {
            // The automaton reports a match one byte late.
            end = NonMaxUsize::new(index);
        } else if state.is_dead() || *read >= most {
            return Some(end);
        } else if state.is_quit() {
            return None;
        }
    }
    state = automaton.next_eoi_state(cache, state).ok()?;
    Some(if state.is_match() { NonMaxUsize::new(text.len()) } else { end })
}

#[cfg(test)]
mod tests {
    use crate::Regex;

    #[test]
    fn searches_that_read_to_the_end_are_recognised() {
        let text = b"a".repeat(3000);
        let work = |pattern: &str| Regex::compile(pattern).expect("a good pattern").work(&text, u64::MAX);
        assert!(work("a.*b|a") > 3000 * 3000 / 2);
        assert!(work("a+") < 2 * 3000 + 10);
        assert!(work("a") < 2 * 3000 + 10);
        assert!(work("") < 2 * 3000 + 10);
        assert!(work("(?s)a.*?a") < 2 * 3000 + 10);
        assert_eq!(Regex::compile("a.*b|a").expect("a good pattern").work(&text, 1000), 1000);
    }
}
