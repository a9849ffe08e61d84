//! The systems that programs are built for.

use anyhow::{Context as _, Result};

/// A system that programs are built for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The name that Rust has for it; archives carry it.
    pub(crate) triple: &'static str,
    /// The oldest glibc that the program runs with; empty where it brings its own C library, or has none of glibc.
    pub(crate) glibc: &'static str,
    /// Debian's name of the architecture, for packages; empty where there are none.
    pub(crate) debian: &'static str,
    /// The architecture and its variant in container images; empty where there are none.
    pub(crate) container: (&'static str, &'static str),
    /// The emulator that runs its programs on x86_64 Linux; empty where the machine does, `None` where there is none.
    pub(crate) emulator: Option<&'static str>,
}

/// All targets. The first two are what most people install; musl makes them run on every Linux, without glibc too.
pub(crate) const TARGETS: [Target; 9] = [
    Target {
        triple: "x86_64-unknown-linux-musl",
        glibc: "",
        debian: "amd64",
        container: ("amd64", ""),
        emulator: Some(""),
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        glibc: "",
        debian: "arm64",
        container: ("arm64", "v8"),
        emulator: Some("qemu-aarch64-static"),
    },
    Target {
        triple: "x86_64-unknown-linux-gnu",
        glibc: "2.28",
        debian: "",
        container: ("", ""),
        emulator: Some(""),
    },
    Target {
        triple: "armv7-unknown-linux-gnueabihf",
        glibc: "2.28",
        debian: "armhf",
        container: ("", ""),
        emulator: Some("qemu-arm-static"),
    },
    Target {
        triple: "riscv64gc-unknown-linux-gnu",
        glibc: "2.31",
        debian: "riscv64",
        container: ("", ""),
        emulator: Some("qemu-riscv64-static"),
    },
    Target {
        triple: "s390x-unknown-linux-gnu",
        glibc: "2.28",
        debian: "s390x",
        container: ("", ""),
        emulator: Some("qemu-s390x-static"),
    },
    Target {
        triple: "powerpc64le-unknown-linux-gnu",
        glibc: "2.28",
        debian: "ppc64el",
        container: ("", ""),
        emulator: Some("qemu-ppc64le-static"),
    },
    Target {
        triple: "x86_64-pc-windows-gnu",
        glibc: "",
        debian: "",
        container: ("", ""),
        emulator: Some("wine64"),
    },
    Target { triple: "aarch64-apple-darwin", glibc: "", debian: "", container: ("", ""), emulator: None },
];

impl Target {
    pub(crate) fn named(triple: &str) -> Result<&'static Target> {
        let known = || TARGETS.iter().map(|target| target.triple).collect::<Vec<_>>().join(", ");
        TARGETS
            .iter()
            .find(|target| target.triple == triple)
            .with_context(|| format!("no target `{triple}`; there are {}", known()))
    }

    /// The name that cargo-zigbuild takes, which has the version of glibc behind a dot.
    pub(crate) fn for_zig(&self) -> String {
        if self.glibc.is_empty() { self.triple.to_owned() } else { format!("{}.{}", self.triple, self.glibc) }
    }

    pub(crate) fn is_windows(&self) -> bool {
        self.triple.contains("-windows-")
    }

    /// The file name of a program.
    pub(crate) fn program(&self, name: &str) -> String {
        if self.is_windows() { format!("{name}.exe") } else { name.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_target_is_answered_with_the_known_ones() {
        let error = Target::named("vax-dec-vms").expect_err("nobody builds for it").to_string();
        assert!(
            error.starts_with("no target `vax-dec-vms`; there are x86_64-unknown-linux-musl, "),
            "{error}"
        );
    }

    #[test]
    fn the_oldest_glibc_is_part_of_what_zig_is_asked_for() {
        let names: Vec<String> = TARGETS.iter().map(Target::for_zig).collect();
        assert_eq!(names[0], "x86_64-unknown-linux-musl");
        assert_eq!(names[2], "x86_64-unknown-linux-gnu.2.28");
    }
}
