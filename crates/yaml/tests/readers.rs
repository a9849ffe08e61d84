//! The fast reader must read what it reads exactly as the faithful one. Compared on the recorded texts, on mutations of
//! them and on the values files and definitions of real charts, where those are present.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "all of this is a test")]

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use crate::texts;

use texts::{ORDINARY, Random, golden_texts, mutate};

/// Compares the readers. Returns whether the fast one did not give up.
fn compare(text: &[u8]) -> bool {
    let valid = pintle_yaml::validate(text);
    let faithful = pintle_yaml::read_faithfully(text);
    let shown = || String::from_utf8_lossy(text).into_owned();
    assert_eq!(valid.is_ok(), faithful.is_ok(), "validating {:?}", shown());
    match pintle_yaml::read_fast(text) {
        None => false,
        Some(tree) => {
            assert_eq!(Ok(tree), faithful, "reading {:?}", shown());
            true
        }
    }
}

fn on_a_large_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(64 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn readers_agree_on_recorded_texts_and_their_mutations() {
    on_a_large_stack(|| {
        let mut texts: Vec<Vec<u8>> = ORDINARY.iter().map(|text| text.as_bytes().to_vec()).collect();
        for _ in 0..6 {
            texts.extend_from_within(..ORDINARY.len());
        }
        texts.extend(golden_texts());
        let rounds = std::env::var("PINTLE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(20);
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let (mut fast, mut all) = (0, 0);
        for text in &texts {
            fast += usize::from(compare(text));
            all += 1;
            for _ in 0..rounds {
                fast += usize::from(compare(&mutate(text, &mut random)));
                all += 1;
            }
        }
        println!("{fast} of {all} texts were read by the fast reader");
        assert!(fast > 0);
    });
}

#[test]
fn ordinary_text_is_read_by_the_fast_reader() {
    for text in ORDINARY.iter().filter(|text| !text.contains("? x")) {
        assert!(compare(text.as_bytes()), "{text}");
    }
}

#[test]
fn readers_agree_on_the_files_of_charts() {
    let Some(charts) = pintle_testkit::corpus("charts") else { return };
    let charts = std::fs::read_dir(charts).unwrap();
    let (mut fast, mut all, mut bytes) = (0, 0, 0);
    let every = if cfg!(debug_assertions) { 8 } else { 1 };
    let mut paths: Vec<PathBuf> = charts.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "tgz"));
    paths.sort();
    for path in paths.iter().step_by(every) {
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(File::open(path).unwrap()));
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().to_string_lossy().into_owned();
            let yaml = name.ends_with(".yaml") || name.ends_with(".yml");
            if !yaml || name.contains("/templates/") {
                continue;
            }
            let mut text = Vec::new();
            entry.read_to_end(&mut text).unwrap();
            all += 1;
            bytes += text.len();
            if compare(&text) {
                fast += 1;
            } else if std::env::var_os("PINTLE_VERBOSE").is_some() {
                println!("not fast: {} {name}", path.display());
            }
        }
    }
    println!("{fast} of {all} files ({bytes} bytes) were read by the fast reader");
    assert!(fast * 10 > all * 8);
}
