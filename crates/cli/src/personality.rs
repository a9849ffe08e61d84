//! The name that the program was called by: itself, Helm, or a command of its own, as multi-call binaries do.

use std::path::Path;

/// Whose behavior the program has, by the name that it was called by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Personality {
    /// The program itself: own texts, own exit codes.
    Pintle,
    /// A drop-in for Helm: its texts, exit 1 on every failure.
    Helm,
}

impl Personality {
    /// Decides by the last part of the first word of the command line. Helm is often installed under a name that has its
    /// version in it, so `helm3`, `helm4`, `helm4.2` and `helm-v4.2.4` are Helm; `helm-hooks` and `irr` are not, since
    /// they are names of a command of ours.
    pub(crate) fn of(called_as: &str) -> Personality {
        let name = Path::new(called_as).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = name.strip_suffix(".exe").unwrap_or(name);
        let is_helm = name.strip_prefix("helm").is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(|letter: char| letter == '-' || letter.is_ascii_digit())
        });
        if is_helm && EntryPoint::of(called_as).is_none() { Personality::Helm } else { Personality::Pintle }
    }

    /// The name in texts.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Personality::Pintle => "pintle",
            Personality::Helm => "helm",
        }
    }
}

/// A name under which one command is a program of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryPoint {
    /// The name.
    pub(crate) name: &'static str,
    /// The way to the command.
    pub(crate) way: &'static [&'static str],
}

/// All entry points besides the program's own and Helm's.
const ENTRY_POINTS: [EntryPoint; 2] = [
    EntryPoint { name: "helm-hooks", way: &["post-render", "hooks"] },
    EntryPoint { name: "irr", way: &["images"] },
];

impl EntryPoint {
    /// Returns the entry point for the name that the program was called by, if it is one.
    pub(crate) fn of(called_as: &str) -> Option<EntryPoint> {
        let stem = Path::new(called_as).file_stem().and_then(|stem| stem.to_str())?;
        ENTRY_POINTS.into_iter().find(|door| door.name == stem)
    }

    /// A text about commands, with commands spelled as users of this entry point type them.
    pub(crate) fn shorten(self, text: &str) -> String {
        text.replace(&format!("{{program}} {}", self.way.join(" ")), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_base_name_makes_a_helm() {
        assert_eq!(Personality::of("/usr/bin/helm"), Personality::Helm);
        assert_eq!(Personality::of("helm.exe"), Personality::Helm);
        assert_eq!(Personality::of("./pintle"), Personality::Pintle);
        assert_eq!(Personality::of("helmet"), Personality::Pintle);
        assert_eq!(Personality::of("pintle-helm"), Personality::Pintle);
    }

    #[test]
    fn helm_with_a_version_in_its_name_is_helm_and_commands_of_ours_are_not() {
        for name in ["helm3", "helm4", "/opt/helm4.2", "helm-v4.2.4", "helm-4.exe", "helm-linux-amd64"] {
            assert_eq!(Personality::of(name), Personality::Helm, "{name}");
        }
        for name in ["helm-hooks", "helm-hooks.exe", "irr", "helmfile", "helm_4"] {
            assert_eq!(Personality::of(name), Personality::Pintle, "{name}");
        }
    }

    #[test]
    fn some_commands_have_a_door_of_their_own() {
        assert_eq!(EntryPoint::of("/usr/bin/irr").map(|door| door.way), Some(&["images"][..]));
        assert_eq!(EntryPoint::of("pintle"), None);
        let door = EntryPoint::of("irr").expect("a door");
        assert_eq!(
            door.shorten("{program} template | {program} images rewrite"),
            "{program} template | irr rewrite"
        );
    }
}
