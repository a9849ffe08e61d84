//! `dist`: builds what a release consists of, with nothing but this repository and package registries: programs for all
//! targets, archives with completions and manual pages, bills of materials, container images, checksums.

pub(crate) mod archive;
mod attestation;
mod auditable;
mod build;
mod contents;
mod image;
#[cfg(test)]
mod install_tests;
pub(crate) mod link;
mod linux_packages;
mod manifests;
mod packages;
mod sbom;
mod smoke;
mod target;
mod tools_image;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

use crate::dist::archive::Entry;
use crate::dist::attestation::Keys;
use crate::dist::build::{PROGRAMS, Toolchain};
use crate::dist::image::Image;
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
    keys: Keys,
    /// Programs that were built elsewhere, in a folder for each target.
    programs: Option<PathBuf>,
}

/// Runs `dist [--output FOLDER] [--programs FOLDER] [--minisign-key FILE] [--cosign-key FILE] [TARGET…]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = parse(arguments)?;
    let version = version()?;
    make(&options, &version)
}

/// Makes all artefacts of a version for all targets.
pub(crate) fn all(folder: &Path, minisign: Option<PathBuf>, cosign: Option<PathBuf>) -> Result<()> {
    let keys = Keys { minisign, cosign };
    let (targets, folder) = (TARGETS.iter().collect(), folder.to_owned());
    make(&Options { targets, folder, keys, programs: None }, &version()?)
}

fn make(options: &Options, version: &str) -> Result<()> {
    fs::create_dir_all(&options.folder)
        .with_context(|| format!("cannot make {}", options.folder.display()))?;
    let builder = Builder::new(options)?;
    let program = builder.for_this_machine(options)?;
    let common = contents::files(&program)?;
    let mut images = Vec::new();
    for &target in &options.targets {
        let programs = builder.programs(target)?;
        let release = Release { version, epoch: builder.epoch, target };
        let packages = packages::of_program(PROGRAMS[0].1, target)?;
        for ((_, package), program) in PROGRAMS.iter().zip(&programs) {
            auditable::add(program, package, &packages::of_program(package, target)?)?;
        }
        let first = programs.first().context("nothing was built")?;
        smoke::run(first, version, target)?.report();
        release.archive(first, &common, &packages, &options.folder)?;
        release.bill_of_materials(&packages, &options.folder)?;
        if !target.container.0.is_empty() {
            images.push((target, programs));
        }
    }
    if !images.is_empty() {
        images_of(version, &images, builder.epoch, &options.folder)?;
    }
    let site = format!("pintle-docs-v{version}.tar.gz");
    write(&options.folder.join(site), &crate::site::packed(version, builder.epoch)?)?;
    for script in ["install.sh", "install.ps1"] {
        fs::copy(root().join("deploy").join(script), options.folder.join(script))
            .context("cannot copy a script")?;
    }
    fs::write(options.folder.join("VERSION"), format!("v{version}\n")).context("cannot write the version")?;
    manifests(version, &options.folder)?;
    let targets: Vec<&str> = options.targets.iter().map(|target| target.triple).collect();
    attestation::statement(version, &targets, &options.folder)?;
    checksums(&options.folder)?;
    attestation::sign(&options.keys, version, &options.folder, &program)?;
    print_line(&format!("the release is in {}", options.folder.display()));
    Ok(())
}

/// What makes programs: a toolchain, or a folder to which machines of their own have brought them.
struct Builder {
    epoch: u64,
    toolchain: Option<Toolchain>,
    folder: PathBuf,
    /// Copies to which the list of crates is added.
    copies: tempfile::TempDir,
}

impl Builder {
    fn new(options: &Options) -> Result<Builder> {
        let toolchain = match options.programs {
            Some(_) => None,
            None => Some(Toolchain::install(&options.targets)?),
        };
        let epoch = build::epoch()?;
        let folder = options.programs.clone().unwrap_or_default();
        Ok(Builder { epoch, toolchain, folder, copies: tempfile::tempdir().context("cannot make a folder")? })
    }

