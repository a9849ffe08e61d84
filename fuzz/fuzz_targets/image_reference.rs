//! Any text as an image reference, as a registry, as a mapping file and as values with images: errors or results, and
//! results that survive a round trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pintle_chart::Chart;
use pintle_images::overrides::assignments;
use pintle_images::{
    MappingFile, PathFilter, Policy, Reference, Scopes, Source, Target, detect, mapping, overlay,
};
use pintle_tree::Map;

fuzz_target!(|text: &str| {
    let policy = Policy {
        sources: Some(vec![
            Source::parse("docker.io").expect("a name"),
            Source::parse("*.io").expect("a pattern"),
        ]),
        target: Some(Target::parse("hub.corp:5000/x").expect("a target")),
        ..Policy::default()
    };
    if let Ok(image) = Reference::parse(text) {
        assert_eq!(image.to_string(), text);
        // Normalizing adds the registry, which may exceed the maximum length.
        if let Ok(again) = Reference::parse(&image.normalized()) {
            assert_eq!(again.normalized(), image.normalized());
        }
        if let Ok(Some(moved)) = policy.relocated(text) {
            let moved = Reference::parse(&moved).expect("what is moved is legal");
            assert_eq!((moved.tag(), moved.digest()), (image.tag(), image.digest()));
        }
    }
    if let Ok(source) = Source::parse(text) {
        assert_eq!(Source::parse(&source.to_string()).expect("is read again"), source);
    }
    let _ = Target::parse(text);
    if MappingFile::parse("m.yaml", text.as_bytes()).is_ok() {
        let (changed, _) =
            mapping::set("m.yaml", text, "fuzz.example.com", "hub.corp/x").expect("an entry fits");
        let file = MappingFile::parse("m.yaml", changed.as_bytes()).expect("it is still one");
        assert!(file.mappings.iter().any(|entry| entry.target.to_string() == "hub.corp/x"));
    }
    let Ok(values) = pintle_yaml::read_values(text.as_bytes()) else { return };
    let chart = Chart { values, ..Chart::default() };
    let found = detect(&Scopes::new(&chart, &chart), &Map::new(), &chart.values, &PathFilter::default());
    for finding in &found.images {
        let Some(image) = &finding.reference else { continue };
        let Ok(Some(destination)) = policy.destination(image) else { continue };
        for (path, text) in assignments(finding, &destination).unwrap_or_default() {
            assert!(!overlay(&chart.values, [(&path, text.as_str())]).is_empty());
        }
    }
});
