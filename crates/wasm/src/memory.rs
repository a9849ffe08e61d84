//! The blocks of memory through which a module and its host exchange bytes. They are not part of the module's own memory.

use std::collections::BTreeMap;

/// Blocks start here, because 0 stands for none.
const START: u64 = 16;

/// Blocks begin at multiples of this.
const ALIGNMENT: u64 = 8;

/// Blocks by their offsets.
#[derive(Debug)]
pub(crate) struct Blocks {
    bytes: Vec<u8>,
    /// The lengths of blocks in use.
    used: BTreeMap<u64, u64>,
    /// The room of blocks that were freed.
    free: BTreeMap<u64, u64>,
    limit: u64,
}

fn aligned(length: u64) -> u64 {
    length.next_multiple_of(ALIGNMENT)
}

impl Blocks {
    /// No blocks yet, and at most `limit` bytes.
    pub(crate) fn new(limit: u64) -> Blocks {
        Blocks { bytes: vec![0; START as usize], used: BTreeMap::new(), free: BTreeMap::new(), limit }
    }

    /// Allocates a block and returns its offset: 0 if `length` is 0, `None` if there is no room.
    pub(crate) fn allocate(&mut self, length: u64) -> Option<u64> {
        if length == 0 {
            return Some(0);
        }
        if length > self.limit {
            return None;
        }
        let room = aligned(length);
        let fits = self.free.iter().find(|(_, free)| **free >= room).map(|(at, free)| (*at, *free));
        let at = match fits {
            Some((at, free)) => {
                self.free.remove(&at);
                if free > room {
                    self.free.insert(at + room, free - room);
                }
                self.get_mut(at, length)?.fill(0);
                at
            }
            None => {
                let at = self.bytes.len() as u64;
                if at + room > self.limit + START {
                    return None;
                }
                self.bytes.resize(usize::try_from(at + room).ok()?, 0);
                at
            }
        };
        self.used.insert(at, length);
        Some(at)
    }

    /// Makes a block with some content.
    pub(crate) fn put(&mut self, content: &[u8]) -> Option<u64> {
        let at = self.allocate(content.len() as u64)?;
        if at != 0 {
            self.get_mut(at, content.len() as u64)?.copy_from_slice(content);
        }
        Some(at)
    }

    /// Gives a block back; anything else is ignored.
    pub(crate) fn free(&mut self, at: u64) {
        if let Some(length) = self.used.remove(&at) {
            self.free.insert(at, aligned(length));
        }
    }

    /// The length of a block; 0 if there is none.
    pub(crate) fn length(&self, at: u64) -> u64 {
        self.used.get(&at).copied().unwrap_or(0)
    }

    /// The content of a block; `None` if there is none.
    pub(crate) fn block(&self, at: u64) -> Option<&[u8]> {
        self.get(at, self.length(at)).filter(|block| !block.is_empty())
    }

    /// Bytes at any offset, in a block or not.
    pub(crate) fn get(&self, at: u64, length: u64) -> Option<&[u8]> {
        let start = usize::try_from(at).ok()?;
        self.bytes.get(start..start.checked_add(usize::try_from(length).ok()?)?)
    }

    /// As [`Blocks::get`], mutable.
    pub(crate) fn get_mut(&mut self, at: u64, length: u64) -> Option<&mut [u8]> {
        let start = usize::try_from(at).ok()?;
        self.bytes.get_mut(start..start.checked_add(usize::try_from(length).ok()?)?)
    }

    /// Frees all blocks.
    pub(crate) fn clear(&mut self) {
        *self = Blocks::new(self.limit);
    }

    /// How many bytes there are.
    pub(crate) fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_reused_and_limited() {
        let mut blocks = Blocks::new(64);
        let first = blocks.put(b"hello").unwrap();
        let second = blocks.put(b"world, which is longer").unwrap();
        assert_eq!((blocks.block(first), blocks.length(second)), (Some(&b"hello"[..]), 22));
        assert_eq!(blocks.allocate(0), Some(0));
        assert_eq!(blocks.allocate(1 << 40), None);
        assert_eq!(blocks.allocate(48), None, "there is no room");
        blocks.free(second);
        blocks.free(second);
        blocks.free(12_345);
        assert_eq!(blocks.block(second), None);
        assert_eq!(blocks.put(b"short"), Some(second), "freed room is used again");
        let rest = blocks.allocate(8).unwrap();
        assert_eq!(blocks.block(rest), Some(&[0; 8][..]), "and is empty");
        assert_eq!(blocks.get(u64::MAX, 1), None);
        blocks.clear();
        assert_eq!(blocks.size(), START);
    }
}
