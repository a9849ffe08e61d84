//! Sharding of tests that repeat a scenario for every request at which the program can be killed.

use std::env;

/// Whether to run the kill point with this number: all, unless `PINTLE_E2E_KILL_POINTS=K/N` selects every N-th.
///
/// # Panics
/// If the variable has another form.
pub fn is_selected(number: usize) -> bool {
    let Ok(shard) = env::var("PINTLE_E2E_KILL_POINTS") else { return true };
    let numbers = shard.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
    let (index, of): (usize, usize) = numbers.expect("PINTLE_E2E_KILL_POINTS is `K/N`");
    number % of == index
}
