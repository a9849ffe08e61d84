//! How the program is linked on Linux with glibc (docs/decisions/0017-position-independent.md): position-independent, with
//! all that the loader writes made read-only before `main`, and without an executable stack. rustc does the first by
//! itself; it is said again so that no default decides. What the script engine does before `main` is put side by side, or
//! each of its forty small steps would fetch pages of code from somewhere else.

#![allow(clippy::disallowed_methods, reason = "variables are how cargo speaks to a build script")]
#![allow(clippy::print_stdout, reason = "printing is how a build script speaks to cargo")]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        for argument in ["-pie", "-Wl,-z,relro,-z,now,-z,noexecstack", "-Wl,-z,keep-text-section-prefix"] {
            println!("cargo::rustc-link-arg-bin=pintle={argument}");
        }
    }
}
