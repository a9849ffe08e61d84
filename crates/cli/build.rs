//! Links the program at a fixed address where that is possible: starting it then needs no relocation, which is a tenth
//! of the time that a small chart takes (docs/decisions/0010-fixed-address.md). What the script engine does before
//! `main` is put side by side, or each of its forty small steps would fetch pages of code from somewhere else.

#![allow(clippy::print_stdout, reason = "printing is how a build script speaks to cargo")]

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        for argument in ["-no-pie", "-Wl,-z,keep-text-section-prefix"] {
            println!("cargo::rustc-link-arg-bin=pintle={argument}");
        }
    }
}
