//! Measures reading and writing on a file of ordinary manifests: `cargo run --release --example throughput FILE`.

#![expect(clippy::disallowed_methods, reason = "this program exists to take the time")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use pintle_tree::Node;

/// Repeats `work` for a while and returns the best time.
fn best(mut work: impl FnMut()) -> Duration {
    let begun = Instant::now();
    let mut best = Duration::MAX;
    while begun.elapsed() < Duration::from_secs(1) {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed());
    }
    best
}

#[expect(clippy::print_stdout, reason = "this program exists to print")]
fn report(what: &str, bytes: usize, time: Duration) {
    println!("{what:<12} {:>8.1} MB/s  {time:?}", bytes as f64 / 1e6 / time.as_secs_f64());
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("the path of a file with YAML documents is needed")?;
    let text = std::fs::read_to_string(path)?;
    let documents: Vec<&[u8]> = text.split("\n---\n").map(str::as_bytes).collect();
    let bytes = text.len();

    report("validate", bytes, best(|| documents.iter().for_each(|text| drop(pintle_yaml::validate(text)))));
    report(
        "read",
        bytes,
        best(|| documents.iter().for_each(|text| drop(black_box(pintle_yaml::read(text))))),
    );
    report(
        "faithful",
        bytes,
        best(|| documents.iter().for_each(|text| drop(black_box(pintle_yaml::read_faithfully(text))))),
    );
    let trees: Vec<Node> = documents.iter().filter_map(|text| pintle_yaml::read(text).ok()).collect();
    let mut out = Vec::new();
    let write = |out: &mut Vec<u8>| {
        out.clear();
        trees.iter().for_each(|tree| drop(pintle_yaml::write_to(tree, out)));
    };
    write(&mut out);
    let written = out.len();
    report("write", written, best(|| write(&mut out)));
    Ok(())
}
