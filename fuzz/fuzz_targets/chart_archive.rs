//! Any bytes as an archive of a chart, and as the tar inside one: no path leaves the chart, and loading terminates.
#![no_main]

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    // The fuzzer would hardly find a valid checksum by itself, so the input is also wrapped in gzip.
    let mut packed = GzEncoder::new(Vec::new(), Compression::none());
    packed.write_all(bytes).expect("writing to memory cannot fail");
    read(&packed.finish().expect("writing to memory cannot fail"));
});

fn read(archive: &[u8]) {
    let Ok(files) = pintle_chart::read_archive(archive) else { return };
    for file in &files {
        let name: &str = &file.name;
        assert!(!name.starts_with('/'), "an absolute path");
        assert!(name.split('/').all(|part| part != ".."), "a path that climbs");
    }
    let mut log = Vec::new();
    if let Err(error) = pintle_chart::load_files_logged(files, &mut log) {
        assert!(!error.to_string().is_empty());
    }
}
