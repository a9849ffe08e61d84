//! A mapping file to start from (`images config`).

use std::collections::BTreeSet;

use crate::Strategy;

/// Returns the text of a mapping file with an entry for each registry, for the user to fill in.
pub fn skeleton(registries: &BTreeSet<String>) -> String {
    let mut text = "\
# Which registry's images go where. Put your own registry in place of registry.local; set `enabled: false` to leave
# the images of a registry where they are.
registries:
"
    .to_owned();
    text.push_str(if registries.is_empty() { "  mappings: []\n" } else { "  mappings:\n" });
    for registry in registries {
        // What the default strategy writes, so that a file made from this one changes nothing else.
        let path = Strategy::default().prefix(registry);
        let source = if registry.starts_with('[') { format!("'{registry}'") } else { registry.clone() };
        text.push_str(&format!(
            "  - source: {source}\n    target: registry.local/{}\n    enabled: true\n",
            path
        ));
    }
    text.push_str(
        "\
  # Where images of other registries go, if --source-registries names them.
  defaultTarget: \"\"
  # Whether every registry of --source-registries needs an entry above.
  strictMode: false
# Registries whose images stay where they are, whatever else is said.
exclude_registries: []
",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MappingFile;

    #[test]
    fn a_skeleton_is_a_mapping_file() {
        let registries = BTreeSet::from(["docker.io".to_owned(), "reg:5000".to_owned()]);
        let file = MappingFile::parse("m.yaml", skeleton(&registries).as_bytes()).unwrap();
        let targets: Vec<String> = file.mappings.iter().map(|mapping| mapping.target.to_string()).collect();
        assert_eq!(targets, ["registry.local/dockerio", "registry.local/reg"]);
        assert!(MappingFile::parse("m.yaml", skeleton(&BTreeSet::new()).as_bytes()).is_ok());
    }
}
