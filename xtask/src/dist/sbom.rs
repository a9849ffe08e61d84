//! The bill of materials of a program, as CycloneDX 1.5 writes it.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use crate::dist::packages::Package;
use crate::dist::target::Target;

/// The document for the program of `package`. It has no time and no serial number, which would differ between builds.
pub(crate) fn cyclonedx(
    package: &str,
    version: &str,
    target: &Target,
    packages: &BTreeMap<String, Package>,
) -> Result<Vec<u8>> {
    let main = format!("{package} {version}");
    let components: Vec<Value> =
        packages.iter().filter(|(key, _)| **key != main).map(|(_, package)| component(package)).collect();
    let dependencies: Vec<Value> = packages
        .values()
        .map(|package| {
            let uses: Vec<String> =
                package.uses.iter().filter_map(|key| Some(purl(packages.get(key)?))).collect();
            json!({"ref": purl(package), "dependsOn": uses})
        })
        .collect();
    let mut this = packages.get(&main).map_or_else(|| json!({}), component);
    this["type"] = json!("application");
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": this,
            "properties": [{"name": "cdx:rustc:target", "value": target.triple}],
        },
        "components": components,
        "dependencies": dependencies,
    });
    let mut text = serde_json::to_vec_pretty(&document)?;
    text.push(b'\n');
    Ok(text)
}

fn component(package: &Package) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(package),
        "name": package.name,
        "version": package.version,
        "purl": purl(package),
    });
    if !package.licence.is_empty() {
        component["licenses"] = json!([{"expression": package.licence.replace('/', " OR ")}]);
    }
    if !package.checksum.is_empty() {
        component["hashes"] = json!([{"alg": "SHA-256", "content": package.checksum}]);
    }
    component
}

fn purl(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version.replace('+', "%2B"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_package_is_listed_with_licence_digest_and_dependencies() {
        let package = |name: &str, checksum: &str, uses: &[&str]| Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: "MIT/Apache-2.0".to_owned(),
            checksum: checksum.to_owned(),
            uses: uses.iter().map(|key| (*key).to_owned()).collect(),
            ..Package::default()
        };
        let packages = BTreeMap::from([
            ("app 1.0.0".to_owned(), package("app", "", &["used 1.0.0"])),
            ("used 1.0.0".to_owned(), package("used", "c0ffee", &[])),
        ]);
        let target = Target::named("x86_64-unknown-linux-musl").expect("a target");
        let document = cyclonedx("app", "1.0.0", target, &packages).expect("a document");
        let document: Value = serde_json::from_slice(&document).expect("JSON");
        assert_eq!(document["metadata"]["component"]["type"], "application");
        assert_eq!(
            document["components"],
            json!([{
                "type": "library",
                "bom-ref": "pkg:cargo/used@1.0.0",
                "name": "used",
                "version": "1.0.0",
                "purl": "pkg:cargo/used@1.0.0",
                "licenses": [{"expression": "MIT OR Apache-2.0"}],
                "hashes": [{"alg": "SHA-256", "content": "c0ffee"}],
            }])
        );
        assert_eq!(document["dependencies"][0]["dependsOn"], json!(["pkg:cargo/used@1.0.0"]));
    }
}
