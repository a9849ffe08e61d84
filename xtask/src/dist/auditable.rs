//! The list of crates inside of a program, as `cargo auditable` writes it: scanners of images and `cargo audit bin` read it from the
//! section `.dep-v0` of the file, compressed by zlib.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};

use crate::dist::packages::Package;
use crate::shell::{output, root, run};

const SECTION: &str = ".dep-v0";

/// Adds the section to a program.
pub(crate) fn add(program: &Path, package: &str, packages: &BTreeMap<String, Package>) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let content = folder.path().join("packages");
    fs::write(&content, section(package, packages)?).context("cannot write the list of crates")?;
    let result = folder.path().join("program");
    let mut objcopy = Command::new(objcopy()?);
    objcopy.arg(format!("--remove-section={SECTION}"));
    objcopy.arg(format!("--add-section={SECTION}={}", content.display()));
    objcopy.arg(format!("--set-section-flags={SECTION}=readonly,noload"));
    run(objcopy.arg(program).arg(&result)).context("cannot add the list of crates to the program")?;
    fs::copy(&result, program).with_context(|| format!("cannot write {}", program.display()))?;
    Ok(())
}

fn section(package: &str, packages: &BTreeMap<String, Package>) -> Result<Vec<u8>> {
    let mut writer = ZlibEncoder::new(Vec::new(), Compression::best());
    writer.write_all(&serde_json::to_vec(&list(package, packages)?)?)?;
    Ok(writer.finish()?)
}

/// The document: packages by name and version, which refer to each other by their places.
fn list(main: &str, packages: &BTreeMap<String, Package>) -> Result<Value> {
    let places: BTreeMap<&str, usize> =
        packages.keys().enumerate().map(|(at, key)| (key.as_str(), at)).collect();
    let mut entries = Vec::new();
    let mut found = false;
    for package in packages.values() {
        let source = if package.checksum.is_empty() { "local" } else { "crates.io" };
        let uses: Vec<usize> =
            package.uses.iter().filter_map(|key| places.get(key.as_str()).copied()).collect();
        let mut entry = json!({"name": package.name, "version": package.version, "source": source});
        if !uses.is_empty() {
            entry["dependencies"] = json!(uses);
        }
        if package.name == main {
            found = true;
            entry["root"] = json!(true);
        }
        entries.push(entry);
    }
    if !found {
        bail!("`{main}` is not among the packages of its program");
    }
    Ok(json!({"packages": entries}))
}

/// The tool that changes programs of all systems; it comes with the compiler.
fn objcopy() -> Result<PathBuf> {
    let mut rustc = Command::new("rustc");
    let sysroot = output(rustc.args(["--print", "sysroot"]).current_dir(root()))?;
    let version = output(Command::new("rustc").arg("-vV").current_dir(root()))?;
    let version = String::from_utf8(version)?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let path =
        Path::new(String::from_utf8(sysroot)?.trim()).join(format!("lib/rustlib/{host}/bin/rust-objcopy"));
    if path.is_file() {
        Ok(path)
    } else {
        bail!("{} is missing; the compiler should have brought it", path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages() -> BTreeMap<String, Package> {
        let package = |name: &str, checksum: &str, uses: &[&str]| Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            checksum: checksum.to_owned(),
            uses: uses.iter().map(|key| (*key).to_owned()).collect(),
            ..Package::default()
        };
        BTreeMap::from([
            ("app 1.0.0".to_owned(), package("app", "", &["used 1.0.0"])),
            ("used 1.0.0".to_owned(), package("used", "c0ffee", &[])),
        ])
    }

    #[test]
    fn packages_refer_to_each_other_by_place() {
        assert_eq!(
            list("app", &packages()).expect("a list"),
            json!({"packages": [
                {"name": "app", "version": "1.0.0", "source": "local", "dependencies": [1], "root": true},
                {"name": "used", "version": "1.0.0", "source": "crates.io"},
            ]})
        );
        assert!(list("other", &packages()).is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_section_is_added_to_a_program_that_still_runs() {
        use std::io::Read as _;
        let folder = tempfile::tempdir().expect("a folder");
        let (program, section) = (folder.path().join("true"), folder.path().join("section"));
        fs::copy("/bin/true", &program).expect("every Linux has it");
        for _ in 0..2 {
            add(&program, "app", &packages()).expect("added");
        }
        assert!(Command::new(&program).status().expect("it runs").success());
        let mut objcopy = Command::new(objcopy().expect("a tool"));
        run(objcopy.arg(format!("--dump-section={SECTION}={}", section.display())).arg(&program))
            .expect("dumped");
        let mut text = String::new();
        let packed = fs::read(&section).expect("a section");
        flate2::read::ZlibDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("zlib");
        assert_eq!(
            serde_json::from_str::<Value>(&text).expect("JSON"),
            list("app", &packages()).expect("a list")
        );
    }
}
