//! A part of the pattern for the engine, with the measures by which Go limits patterns.

use regex_syntax::hir::{Capture, Class, ClassUnicode, Dot, Hir, Look, Repetition};

/// Go rejects trees that are higher than this (`maxHeight` in regexp/syntax).
pub(crate) const MAX_HEIGHT: u32 = 1000;

/// Go rejects programs of more than 128 MB, at 40 bytes for an instruction.
pub(crate) const MAX_SIZE: u64 = (128 << 20) / 40;

/// Go rejects repetitions that copy their innermost part more often than this.
pub(crate) const MAX_COPIES: u32 = 1000;

/// A part of the pattern with its measures.
#[derive(Debug)]
pub(crate) struct Node {
    /// The part itself.
    pub(crate) hir: Hir,
    /// Height of the tree.
    pub(crate) height: u32,
    /// Instructions of Go's program.
    pub(crate) size: u64,
    /// Estimated states of our automaton, where classes beyond ASCII cost more than one.
    pub(crate) states: u64,
    /// The most copies that nested counted repetitions make of one part.
    copies: u32,
    /// For a plain character, whether case is folded: characters of one kind form one literal.
    literal: Option<bool>,
}

/// What a repetition asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Least number of rounds.
    pub(crate) min: u32,
    /// Greatest number of rounds, if any.
    pub(crate) max: Option<u32>,
    /// Written with braces.
    pub(crate) counted: bool,
    /// As many rounds as possible rather than as few.
    pub(crate) greedy: bool,
}

impl Node {
    fn leaf(hir: Hir) -> Self {
        Self { hir, height: 1, size: 1, states: 1, copies: 1, literal: None }
    }

    /// The empty pattern.
    pub(crate) fn empty() -> Self {
        Self::leaf(Hir::empty())
    }

    /// An assertion.
    pub(crate) fn look(look: Look) -> Self {
        Self::leaf(Hir::look(look))
    }

    /// A dot.
    pub(crate) fn dot(dot: Dot) -> Self {
        Self { states: 12, ..Self::leaf(Hir::dot(dot)) }
    }

    /// One character.
    pub(crate) fn character(character: char) -> Self {
        let mut buffer = [0; 4];
        let bytes = character.encode_utf8(&mut buffer).as_bytes();
        Self { literal: Some(false), states: bytes.len() as u64, ..Self::leaf(Hir::literal(bytes)) }
    }

    /// All case variants of one character.
    pub(crate) fn folded_character(class: ClassUnicode) -> Self {
        Self { literal: Some(true), ..Self::class(class) }
    }

    /// A class of characters.
    pub(crate) fn class(class: ClassUnicode) -> Self {
        let wide = class.ranges().iter().filter(|range| !range.end().is_ascii()).count() as u64;
        Self { states: 1 + 3 * wide, ..Self::leaf(Hir::class(Class::Unicode(class))) }
    }

    /// A capturing group. Names are kept apart because Go allows a name twice.
    pub(crate) fn capture(index: u32, sub: Self) -> Self {
        let (height, size, states) = (sub.height + 1, sub.size + 2, sub.states + 2);
        let hir = Hir::capture(Capture { index, name: None, sub: Box::new(sub.hir) });
        Self { hir, height, size, states, literal: None, copies: sub.copies }
    }

    /// Parts one after the other.
    pub(crate) fn concat(mut parts: Vec<Self>) -> Self {
        match parts.len() {
            0 => return Self::empty(),
            1 => return parts.remove(0),
            _ => {}
        }
        // Go joins adjacent characters of one kind into one literal, which is not a level of its own.
        let one_literal =
            parts.windows(2).all(|pair| pair[0].literal.is_some() && pair[0].literal == pair[1].literal);
        let mut node = Self::sum(&parts);
        node.height += u32::from(!one_literal);
        node.hir = Hir::concat(parts.into_iter().map(|part| part.hir).collect());
        node
    }

    /// Parts of which one is chosen.
    pub(crate) fn alternation(mut parts: Vec<Self>) -> Self {
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let mut node = Self::sum(&parts);
        node.height += 1;
        node.size += parts.len() as u64 - 1;
        node.hir = Hir::alternation(parts.into_iter().map(|part| part.hir).collect());
        node
    }

    /// A repetition of a part, and whether it stays within the limit of copies.
    pub(crate) fn repeat(self, bounds: Bounds) -> (Self, bool) {
        let (min, max) = (u64::from(bounds.min), bounds.max.map(u64::from));
        let (size, states) = (repeated(self.size, bounds), repeated(self.states, bounds));
        let copies = match max {
            Some(0) => 1,
            _ if !bounds.counted => self.copies,
            _ => self.copies.saturating_mul(u32::try_from(max.unwrap_or(min).max(1)).unwrap_or(u32::MAX)),
        };
        // Go checks only where a repetition really copies, so `(a{1000}){1}` is fine.
        let valid = copies <= MAX_COPIES || !bounds.counted || (min < 2 && max.unwrap_or(0) < 2);
        let repetition =
            Repetition { min: bounds.min, max: bounds.max, greedy: bounds.greedy, sub: Box::new(self.hir) };
        let node = Self {
            hir: Hir::repetition(repetition),
            height: self.height + 1,
            size,
            states,
            copies,
            literal: None,
        };
        (node, valid)
    }

    fn sum(parts: &[Self]) -> Self {
        let mut node = Self { size: 0, states: 0, ..Self::empty() };
        for part in parts {
            node.height = node.height.max(part.height);
            node.size = node.size.saturating_add(part.size);
            node.states = node.states.saturating_add(part.states);
            node.copies = node.copies.max(part.copies);
        }
        node
    }
}

/// The size of a repeated part, by the way Go writes repetitions out.
fn repeated(size: u64, bounds: Bounds) -> u64 {
    let (min, max) = (u64::from(bounds.min), bounds.max.map(u64::from));
    let repeated = match max {
        None if min == 0 => size.saturating_add(2),
        None => size.saturating_mul(min).saturating_add(1),
        Some(max) => size.saturating_mul(max).saturating_add(max.saturating_sub(min)),
    };
    repeated.max(1)
}
