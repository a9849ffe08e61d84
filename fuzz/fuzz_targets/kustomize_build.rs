//! Files of a small repository, separated by lines of `-- PATH --`, built as a kustomization: an error or objects, in bounded
//! time, and only paths inside of the repository are asked for.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use pintle_kustomize::{Entry, Files, Limits, LoadRestrictions, MemoryFiles, Options, build};

/// Files that check what they are asked for.
struct Checked(MemoryFiles);

fn check(path: &str) {
    let clean = path.is_empty() || path.split('/').all(|name| !matches!(name, "" | "." | ".."));
    assert!(clean, "{path} is asked for");
}

impl Files for Checked {
    fn read(&self, path: &str) -> Result<Option<Arc<[u8]>>, String> {
        check(path);
        self.0.read(path)
    }

    fn list(&self, folder: &str) -> Result<Option<Vec<Entry>>, String> {
        check(folder);
        self.0.list(folder)
    }
}

fuzz_target!(|text: &str| {
    let mut files: Vec<(String, String)> = vec![("kustomization.yaml".to_owned(), String::new())];
    for line in text.split_inclusive('\n') {
        match line.trim_end().strip_prefix("-- ").and_then(|line| line.strip_suffix(" --")) {
            Some(path) => files.push((path.to_owned(), String::new())),
            None => files.last_mut().expect("there is a first file").1.push_str(line),
        }
    }
    let files = Checked(files.into_iter().collect());
    let limits = Limits { depth: 10, kustomizations: 50, objects: 500, work: 50_000, ..Limits::default() };
    let options = Options { load_restrictions: LoadRestrictions::None, limits, ..Options::default() };
    if let Ok(built) = build(&files, "", &options) {
        for object in &built.objects {
            for change in &object.changes {
                object.origin_of(&change.path);
            }
        }
        let _ = built.to_yaml();
    }
});
