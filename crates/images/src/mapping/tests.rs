//! Valid and invalid mapping files.

use super::*;

fn parse(text: &str) -> Result<MappingFile> {
    MappingFile::parse("map.yaml", text.as_bytes())
}

fn problem(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn the_example_of_the_design_is_read() {
    let file = parse(
        "registries:
  mappings:
    - source: docker.io
      target: my-registry.example.com/docker-mirror
    - source: quay.io
      target: my-registry.example.com/quay-mirror
      enabled: false
    - source: gcr.io
      target: different-registry.example.com/google-containers
      description: Google
  defaultTarget: fallback.example.com
  strictMode: true
exclude_registries:
  - internal-registry.example.com
",
    )
    .unwrap();
    assert_eq!(file.mappings.len(), 3);
    assert_eq!(file.find("docker.io").unwrap().target.to_string(), "my-registry.example.com/docker-mirror");
    assert_eq!(file.find("quay.io"), None);
    assert_eq!(file.sources().len(), 2);
    assert!(
        file.strict
            && file.default_target.is_some()
            && file.excludes[0].matches("internal-registry.example.com")
    );
}

#[test]
fn whole_names_win_over_wildcards_and_long_domains_over_short() {
    let file = parse(
        "registries:
  mappings:
  - {source: '*.io', target: hub/any}
  - {source: '*.gcr.io', target: hub/google}
  - {source: k8s.gcr.io, target: hub/k8s}
",
    )
    .unwrap();
    let path = |registry: &str| file.find(registry).unwrap().target.path.clone();
    assert_eq!(
        (path("k8s.gcr.io"), path("eu.gcr.io"), path("quay.io")),
        ("k8s".into(), "google".into(), "any".into())
    );
}

#[test]
fn ir_24_each_problem_names_file_line_and_entry() {
    let text = "registries:
  mappings:
    - source: docker.io
      target: hub.corp
    - source: index.docker.io
      target: hub.corp:99999/x
    - source: quay.io
      target: hub.corp/q
    - target: hub.corp/r
      source: QUAY.io
    - source: plain
      target: hub.corp/p
      colour: blue
";
    assert_eq!(
        problem(text),
        "map.yaml is not a valid registry mapping file:
  line 4: registries.mappings[0].target: invalid target registry 'hub.corp': must contain a '/' and a path, as in hub.corp/mirror
  line 6: registries.mappings[1].target: invalid target registry 'hub.corp:99999/x': is not a registry: its port is not a number from 1 to 65535
  line 10: registries.mappings[3].source: duplicate source 'quay.io', which registries.mappings[2] has already
  line 11: registries.mappings[4].source: Invalid source registry 'plain': has neither a dot nor a port, so that no image names it
  line 13: registries.mappings[4].colour: unknown key; known are: source, target, enabled, description"
    );
}

#[test]
fn ir_24_files_that_are_empty_or_have_another_ending_are_refused() {
    assert!(problem("").contains("the file is empty"));
    assert!(problem("# nothing\n").contains("the file is empty"));
    let error = MappingFile::parse("map.txt", b"registries: {}").unwrap_err().to_string();
    assert!(error.contains("map.txt") && error.contains(".yaml or .yml"), "{error}");
}

#[test]
fn ir_25_a_flat_file_is_refused_with_the_structured_form_of_it() {
    let error = parse("docker.io: hub.corp/docker\nquay.io: hub.corp/quay\n").unwrap_err();
    assert_eq!(error.to_string(), "map.yaml maps registries in the old flat form, which is not read");
    let hint = error.hint().unwrap();
    assert!(
        hint.contains(
            "registries:\n  mappings:\n    - source: docker.io\n      target: hub.corp/docker\n    - source: quay.io"
        ),
        "{hint}"
    );
}

#[test]
fn keys_that_nobody_reads_are_refused() {
    assert!(
        problem("registry: {}\n").contains("line 1: registry: unknown key; known are: version, registries")
    );
    assert!(problem("registries:\n  mapping: []\n").contains("line 2: registries.mapping: unknown key"));
    assert!(problem("registries:\n  strictMode: maybe\n").contains("must be true or false"));
}

#[test]
fn empty_entries_can_be_ignored() {
    let text =
        "registries:\n  mappings:\n  - {source: '', target: ''}\ncompatibility:\n  ignoreEmptyFields: true\n";
    assert_eq!(parse(text).unwrap().mappings, []);
    assert!(problem("registries:\n  mappings:\n  - {source: '', target: ''}\n").contains("is empty"));
}
