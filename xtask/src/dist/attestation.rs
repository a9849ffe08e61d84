//! What says where a release comes from: a statement of SLSA provenance over all files, and signatures of the list of digests.
//! Keys are given by whoever makes the release, and are not kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::dist::build::PACKAGES;
use crate::dist::{CHECKSUMS, sha256};
use crate::shell::{output, print_line, root};

/// How releases are built, for those who read the statement.
const BUILD_TYPE: &str = "https://pintle.dev/dist/v1";
const REPOSITORY: &str = "git+https://github.com/pintle-dev/pintle";

/// The keys that a release is signed with; empty for those that are not given.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// A secret key of minisign.
    pub(crate) minisign: Option<PathBuf>,
    /// A private key of cosign.
    pub(crate) cosign: Option<PathBuf>,
}

/// Writes the statement over the files that are in the folder.
pub(crate) fn statement(version: &str, targets: &[&str], folder: &Path) -> Result<()> {
    let mut subjects = Vec::new();
    for (name, path) in files(folder)? {
        let content = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        subjects.push(json!({"name": name, "digest": {"sha256": sha256(&content)}}));
    }
    let document = document(version, targets, &commit()?, &rustc()?, &subjects);
    let mut text = serde_json::to_vec_pretty(&document)?;
    text.push(b'\n');
    fs::write(folder.join(name(version)), text).context("cannot write the statement")
}

fn name(version: &str) -> String {
    format!("pintle-v{version}.intoto.json")
}

/// The statement. It has no time: the same commit gives the same bytes.
fn document(version: &str, targets: &[&str], commit: &str, rustc: &str, subjects: &[Value]) -> Value {
    let tools = PACKAGES.iter().filter_map(|tool| tool.split_once("=="));
    let tools = tools.map(|(name, version)| json!({"uri": format!("pkg:pypi/{name}@{version}")}));
    let mut materials = vec![
        json!({"uri": REPOSITORY, "digest": {"gitCommit": commit}}),
        json!({"uri": format!("pkg:generic/rustc@{rustc}")}),
    ];
    materials.extend(tools);
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"version": version, "targets": targets},
                "resolvedDependencies": materials,
            },
            "runDetails": {"builder": {"id": "https://pintle.dev/xtask/dist"}},
        },
    })
}

/// Signs the list of digests, and the statement. `program` has the key format of cosign.
pub(crate) fn sign(keys: &Keys, version: &str, folder: &Path, program: &Path) -> Result<()> {
    let list = folder.join(CHECKSUMS);
    if let Some(key) = &keys.cosign {
        cosign(program, key, "blob", &list, &folder.join(format!("{CHECKSUMS}.sigstore.json")))?;
        let statement = folder.join(name(version));
        let signed = folder.join(format!("pintle-v{version}.intoto.sigstore.json"));
        cosign(program, key, "statement", &statement, &signed)?;
    }
    if let Some(key) = &keys.minisign {
        let mut minisign = Command::new("minisign");
        minisign.args(["-S", "-s"]).arg(key).arg("-m").arg(&list);
        // A password is read from standard input; a key without one asks nothing.
        let status = minisign.stdout(Stdio::null()).status();
        let status = status.context("minisign is not installed; Debian's package is `minisign`")?;
        if !status.success() {
            bail!("minisign cannot sign with {}", key.display());
        }
    }
    if keys.cosign.is_none() && keys.minisign.is_none() {
        print_line("not signed: neither --minisign-key nor --cosign-key is given");
    }
    Ok(())
}

fn cosign(program: &Path, key: &Path, kind: &str, file: &Path, to: &Path) -> Result<()> {
    let bundle = output(Command::new(program).args(["__sign", kind]).arg(key).arg(file))
        .with_context(|| format!("cannot sign {}", file.display()))?;
    fs::write(to, bundle).with_context(|| format!("cannot write {}", to.display()))
}

/// The files of a release by name, but those that are about the others.
pub(crate) fn files(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_about_others = name.starts_with(CHECKSUMS) || name.contains(".intoto.");
        if entry.file_type()?.is_file() && !is_about_others {
            found.push((name, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// The commit that is built.
pub(crate) fn commit() -> Result<String> {
    let commit = output(Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root()))?;
    Ok(String::from_utf8(commit)?.trim().to_owned())
}

fn rustc() -> Result<String> {
    let version = String::from_utf8(output(Command::new("rustc").arg("--version").current_dir(root()))?)?;
    version.split(' ').nth(1).map(str::to_owned).context("rustc says no version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_names_every_file_but_those_about_it() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["b.tar.gz", "a.deb", CHECKSUMS, "SHA256SUMS.minisig", "pintle-v1.0.0.intoto.json"] {
            fs::write(folder.path().join(name), name).expect("written");
        }
        statement("1.0.0", &["x86_64-unknown-linux-musl"], folder.path()).expect("written");
        let text = fs::read(folder.path().join("pintle-v1.0.0.intoto.json")).expect("there");
        let document: Value = serde_json::from_slice(&text).expect("JSON");
        let names: Vec<&Value> =
            document["subject"].as_array().expect("a list").iter().map(|one| &one["name"]).collect();
        assert_eq!(names, ["a.deb", "b.tar.gz"]);
        assert_eq!(document["subject"][0]["digest"]["sha256"], sha256(b"a.deb"));
        let commit =
            &document["predicate"]["buildDefinition"]["resolvedDependencies"][0]["digest"]["gitCommit"];
        assert_eq!(commit.as_str().map(str::len), Some(40));
        // The same files give the same statement.
        statement("1.0.0", &["x86_64-unknown-linux-musl"], folder.path()).expect("written");
        assert_eq!(fs::read(folder.path().join("pintle-v1.0.0.intoto.json")).expect("there"), text);
    }
}
