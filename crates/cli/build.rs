//! What `version` says about the build, and how the program is linked on Linux with glibc (docs/decisions/0017-position-independent.md): position-independent, with
//! all that the loader writes made read-only before `main`, and without an executable stack. rustc does the first by
//! itself; it is said again so that no default decides. What the script engine does before `main` is put side by side, or
//! each of its forty small steps would fetch pages of code from somewhere else.

#![allow(clippy::disallowed_methods, reason = "variables are how cargo speaks to a build script")]
#![allow(clippy::print_stdout, reason = "printing is how a build script speaks to cargo")]

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    origin();
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        for argument in ["-pie", "-Wl,-z,relro,-z,now,-z,noexecstack", "-Wl,-z,keep-text-section-prefix"] {
            println!("cargo::rustc-link-arg-bin=pintle={argument}");
        }
    }
}

/// Passes on what the program is built from and with. None of it is needed: a build without git knows no commit.
fn origin() {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    println!("cargo::rustc-env=PINTLE_BUILD_TARGET={}", variable("TARGET"));
    let rustc = output(&variable("RUSTC"), &["--version"]);
    let rustc = rustc.split(' ').nth(1).unwrap_or_default().to_owned();
    println!("cargo::rustc-env=PINTLE_BUILD_RUSTC={rustc}");
    // Packages are built from archives, and say what these were made from.
    let (mut commit, mut date) = (variable("PINTLE_COMMIT"), variable("PINTLE_DATE"));
    println!("cargo::rerun-if-env-changed=PINTLE_COMMIT");
    println!("cargo::rerun-if-env-changed=PINTLE_DATE");
    // Not while developing: each commit would build the program again.
    let is_release = variable("PROFILE") == "release" && variable("OPT_LEVEL") != "1";
    if commit.is_empty() && is_release && !output("git", &["ls-files", "build.rs"]).is_empty() {
        commit = output("git", &["rev-parse", "HEAD"]);
        date = output("git", &["log", "-1", "--format=%cs"]);
        for path in ["HEAD", "logs/HEAD"] {
            println!("cargo::rerun-if-changed={}", output("git", &["rev-parse", "--git-path", path]));
        }
    }
    println!("cargo::rustc-env=PINTLE_BUILD_COMMIT={commit}");
    println!("cargo::rustc-env=PINTLE_BUILD_DATE={date}");
}

/// The first line that a program prints; empty if it cannot be run or fails.
fn output(program: &str, arguments: &[&str]) -> String {
    let Ok(output) = Command::new(program).args(arguments).output() else { return String::new() };
    if !output.status.success() {
        return String::new();
    }
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().trim().to_owned()
}
