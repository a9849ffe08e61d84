//! The automaton behind a pattern: how it is configured, built and kept within bounds.

use regex_automata::meta;
use regex_syntax::hir::Hir;

use crate::error::{Error, ErrorKind, Result};
use crate::syntax::Pattern;

/// The most memory an automaton may take, in bytes. Go's own limits allow patterns that need gigabytes here, because
/// classes beyond ASCII take many states in an automaton over bytes.
const MAX_AUTOMATON_SIZE: usize = 48 << 20;

/// The maximum number of capture group slots, summed over all states, that a search may keep.
const MAX_SLOTS: u64 = 8 << 20;

/// Trees up to this height are compiled on the stack of the caller.
const SHALLOW: u32 = 100;

/// The stack for higher trees; the height itself is bounded by the parser.
const DEEP_STACK: usize = 64 << 20;

/// Builds the automaton for a parsed pattern; `source` is only for the error.
pub(crate) fn build(pattern: &Pattern, source: &[u8]) -> Result<meta::Regex> {
    let too_large = || Error::new(ErrorKind::Large, source);
    if pattern.states.saturating_mul(pattern.names.len() as u64) > MAX_SLOTS {
        return Err(too_large());
    }
    let automaton =
        if pattern.height <= SHALLOW { compile(&pattern.hir) } else { compile_deep(&pattern.hir) };
    automaton.ok_or_else(too_large)
}

/// Templates search short texts, where building the automaton is most of the work. So there is no lazy DFA, which
/// would need a second automaton, and no literal prefilter unless the pattern is nothing but literals.
fn compile(hir: &Hir) -> Option<meta::Regex> {
    let literal = hir.properties().is_literal() || hir.properties().is_alternation_literal();
    let config = meta::Config::new()
        // Go never splits a character, not even by an empty match.
        .utf8_empty(true)
        .hybrid(false)
        .auto_prefilter(literal)
        .nfa_size_limit(Some(MAX_AUTOMATON_SIZE));
    meta::Builder::new().configure(config).build_from_hir(hir).ok()
}

/// The compiler of regex-automata recurses once per level, so high trees need a thread with a larger stack.
fn compile_deep(hir: &Hir) -> Option<meta::Regex> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(DEEP_STACK);
        builder.spawn_scoped(scope, || compile(hir)).ok()?.join().ok()?
    })
}
