//! What Go knows of characters, as counts and hashes of whole sets: a test that compares one has compared all characters.
//!
//! `cargo xtask unicode --write` records them.

/// The lines of `testbed/unicode` that begin with `set` or `mapping`.
const RECORDED: &str = include_str!("unicode.txt");

/// Checks that the characters for which `contains` is true are those of the set `name` in Go.
///
/// # Panics
/// When they differ.
pub fn compare_set(name: &str, contains: impl Fn(char) -> bool) {
    let mut bounds = Vec::new();
    let mut count = 0;
    let mut inside = false;
    for code in 0..=u32::from(char::MAX) {
        let member = char::from_u32(code).is_some_and(&contains);
        count += usize::from(member);
        if member != inside {
            bounds.push(code);
            inside = member;
        }
    }
    if inside {
        bounds.push(u32::from(char::MAX) + 1);
    }
    compare("set", name, count, bounds);
}

/// The same for a set that is given as ascending ranges, first and last character.
///
/// # Panics
/// When they differ.
pub fn compare_ranges(name: &str, ranges: &[(char, char)]) {
    let mut bounds = Vec::new();
    let mut count = 0;
    for &(first, last) in ranges {
        count += (first..=last).count();
        bounds.extend([u32::from(first), u32::from(last) + 1]);
    }
    compare("set", name, count, bounds);
}

/// Checks that `map` changes the characters that Go changes, to the same ones.
///
/// # Panics
/// When they differ.
pub fn compare_mapping(name: &str, map: impl Fn(char) -> char) {
    let pairs = ('\0'..=char::MAX).map(|from| (from, map(from))).filter(|(from, to)| from != to);
    let codes: Vec<u32> = pairs.flat_map(|(from, to)| [u32::from(from), u32::from(to)]).collect();
    compare("mapping", name, codes.len() / 2, codes);
}

/// The same for sets of characters that are equal; each is given with all that it equals, itself included, ascending.
///
/// # Panics
/// When they differ.
pub fn compare_folds(folds: impl Iterator<Item = Vec<char>>) {
    let folds: Vec<Vec<char>> = folds.collect();
    compare("mapping", "fold", folds.len(), folds.concat().into_iter().map(u32::from));
}

/// The names of all recorded sets.
pub fn sets() -> impl Iterator<Item = &'static str> {
    // Names of scripts and categories have no spaces.
    RECORDED.lines().filter_map(|line| line.strip_prefix("set ")?.split(' ').next())
}

fn compare(kind: &str, name: &str, count: usize, codes: impl IntoIterator<Item = u32>) {
    let start = format!("{kind} {name} ");
    let recorded = RECORDED.lines().find_map(|line| line.strip_prefix(&start));
    let hash = codes.into_iter().flat_map(u32::to_le_bytes).fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    assert_eq!(Some(format!("{count} {hash:016x}").as_str()), recorded, "{name}: not the characters of Go");
}
