//! How much text a pattern reads when it is searched for again and again: each search may have to look at everything
//! up to the end before it knows its match, which is the square of the text.

use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::primitives::NonMaxUsize;

use crate::subject::Subject;
use crate::syntax::Pattern;

/// The most memory that the automaton and its states may take, in bytes.
const MAX_SIZE: usize = 8 << 20;

/// States are worth keeping if so many bytes are read with each.
const BYTES_PER_STATE: usize = 16;

/// Matches no longer than this, in bytes, cannot make a search read far.
const SHORT: usize = 32;

/// An automaton that reads as far as a search does, and tells how far that is.
#[derive(Debug)]
pub(crate) enum Work {
    /// Matches are short, so every search ends soon after its match begins.
    Short,
    Counted(Box<DFA>),
    /// The automaton would be too large.
    Unknown,
}

impl Work {
    pub(crate) fn new(pattern: &Pattern) -> Self {
        if pattern.hir.properties().maximum_len().is_some_and(|length| length <= SHORT) {
            return Work::Short;
        }
        let config = thompson::Config::new()
            .utf8(true)
            .which_captures(WhichCaptures::None)
            .nfa_size_limit(Some(MAX_SIZE));
        let automaton = thompson::NFA::compiler().configure(config).build_from_hir(&pattern.hir);
        // Some patterns have a new state at every byte. Making those costs more than what is to be counted, so it ends
        // early.
        let config = DFA::config()
            .cache_capacity(MAX_SIZE)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(0))
            .minimum_bytes_per_state(Some(BYTES_PER_STATE));
        match automaton.ok().and_then(|nfa| DFA::builder().configure(config).build_from_nfa(nfa).ok()) {
            Some(automaton) => Work::Counted(Box::new(automaton)),
            None => Work::Unknown,
        }
    }

    /// The bytes that successive searches for all matches read, counted up to `most`.
    pub(crate) fn of(&self, subject: &Subject<'_>, most: u64) -> u64 {
        let length = subject.text().len() as u64;
        match self {
            Work::Short => length.saturating_mul(2).min(most),
            Work::Counted(automaton) => {
                count(automaton, subject, most).unwrap_or_else(|| square(length, most))
            }
            Work::Unknown => square(length, most),
        }
    }
}

/// What searches read that nothing is known of.
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

/// Follows one search to its end and gives the end of its match; the outer `None` means that it gave up.
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
    for (place, byte) in text.as_bytes().iter().enumerate().skip(start) {
        state = automaton.next_state(cache, state, *byte).ok()?;
        *read += 1;
        if state.is_match() {
            // The automaton tells a match one byte late.
            end = NonMaxUsize::new(place);
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
    fn searches_that_read_on_are_told_from_those_that_do_not() {
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
