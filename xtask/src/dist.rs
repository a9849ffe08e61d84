//! `dist`: builds what a release consists of, with nothing but this repository and package registries: programs for all
//! targets, archives with completions and manual pages, bills of materials, container images, checksums.

mod archive;
mod build;
mod contents;
mod image;
#[cfg(test)]
mod install_tests;
mod linux_packages;
mod manifests;
mod packages;
mod sbom;
mod target;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

use crate::dist::archive::Entry;
use crate::dist::build::{PROGRAMS, Toolchain};
use crate::dist::packages::Package;
use crate::dist::target::{TARGETS, Target};
use crate::shell::{ci_binary, print_line, root};

/// The file with the digests of all others, in the format of `sha256sum`.
const CHECKSUMS: &str = "SHA256SUMS";

/// The command line of the task.
struct Options {
    targets: Vec<&'static Target>,
    /// Where the artefacts are written.
    folder: PathBuf,
}

/// Runs `dist [--output FOLDER] [TARGET…]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = parse(arguments)?;
    let version = version()?;
    fs::create_dir_all(&options.folder)
        .with_context(|| format!("cannot make {}", options.folder.display()))?;
    let toolchain = Toolchain::install(&options.targets)?;
    let common = contents::files(&ci_binary()?)?;
    let mut images = Vec::new();
    for target in options.targets {
        let programs = toolchain.build(target)?;
        let release = Release { version: &version, epoch: toolchain.epoch, target };
        let packages = packages::of_program(PROGRAMS[0].1, target)?;
        release.archive(&programs, &common, &packages, &options.folder)?;
        release.bill_of_materials(&packages, &options.folder)?;
        if !target.container.0.is_empty() {
            images.push((target, programs));
        }
    }
    for (at, (name, _)) in PROGRAMS.iter().enumerate() {
        let platforms: Vec<(&Target, PathBuf)> =
            images.iter().map(|(target, programs)| (*target, programs[at].clone())).collect();
        if !platforms.is_empty() {
            let layout = image::layout(name, &version, &platforms, toolchain.epoch)?;
            write(&options.folder.join(format!("{name}-v{version}-image.tar")), &layout)?;
        }
    }
    manifests(&version, &options.folder)?;
    checksums(&options.folder)?;
    print_line(&format!("the release is in {}", options.folder.display()));
    Ok(())
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options { targets: Vec::new(), folder: root().join("target/release-artifacts") };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--output" => options.folder = words.next().context("--output needs a folder")?.into(),
            flag if flag.starts_with('-') => bail!("usage: cargo xtask dist [--output FOLDER] [TARGET…]"),
            triple => options.targets.push(Target::named(triple)?),
        }
    }
    if options.targets.is_empty() {
        options.targets = TARGETS.iter().collect();
    }
    Ok(options)
}

/// The version of the workspace.
fn version() -> Result<String> {
    let text = fs::read_to_string(root().join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let manifest: toml::Value = toml::from_str(&text).context("Cargo.toml is no TOML")?;
    let version = manifest.get("workspace").and_then(|table| table.get("package")?.get("version")?.as_str());
    version.map(str::to_owned).context("Cargo.toml has no version")
}

/// One version for one target.
struct Release<'a> {
    version: &'a str,
    epoch: u64,
    target: &'a Target,
}

impl Release<'_> {
    fn name(&self) -> String {
        format!("pintle-v{}-{}", self.version, self.target.triple)
    }

    /// Writes the archive: the program with all that belongs to it, in a folder of its own.
    fn archive(
        &self,
        programs: &[PathBuf],
        common: &[Entry],
        packages: &BTreeMap<String, Package>,
        folder: &Path,
    ) -> Result<()> {
        let name = self.name();
        let program = programs.first().context("nothing was built")?;
        let content = fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
        let mut entries = vec![Entry::program(self.target.program("pintle"), content)];
        entries.extend(common.iter().cloned());
        entries.push(Entry::file("THIRD-PARTY.md", packages::licences(packages)?));
        if !self.target.debian.is_empty() {
            linux_packages::write(self.version, self.epoch, self.target, &entries, folder)?;
        }
        for entry in &mut entries {
            entry.path = format!("{name}/{}", entry.path);
        }
        if self.target.is_windows() {
            write(&folder.join(format!("{name}.zip")), &archive::zip(&entries)?)
        } else {
            write(&folder.join(format!("{name}.tar.gz")), &archive::tar_gz(&entries, self.epoch)?)
        }
    }

    fn bill_of_materials(&self, packages: &BTreeMap<String, Package>, folder: &Path) -> Result<()> {
        let document = sbom::cyclonedx(PROGRAMS[0].1, self.version, self.target, packages)?;
        write(&folder.join(format!("{}.cdx.json", self.name())), &document)
    }
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    print_line(&format!("  {name}  {:.1} MB", content.len() as f64 / 1e6));
    Ok(())
}

/// Writes the manifests of other package managers, for the archives that are in the folder.
fn manifests(version: &str, folder: &Path) -> Result<()> {
    let mut digests = BTreeMap::new();
    for target in &TARGETS {
        let format = if target.is_windows() { "zip" } else { "tar.gz" };
        let path = folder.join(format!("pintle-v{version}-{}.{format}", target.triple));
        if path.is_file() {
            let content = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            digests.insert(target.triple, sha256(&content));
        }
    }
    for (name, text) in manifests::all(&manifests::Archives { version, digests })? {
        let path = folder.join("manifests").join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder)).context("cannot make a folder for manifests")?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Writes the digests of all files of the release.
fn checksums(folder: &Path) -> Result<()> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() && name != CHECKSUMS {
            lines.push(format!("{}  {name}\n", sha256(&fs::read(entry.path())?)));
        }
    }
    // By name, which begins at the same column in all lines.
    lines.sort_by(|one, other| one[64..].cmp(&other[64..]));
    fs::write(folder.join(CHECKSUMS), lines.concat()).context("cannot write the checksums")
}

fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_workspace() {
        assert_eq!(version().expect("a version"), env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn checksums_list_all_files_by_name_but_themselves() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("b"), "").expect("written");
        fs::write(folder.path().join("a"), "x").expect("written");
        for _ in 0..2 {
            checksums(folder.path()).expect("written");
            let text = fs::read_to_string(folder.path().join(CHECKSUMS)).expect("there");
            let names: Vec<&str> = text.lines().map(|line| &line[66..]).collect();
            assert_eq!(names, ["a", "b"]);
            assert!(
                text.starts_with("2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881  a\n")
            );
        }
    }
}
