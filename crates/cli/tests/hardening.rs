//! Checks how the program is linked, by the ELF headers of the file itself, whatever built it.

#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64", target_endian = "little"))]

/// A 64-bit ELF file.
struct Elf(Vec<u8>);

/// A program header.
struct Segment {
    kind: u32,
    flags: u32,
    offset: usize,
    size: usize,
}

const DYNAMIC: u32 = 2;
const STACK: u32 = 0x6474_e551;
const RELRO: u32 = 0x6474_e552;
const EXECUTE: u32 = 1;
const WRITE: u32 = 2;

impl Elf {
    fn number(&self, at: usize, length: usize) -> u64 {
        self.0[at..at + length].iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))
    }

    fn segments(&self) -> Vec<Segment> {
        let (table, size, count) = (self.number(32, 8), self.number(54, 2), self.number(56, 2));
        let segment = |index: u64| {
            let at = (table + index * size) as usize;
            Segment {
                kind: self.number(at, 4) as u32,
                flags: self.number(at + 4, 4) as u32,
                offset: self.number(at + 8, 8) as usize,
                size: self.number(at + 32, 8) as usize,
            }
        };
        (0..count).map(segment).collect()
    }

    /// The value of a tag of the dynamic section.
    fn printed(&self, tag: u64) -> Option<u64> {
        let part = self.segments().into_iter().find(|segment| segment.kind == DYNAMIC)?;
        let mut entries = (part.offset..part.offset + part.size).step_by(16);
        entries.find(|at| self.number(*at, 8) == tag).map(|at| self.number(at + 8, 8))
    }
}

#[test]
fn the_program_is_position_independent_and_what_the_loader_writes_is_read_only() {
    let elf = Elf(std::fs::read(env!("CARGO_BIN_EXE_pintle")).expect("it was built"));
    assert_eq!((&elf.0[..4], elf.0[4]), (&b"\x7fELF"[..], 2));
    let (flags, flags_1) =
        (elf.printed(30).unwrap_or_default(), elf.printed(0x6fff_fffb).unwrap_or_default());
    assert_eq!(elf.number(16, 2), 3, "it is linked at a fixed address");
    assert_ne!(flags_1 & 0x0800_0000, 0, "it is no position-independent program");
    assert!(flags & 8 != 0 || flags_1 & 1 != 0, "functions are bound while it runs");
    assert!(elf.printed(22).is_none() && flags & 4 == 0, "code is written to when it is loaded");
    let segments = elf.segments();
    assert!(segments.iter().any(|segment| segment.kind == RELRO), "tables of the loader stay writable");
    let stack = segments.iter().find(|segment| segment.kind == STACK).expect("nothing is said of the stack");
    assert_eq!(stack.flags & EXECUTE, 0, "the stack is executable");
    for segment in &segments {
        assert_ne!(segment.flags & (WRITE | EXECUTE), WRITE | EXECUTE, "memory is writable and executable");
    }
}
