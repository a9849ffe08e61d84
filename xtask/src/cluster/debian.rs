//! containerd, runc, network plugins and busybox: packages of the distribution, unpacked but never installed, so that
//! no service starts and nothing of the machine changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::shell::{cache, output, print_line, run};

/// The packages, and the libraries that runc and nft load.
const PACKAGES: [&str; 13] = [
    "busybox-static",
    "containerd",
    "containernetworking-plugins",
    "nftables",
    "runc",
    "libbsd0",
    "libedit2",
    "libjansson4",
    "libmd0",
    "libmnl0",
    "libnftables1",
    "libnftnl11",
    "libseccomp2",
];

/// Where the packages are, or will be.
pub(super) fn folder() -> Result<PathBuf> {
    Ok(cache()?.join("testbed/debian"))
}

/// The folder with the packages' files, fetched on first use.
pub(super) fn unpacked() -> Result<PathBuf> {
    let folder = folder()?;
    if folder.is_dir() {
        return Ok(folder);
    }
    print_line("fetching containerd, runc, network plugins and busybox (once)");
    let unfinished = folder.with_extension(std::process::id().to_string());
    let archives = unfinished.join("archives");
    fs::create_dir_all(&archives).with_context(|| format!("cannot make {}", archives.display()))?;
    let fetched = fetch(&archives).and_then(|()| unpack(&archives, &unfinished.join("files")));
    let placed = fetched.and_then(|()| Ok(fs::rename(unfinished.join("files"), &folder)?));
    let _ = fs::remove_dir_all(&unfinished);
    // Another run may have been quicker; its files are as good.
    if !folder.is_dir() {
        placed.context("containerd and its friends could not be fetched as Debian packages")?;
    }
    Ok(folder)
}

/// Downloads with the machine's own lists of packages, or with fresh ones of our own where it has none.
fn fetch(archives: &Path) -> Result<()> {
    if download(&[], archives).is_ok() {
        return Ok(());
    }
    let (lists, copies) = (archives.with_file_name("lists"), archives.with_file_name("copies"));
    fs::create_dir_all(lists.join("partial"))?;
    fs::create_dir_all(copies.join("archives/partial"))?;
    let lists = format!("--option=Dir::State::Lists={}", lists.display());
    let copies = format!("--option=Dir::Cache={}", copies.display());
    run(Command::new("apt-get").args(["--quiet=2", &lists, &copies, "update"]))?;
    download(&[&lists, &copies], archives)
}

fn download(options: &[&str], archives: &Path) -> Result<()> {
    let mut command = Command::new("apt-get");
    output(command.args(options).arg("download").args(PACKAGES).current_dir(archives)).map(drop)
}

fn unpack(archives: &Path, files: &Path) -> Result<()> {
    let mut count = 0;
    for entry in fs::read_dir(archives)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            run(Command::new("dpkg-deb").arg("--extract").arg(&path).arg(files))?;
            count += 1;
        }
    }
    if count < PACKAGES.len() {
        bail!("apt-get gave {count} of {} packages", PACKAGES.len());
    }
    Ok(())
}
