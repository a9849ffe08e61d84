//! Random mutations of text, the same ones in every run.

/// A pseudo-random number generator (xorshift64) with a seed other than 0, so that failures are reproducible.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    /// A number from 0 to one less than `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Mutates a text in a few places: removes or repeats a part, truncates it, or inserts one of `pieces`.
pub fn mutate(text: &[u8], pieces: &[&str], random: &mut Random) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(text.len() + 1);
        let length = random.below(5).min(text.len() - at);
        match random.below(5) {
            0 => drop(text.drain(at..at + length)),
            1 if random.below(4) == 0 => text.truncate(at),
            2 => {
                let from = random.below(text.len() + 1);
                let piece = text[from..text.len().min(from + random.below(20))].to_vec();
                drop(text.splice(at..at, piece));
            }
            3 => drop(text.splice(at..at + length, pieces[random.below(pieces.len())].bytes())),
            _ => drop(text.splice(at..at, pieces[random.below(pieces.len())].bytes())),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_beginning_makes_the_same_mistakes() {
        let made = |seed: u64| {
            let mut random = Random(seed);
            (0..20).map(|_| mutate(b"a: 1\n", &["-", ": "], &mut random)).collect::<Vec<_>>()
        };
        assert_eq!(made(7), made(7));
        assert_ne!(made(7), made(8));
    }
}
