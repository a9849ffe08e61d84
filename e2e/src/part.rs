//! Tests that do the same at a great many moments take a part of them, where they are asked to.

use std::env;

/// Whether the moment with this number is to be tried: all are, unless `PINTLE_E2E_KILL_POINTS=K/N` takes every N-th.
///
/// # Panics
/// When the variable says something else.
pub fn is_chosen(number: usize) -> bool {
    let Ok(part) = env::var("PINTLE_E2E_KILL_POINTS") else { return true };
    let numbers = part.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
    let (index, of): (usize, usize) = numbers.expect("PINTLE_E2E_KILL_POINTS is `K/N`");
    number % of == index
}
