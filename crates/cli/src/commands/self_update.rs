//! `self update`: replaces a program that the install script has installed, by the same script. A program that came
//! otherwise is left to the package manager, which keeps lists of its files.

use std::path::{Path, PathBuf};
use std::process::Command as Process;

use crate::command::{ArgCompletion, Command, Operands};
use crate::env::Environment;
use crate::failure::Failure;
use crate::flag::{Flag, names};
use crate::invocation::Invocation;

/// `self`
pub(crate) static COMMAND: Command = Command {
    name: "self",
    short: "manage this installation",
    long: "Manage the installation of this program.",
    subcommands: &[&UPDATE],
    ..Command::BLANK
};

static UPDATE: Command = Command {
    name: "update",
    short: "update a program that the install script has installed",
    long: "\
Replace this program by the newest release, or by the one of --version. The release is downloaded and verified by the same script
that has installed the program: its digest always, its signature if minisign and $PINTLE_KEY are there.

A program that a package manager has installed is not touched; the error names the command that updates it. Nothing looks for
updates unless this command is called.",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    flags: &[&[Flag::text(names::VERSION, "the version to install, also an older one")]],
    run: Some(update),
    ..Command::BLANK
};

/// The script, which knows where releases are and how they are verified.
#[cfg(not(windows))]
const SCRIPT: &str = include_str!("../../install/install.sh");
#[cfg(windows)]
const SCRIPT: &str = include_str!("../../install/install.ps1");

fn update(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let program = program.map_err(|error| Failure::run_time(format!("where this program is: {error}")))?;
    if !was_installed_by_script(invocation.environment, &program) {
        let text = format!("{} was not installed by the install script", program.display());
        return Err(Failure::usage(text).hint(advice(&program, &|path| Path::new(path).exists())));
    }
    let folder = program.parent().unwrap_or(Path::new("/"));
    invocation.ui.flush()?;
    let status = script(invocation.flags.text(names::VERSION), folder)
        .status()
        .map_err(|error| Failure::run_time(format!("the install script cannot be run: {error}")))?;
    if status.success() { Ok(()) } else { Err(Failure::run_time("the program was not updated")) }
}

#[cfg(not(windows))]
fn script(version: &str, folder: &Path) -> Process {
    let mut shell = Process::new("sh");
    shell.args(["-c", SCRIPT, "install.sh", "--to"]).arg(folder);
    if !version.is_empty() {
        shell.args(["--version", version]);
    }
    shell
}

#[cfg(windows)]
fn script(version: &str, folder: &Path) -> Process {
    let mut shell = Process::new("powershell");
    shell
        .args(["-NoProfile", "-Command"])
        .arg(format!("& {{ {SCRIPT} }} -To $env:PINTLE_TO -Version $env:PINTLE_VERSION"));
    shell.env("PINTLE_TO", folder).env("PINTLE_VERSION", version);
    shell
}

/// Whether the list of what the script has installed has this program.
fn was_installed_by_script(environment: &Environment, program: &Path) -> bool {
    let data = match environment.variable("XDG_DATA_HOME").filter(|text| !text.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None if cfg!(windows) => PathBuf::from(environment.variable("LOCALAPPDATA").unwrap_or_default()),
        None => Path::new(&environment.user_home()).join(".local/share"),
    };
    let list = pintle::chart::read_limited(data.join("pintle/installed"), LIST_LIMIT).unwrap_or_default();
    let list = String::from_utf8_lossy(&list).into_owned();
    list.lines().any(|line| Path::new(line).canonicalize().is_ok_and(|path| path == program))
}

/// The largest list; a release has some hundred files.
const LIST_LIMIT: u64 = 1 << 20;

/// How a program at this path is updated.
fn advice(program: &Path, exists: &dyn Fn(&str) -> bool) -> String {
    let path = program.to_string_lossy().replace('\\', "/");
    let has = |part: &str| path.contains(part);
    let command = if has("/nix/store/") {
        "nix profile upgrade pintle"
    } else if has("/Cellar/") || has("/homebrew/") {
        "brew upgrade pintle"
    } else if has("/.krew/") {
        "kubectl krew upgrade pintle"
    } else if has("/mise/") {
        "mise upgrade pintle"
    } else if has("/aquaproj-aqua/") {
        "aqua update"
    } else if has("/scoop/") {
        "scoop update pintle"
    } else if has("/WinGet/") {
        "winget upgrade Pintle.Pintle"
    } else if has("/.cargo/bin/") {
        "cargo binstall pintle-cli"
    } else if path == "/usr/bin/pintle" && exists("/var/lib/dpkg/info/pintle.list") {
        "apt-get install --only-upgrade pintle, or dpkg -i with a newer package"
    } else if path == "/usr/bin/pintle" && exists("/lib/apk/db/installed") {
        "apk upgrade pintle"
    } else if path == "/usr/bin/pintle" && (exists("/var/lib/rpm") || exists("/usr/lib/sysimage/rpm")) {
        "dnf upgrade pintle"
    } else if path == "/usr/bin/pintle" && exists("/var/lib/pacman") {
        "pacman -Syu pintle-bin"
    } else {
        return "update it the way it came here; sh install.sh installs a copy that can be updated"
            .to_owned();
    };
    format!("update it with {command}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_manager_is_named_by_where_the_program_is() {
        let has = |found: &'static str| move |path: &str| path == found;
        let advice = |path: &str, found: &'static str| advice(Path::new(path), &has(found));
        assert!(advice("/nix/store/abc-pintle-0.1.0/bin/pintle", "").contains("nix profile"));
        assert!(advice("/home/linuxbrew/.linuxbrew/Cellar/pintle/0.1.0/bin/pintle", "").contains("brew"));
        assert!(advice("/home/me/.krew/store/pintle/v0.1.0/pintle", "").contains("krew"));
        assert!(advice("/usr/bin/pintle", "/var/lib/dpkg/info/pintle.list").contains("apt-get"));
        assert!(advice("/usr/bin/pintle", "/lib/apk/db/installed").contains("apk upgrade"));
        assert!(advice("/usr/bin/pintle", "/var/lib/rpm").contains("dnf"));
        assert!(advice("/opt/pintle", "/var/lib/rpm").contains("the way it came here"));
    }
}
