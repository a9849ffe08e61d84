//! Arena storage for syntax tree parts of one kind. Trees refer to their parts by index instead of owning them, so
//! that parsing takes few allocations and dropping needs no traversal.

use std::marker::PhantomData;
use std::ops::Index;

/// The index of a part.
pub(crate) struct Id<T> {
    index: u32,
    kind: PhantomData<fn() -> T>,
}

/// A range of adjacent parts.
pub(crate) struct Span<T> {
    start: u32,
    length: u32,
    kind: PhantomData<fn() -> T>,
}

// Deriving would require `T: Copy`.
impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

impl<T> Clone for Span<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Span<T> {}

impl<T> Span<T> {
    /// An empty range.
    pub(crate) const EMPTY: Self = Span { start: 0, length: 0, kind: PhantomData };

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.length == 0
    }

    #[inline]
    pub(crate) fn len(self) -> usize {
        self.length as usize
    }
}

/// All parts of one kind.
pub(crate) struct Pool<T> {
    parts: Vec<T>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool { parts: Vec::new() }
    }
}

impl<T> Pool<T> {
    /// Adds a part.
    ///
    /// Every part stands for at least a byte of a source whose offsets have 32 bits, so indices cannot overflow.
    #[inline]
    pub(crate) fn push(&mut self, part: T) -> Id<T> {
        let index = self.parts.len() as u32;
        self.parts.push(part);
        Id { index, kind: PhantomData }
    }

    /// Adds a list of one part.
    pub(crate) fn push_single(&mut self, part: T) -> Span<T> {
        Span { start: self.push(part).index, length: 1, kind: PhantomData }
    }

    /// Appends a part to a span, which must be the last one, or starts one.
    #[inline]
    pub(crate) fn extend(&mut self, span: &mut Span<T>, part: T) {
        if span.is_empty() {
            span.start = self.parts.len() as u32;
        }
        debug_assert_eq!(span.start as usize + span.len(), self.parts.len(), "nothing may come between");
        span.length += 1;
        self.parts.push(part);
    }

    /// Moves the parts from `base` on into the pool, once all of them are known.
    #[inline]
    pub(crate) fn take(&mut self, waiting: &mut Vec<T>, base: usize) -> Span<T>
    where
        T: Copy,
    {
        let start = self.parts.len() as u32;
        self.parts.extend_from_slice(&waiting[base..]);
        waiting.truncate(base);
        Span { start, length: self.parts.len() as u32 - start, kind: PhantomData }
    }

    /// Frees excess capacity.
    pub(crate) fn shrink(&mut self) {
        self.parts.shrink_to_fit();
    }
}

impl<T> Index<Id<T>> for Pool<T> {
    type Output = T;

    #[inline]
    fn index(&self, id: Id<T>) -> &T {
        &self.parts[id.index as usize]
    }
}

impl<T> Index<Span<T>> for Pool<T> {
    type Output = [T];

    #[inline]
    fn index(&self, span: Span<T>) -> &[T] {
        &self.parts[span.start as usize..][..span.length as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_wait_become_neighbours() {
        let mut pool = Pool::default();
        let mut waiting = vec!["outer"];
        waiting.extend(["a", "b"]);
        let inner = pool.take(&mut waiting, 1);
        let outer = pool.take(&mut waiting, 0);
        assert_eq!((&pool[inner], &pool[outer]), (&["a", "b"][..], &["outer"][..]));
    }

    #[test]
    fn a_span_grows_by_what_follows_it() {
        let mut pool = Pool::default();
        pool.push('x');
        let mut span = Span::EMPTY;
        pool.extend(&mut span, 'y');
        pool.extend(&mut span, 'z');
        assert_eq!(&pool[span], ['y', 'z']);
    }
}
