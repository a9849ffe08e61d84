//! Damaged files of the embedded cluster.

use crate::support;

use std::fs;

use support::TestEnv;

/// A deterministic sequence of pseudo-random numbers.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }
}

/// Damages the file in one of several ways: bytes, part of a page, a whole page, the end, or two swapped pages.
fn damage(whole: &[u8], number: u64) -> Vec<u8> {
    const PAGE: usize = 4096;
    let mut chance = Chance(number);
    let mut bytes = whole.to_vec();
    let pages = bytes.len() / PAGE;
    match number % 6 {
        0 => {
            for _ in 0..=chance.below(8) {
                let at = chance.below(bytes.len());
                bytes[at] ^= 1 << chance.below(8);
            }
        }
        1 => {
            // Most used pages are at the beginning.
            let at = chance.below(bytes.len().min(64 * PAGE));
            bytes[at] = chance.below(256) as u8;
        }
        2 => {
            let at = chance.below(bytes.len() - 64);
            bytes[at..at + 64].fill_with(|| chance.below(256) as u8);
        }
        3 => {
            let at = chance.below(pages) * PAGE;
            let filler = [0, 0xff, chance.below(256) as u8][chance.below(3)];
            bytes[at..at + PAGE].fill(filler);
        }
        4 => bytes.truncate(chance.below(bytes.len())),
        _ => {
            let (one, other) = (chance.below(pages.min(64)) * PAGE, chance.below(pages.min(64)) * PAGE);
            bytes.copy_within(one..one + PAGE, other);
        }
    }
    bytes
}

#[test]
fn a_damaged_file_is_an_error_that_names_it_and_never_a_panic() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write(
        "web/templates/all.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {a: b}\n",
    );
    let installed = env.pintle("install first web --cluster embedded:whole.db");
    assert!(installed.contains("exit 0"), "{installed}");
    let whole = fs::read(env.path().join("whole.db")).expect("it is there");
    let (from, count) = (number("PINTLE_TEST_DAMAGE_FROM", 0), number("PINTLE_TEST_DAMAGES", 60));
    let mut refused = 0;
    for number in from..from + count {
        let file = format!("damaged-{number}.db");
        let path = env.path().join(&file);
        fs::write(&path, damage(&whole, number)).expect("it can be written");
        for command in ["list", "install second web"] {
            let shown = env.pintle(&format!("{command} --cluster embedded:{file}"));
            for word in ["internal error", "panicked", "This is a bug", "exit 101", "exit 134"] {
                assert!(!shown.contains(word), "damage {number}, {command}: {shown}");
            }
            if shown.contains("exit 0") {
                // Damage in unused pages may go unnoticed; but if the file opens, the data must be complete.
                assert!(command != "list" || shown.contains("first"), "damage {number}: {shown}");
                continue;
            }
            refused += 1;
            assert!(
                shown.contains(&file) && shown.contains("cannot "),
                "damage {number}, {command}: {shown}"
            );
        }
        fs::remove_file(&path).expect("it is ours");
    }
    assert!(refused > 0, "none of these damages is found");
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}
