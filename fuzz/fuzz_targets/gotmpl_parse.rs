//! Any text as a template: parsing ends, with templates or an error that prints.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use pintle_gotmpl::{Functions, Set};
use pintle_tree::Str;

thread_local! {
    static FUNCTIONS: Arc<Functions> = {
        let mut functions = Functions::new();
        pintle_sprig::functions().into_iter().for_each(|function| functions.add(function));
        Arc::new(functions)
    };
}

fuzz_target!(|text: &[u8]| {
    let mut set = Set::new(FUNCTIONS.with(Arc::clone));
    match set.parse("fuzz", Str::from(text)) {
        // A file always is a template under its own name, whatever it defines besides.
        Ok(()) => assert!(set.contains("fuzz") || text.is_empty() || set.names().next().is_some()),
        Err(error) => assert!(error.to_string().starts_with("template: ")),
    }
});