    /// The programs for a target; the first one is there.
    fn programs(&self, target: &Target) -> Result<Vec<PathBuf>> {
        if let Some(toolchain) = &self.toolchain {
            return toolchain.build(target);
        }
        let mut found = Vec::new();
        for (name, _) in PROGRAMS {
            let path = self.folder.join(target.triple).join(target.program(name));
            let copy = self.copies.path().join(format!("{}-{}", target.triple, target.program(name)));
            if path.is_file() {
                fs::copy(&path, &copy).with_context(|| format!("cannot copy {}", path.display()))?;
                found.push(copy);
            }
        }
        if found.is_empty() {
            bail!("{} has no program for {}", self.folder.display(), target.triple)
        } else {
            Ok(found)
        }
    }

    /// A program that runs here and writes completions, manual pages and signatures.
    fn for_this_machine(&self, options: &Options) -> Result<PathBuf> {
        let here = options.targets.iter().find(|target| target.emulator == Some(""));
        match (&self.toolchain, here) {
            (None, Some(target)) => Ok(self.folder.join(target.triple).join(PROGRAMS[0].0)),
            _ => ci_binary(),
        }
    }
}

/// Writes the images: one for each program, and one for pipelines.
fn images_of(version: &str, built: &[(&Target, Vec<PathBuf>)], epoch: u64, folder: &Path) -> Result<()> {
    let read = |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    for (at, (name, _)) in PROGRAMS.iter().enumerate() {
        let mut platforms = Vec::new();
        for (target, programs) in built {
            if let Some(program) = programs.get(at) {
                platforms.push((*target, vec![Entry::program(*name, read(program)?)]));
            }
        }
        if platforms.is_empty() {
            continue;
        }
        let entrypoint = format!("/{name}");
        let image =
            Image { name, version, entrypoint: &entrypoint, user: image::NOBODY, path: "/", platforms };
        write(&folder.join(format!("{name}-v{version}-image.tar")), &image::layout(&image, epoch)?)?;
    }
    let mut platforms = Vec::new();
    for (target, programs) in built {
        let mut files = tools_image::busybox(target)?;
        files.push(Entry::program("usr/bin/pintle", read(&programs[0])?));
        files.push(Entry::link("usr/bin/helm", "pintle"));
        files.push(Entry::scratch("tmp"));
        files.extend(tools_image::COMMANDS.iter().map(|name| Entry::link(format!("bin/{name}"), "busybox")));
        platforms.push((*target, files));
    }
    // Pipelines write into folders of other users, so it is root, as in other images with tools.
    let image = Image {
        name: "pintle-helm",
        version,
        entrypoint: "/usr/bin/helm",
        user: "0:0",
        path: "/usr/bin:/bin",
        platforms,
    };
    write(&folder.join(format!("pintle-helm-v{version}-image.tar")), &image::layout(&image, epoch)?)
}

fn parse(arguments: &[String]) -> Result<Options> {
    let folder = root().join("target/release-artifacts");
    let mut options = Options { targets: Vec::new(), folder, keys: Keys::default(), programs: None };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut path =
            |flag: &str| words.next().map(PathBuf::from).with_context(|| format!("{flag} needs a path"));
        match word.as_str() {
            "--output" => options.folder = path("--output")?,
            "--programs" => options.programs = Some(path("--programs")?),
            "--minisign-key" => options.keys.minisign = Some(path("--minisign-key")?),
            "--cosign-key" => options.keys.cosign = Some(path("--cosign-key")?),
            flag if flag.starts_with('-') => bail!(
                "usage: cargo xtask dist [--output FOLDER] [--programs FOLDER] [--minisign-key FILE] [--cosign-key FILE] \
                 [TARGET…]"
            ),
            triple => options.targets.push(Target::named(triple)?),
        }
    }
    if options.targets.is_empty() {
        options.targets = TARGETS.iter().collect();
    }
    Ok(options)
}

/// The version of the workspace.
pub(crate) fn version() -> Result<String> {
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
        program: &Path,
        common: &[Entry],
        packages: &BTreeMap<String, Package>,
        folder: &Path,
    ) -> Result<()> {
        let name = self.name();
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
        if entry.file_type()?.is_file() && !name.starts_with(CHECKSUMS) {
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
