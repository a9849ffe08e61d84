//! What the image for pipelines has besides the program: a shell and the usual commands, from Debian's busybox, which is one
//! program without libraries.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::dist::archive::Entry;
use crate::dist::target::Target;
use crate::shell::{cache, output, print_line, run};

/// The commands that pipelines call. They are links to busybox.
pub(crate) const COMMANDS: [&str; 34] = [
    "awk", "base64", "basename", "cat", "chmod", "cp", "cut", "date", "dirname", "echo", "env", "expr",
    "find", "grep", "gunzip", "gzip", "head", "ls", "mkdir", "mktemp", "mv", "printf", "rm", "sed", "sh",
    "sleep", "sort", "tail", "tar", "test", "tr", "uniq", "wget", "xargs",
];

/// Busybox and its licence, for the architecture of a target.
pub(crate) fn busybox(target: &Target) -> Result<Vec<Entry>> {
    let folder = unpacked(target.debian)?;
    let read =
        |path: &str| fs::read(folder.join(path)).with_context(|| format!("busybox-static has no {path}"));
    Ok(vec![
        Entry::program("bin/busybox", read("bin/busybox").or_else(|_| read("usr/bin/busybox"))?),
        Entry::file(
            "usr/share/doc/busybox-static/copyright",
            read("usr/share/doc/busybox-static/copyright")?,
        ),
    ])
}

/// The package as files, fetched once. The lists of packages are our own: those of the machine are for its architecture.
fn unpacked(architecture: &str) -> Result<std::path::PathBuf> {
    let folder = cache()?.join(format!("busybox-{architecture}"));
    if folder.is_dir() {
        return Ok(folder);
    }
    print_line(&format!("fetching busybox for {architecture} (once)"));
    let unfinished = folder.with_extension(std::process::id().to_string());
    for part in ["lists/partial", "archives/partial", "files"] {
        fs::create_dir_all(unfinished.join(part)).context("cannot make a folder for a package")?;
    }
    let options = [
        format!("--option=APT::Architecture={architecture}"),
        format!("--option=APT::Architectures={architecture}"),
        format!("--option=Dir::State::Lists={}", unfinished.join("lists").display()),
        format!("--option=Dir::Cache={}", unfinished.display()),
    ];
    let fetched =
        run(Command::new("apt-get").args(["--quiet=2"]).args(&options).arg("update")).and_then(|()| {
            let mut download = Command::new("apt-get");
            download.args(&options).args(["download", "busybox-static"]).current_dir(&unfinished);
            output(&mut download).map(drop)
        });
    let placed = fetched
        .and_then(|()| extract(&unfinished))
        .and_then(|()| Ok(fs::rename(unfinished.join("files"), &folder)?));
    let _ = fs::remove_dir_all(&unfinished);
    // Another run may have been quicker; its files are as good.
    if !folder.is_dir() {
        placed.context("busybox could not be fetched as a package of Debian")?;
    }
    Ok(folder)
}

fn extract(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            return run(Command::new("dpkg-deb").arg("--extract").arg(&path).arg(folder.join("files")));
        }
    }
    bail!("apt-get downloaded no package")
}
