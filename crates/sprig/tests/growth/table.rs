//! The table of all functions in the documentation.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::measure::{Call, Cost};
use super::{Native, arguments, is_fixed};

/// Names the file to write the table of template functions to.
pub(super) const VARIABLE: &str = "PINTLE_NATIVE_FUNCTIONS";

/// The sizes of the table, in bytes.
const SIZES: [usize; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// Names the maximum argument size, in bytes; without it, all sizes are measured.
const MAX_SIZE_VARIABLE: &str = "PINTLE_NATIVE_MOST";

/// A size is not tried when the one before took longer than this.
const MAX_TIME: Duration = Duration::from_secs(2);

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/contributing/native-functions.md");

/// The names in the table of the documentation.
pub(super) fn names() -> Vec<String> {
    let text = fs::read_to_string(DOCUMENT).expect("the table is there");
    let name = |line: &str| Some(line.strip_prefix("| `")?.split('`').next()?.to_owned());
    text.lines().filter_map(name).collect()
}

/// Measures all functions and writes their rows.
pub(super) fn write(path: &Path, natives: &[Native]) {
    let rows: Vec<String> = natives.iter().map(row).collect();
    fs::write(path, rows.join("\n") + "\n").expect("the table can be written");
}

fn row(native: &Native) -> String {
    let name = &native.name;
    if is_fixed(native) {
        return format!("| `{name}` | any | fixed | – | by the call |");
    }
    let costs: Vec<(String, Vec<Cost>)> = arguments::shapes(native)
        .iter()
        .map(|shape| (shape.describe(), series(&Call::new(native, shape))))
        .collect();
    // The worst is the one that takes longest at the largest size that all were tried at.
    let tried = costs.iter().map(|(_, series)| series.len()).min().unwrap_or(0);
    let at = |series: &[Cost]| series.get(tried.saturating_sub(1)).map_or(Duration::ZERO, |cost| cost.time);
    let Some((shape, series)) = costs.iter().max_by_key(|(_, series)| at(series)) else {
        return format!("| `{name}` | nothing | fixed | – | by the call |");
    };
    let charge = if native.metered { "by its work" } else { "by the size of its arguments and its result" };
    format!("| `{name}` | {shape} | {} | {} | {charge} |", growth(series), times(series))
}

fn series(call: &Call<'_>) -> Vec<Cost> {
    let mut series: Vec<Cost> = Vec::new();
    let most = std::env::var(MAX_SIZE_VARIABLE).ok().and_then(|most| most.parse().ok()).unwrap_or(usize::MAX);
    for size in SIZES.into_iter().filter(|size| *size <= most) {
        // Calls with very many arguments are long templates, which is not what is measured here.
        let too_many = call.shape.repeated.is_some() && size > 1_000_000;
        if too_many || series.last().is_some_and(|last| last.time > MAX_TIME || last.refused) {
            break;
        }
        series.push(call.run(size));
    }
    series
}

/// The exponent of the growth in time between the last two sizes.
fn growth(series: &[Cost]) -> String {
    let slow: Vec<f64> = series.iter().map(|cost| cost.time.as_secs_f64()).collect();
    let [.., before, last] = slow.as_slice() else { return "–".to_owned() };
    if *last < 0.001 {
        return "not noticeable".to_owned();
    }
    match (last / before.max(1e-6)).log10() {
        ..0.3 => "fixed".to_owned(),
        0.3..1.35 => "linear".to_owned(),
        power => format!("size^{power:.1}"),
    }
}

fn times(series: &[Cost]) -> String {
    let shown = |cost: &Cost| {
        if cost.refused { "limit".to_owned() } else { format!("{:.1} ms", cost.time.as_secs_f64() * 1000.0) }
    };
    series.iter().map(shown).collect::<Vec<_>>().join(", ")
}
