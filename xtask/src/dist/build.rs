//! Builds the program for a target, on any Linux machine: with zig as the compiler and linker for C, which brings the C
//! libraries of all targets, and with the toolchain's own standard libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::dist::link;
use crate::dist::target::Target;
use crate::shell::{cache, cargo, output, print_line, program, root, run};

/// What is installed from the Python registry, with the versions that releases were made with.
pub(crate) const PACKAGES: [&str; 2] = ["ziglang==0.15.2", "cargo-zigbuild==0.24.0"];

/// The programs that a release has, with their packages.
pub(crate) const PROGRAMS: [(&str, &str); 2] =
    [("pintle", "pintle-cli"), ("pintle-controller", "pintle-controller")];

/// What builds for all targets.
pub(crate) struct Toolchain {
    /// The folder of zig and cargo-zigbuild, first on the search path of builds.
    programs: PathBuf,
    /// Seconds since 1970; the only time that may enter an artefact.
    epoch: u64,
    /// The flags that take the folders of this machine out of what is built.
    rust_flags: String,
    c_flags: String,
}

impl Toolchain {
    /// Installs what is missing.
    pub(crate) fn install(targets: &[&Target]) -> Result<Toolchain> {
        let programs = install_zig()?;
        let triples = targets.iter().map(|target| target.triple);
        run(Command::new("rustup").args(["--quiet", "target", "add"]).args(triples).current_dir(root()))
            .context("the standard libraries of targets are installed by rustup")?;
        let folders = folders_of_this_machine()?;
        let join = |flag: &str| {
            let flag = |(folder, name): &(PathBuf, &str)| format!("{flag}={}={name}", folder.display());
            folders.iter().map(flag).collect::<Vec<_>>().join(" ")
        };
        Ok(Toolchain {
            programs,
            epoch: epoch()?,
            rust_flags: join("--remap-path-prefix"),
            c_flags: join("-ffile-prefix-map"),
        })
    }

    /// Builds the programs of a release for a target and returns their paths.
    pub(crate) fn build(&self, target: &Target) -> Result<Vec<PathBuf>> {
        print_line(&format!("building for {}", target.triple));
        let mut build = cargo(&["zigbuild", "--quiet", "--locked", "--profile", "dist"]);
        build.args(["--target", &target.for_zig()]);
        for (name, package) in PROGRAMS {
            build.args(["--package", package, "--bin", name]);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path =
            std::env::join_paths([self.programs.clone()].into_iter().chain(std::env::split_paths(&path)))?;
        let of_target = target.triple.replace('-', "_");
        build.env("PATH", path).env("SOURCE_DATE_EPOCH", self.epoch.to_string());
        let mut rust_flags = self.rust_flags.clone();
        if target.triple.ends_with("-musl") {
            rust_flags = format!("{rust_flags} {}", link::rust_flags(target, &self.programs)?);
        }
        build.env("RUSTFLAGS", rust_flags).env("CARGO_INCREMENTAL", "0");
        for language in ["CFLAGS", "CXXFLAGS"] {
            build.env(format!("{language}_{of_target}"), &self.c_flags);
        }
        run(&mut build).with_context(|| format!("cannot build for {}", target.triple))?;
        PROGRAMS
            .iter()
            .map(|(name, _)| program(&format!("{}/dist/{}", target.triple, target.program(name))))
            .collect()
    }
}

/// A folder with zig and cargo-zigbuild: a Python environment of its own in the cache.
fn install_zig() -> Result<PathBuf> {
    let folder = cache()?.join(format!("zig-{}", PACKAGES.join("-").replace("==", "-")));
    let programs = folder.join("bin");
    if programs.join("cargo-zigbuild").is_file() {
        return Ok(programs);
    }
    print_line("installing zig and cargo-zigbuild (once)");
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))
        .context("zig comes as a Python package; Debian's package python3-venv has what installs it")?;
    run(Command::new(programs.join("pip")).args(["install", "--quiet"]).args(PACKAGES))?;
    Ok(programs)
}

/// The time of the commit, unless `SOURCE_DATE_EPOCH` gives another one.
pub(crate) fn epoch() -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => {
            let mut log = Command::new("git");
            log.args(["log", "-1", "--format=%ct"]).current_dir(root());
            String::from_utf8(output(&mut log).context("a release is made from a git checkout")?)?
        }
    };
    text.trim().parse().with_context(|| format!("`{}` is no count of seconds", text.trim()))
}

/// The folders whose names compilers would write into programs, and what they write instead.
fn folders_of_this_machine() -> Result<Vec<(PathBuf, &'static str)>> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "sysroot"]).current_dir(root());
    let sysroot = String::from_utf8(output(&mut rustc)?)?;
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    let Some(home) = home else { bail!("neither CARGO_HOME nor HOME is set") };
    // The last one that matches is taken, so what contains others comes first.
    Ok(vec![(home, "/cargo"), (PathBuf::from(sysroot.trim()), "/rust"), (root(), "/pintle")])
}
