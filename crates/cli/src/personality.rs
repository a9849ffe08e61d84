//! The behavior that follows from the name of the program: its own, Helm's, or a single command, as in multi-call
//! binaries.

use std::path::Path;

/// The behavior of the program, by the name it was called by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Personality {
    /// `pintle`: our own texts and exit codes.
    Pintle,
    /// `helm`: Helm's texts, and exit code 1 on every failure.
    Helm,
}

impl Personality {
    /// Decides by the base name of `argv[0]`. Helm is often installed with its version in the name, so `helm3`,
    /// `helm4`, `helm4.2` and `helm-v4.2.4` are Helm, and so is `myhelm`; `helm-hooks` and `irr` are entry points of ours.
    pub(crate) fn from_name(called_as: &str) -> Personality {
        let name = Path::new(called_as).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = name.strip_suffix(".exe").unwrap_or(name);
        let is_helm = name.strip_prefix("helm").is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(|letter: char| letter == '-' || letter.is_ascii_digit())
        });
        let is_helm = is_helm || name.ends_with("helm") && !name.starts_with("pintle");
        if is_helm && EntryPoint::from_name(called_as).is_none() {
            Personality::Helm
        } else {
            Personality::Pintle
        }
    }

    /// The name of the program in texts.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Personality::Pintle => "pintle",
            Personality::Helm => "helm",
        }
    }
}

/// A name under which the program runs a single command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryPoint {
    /// The name.
    pub(crate) name: &'static str,
    /// The path of the command, below the root.
    pub(crate) path: &'static [&'static str],
}

/// All entry points except `pintle` and `helm`.
const ENTRY_POINTS: [EntryPoint; 2] = [
    EntryPoint { name: "helm-hooks", path: &["post-render", "hooks"] },
    EntryPoint { name: "irr", path: &["images"] },
];

impl EntryPoint {
    /// Returns the entry point for the name that the program was called by, if it is one.
    pub(crate) fn from_name(called_as: &str) -> Option<EntryPoint> {
        let stem = Path::new(called_as).file_stem().and_then(|stem| stem.to_str())?;
        ENTRY_POINTS.into_iter().find(|entry_point| entry_point.name == stem)
    }

    /// Replaces the commands in a text by what users of this entry point type.
    pub(crate) fn shorten(self, text: &str) -> String {
        text.replace(&format!("{{program}} {}", self.path.join(" ")), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_base_name_makes_a_helm() {
        assert_eq!(Personality::from_name("/usr/bin/helm"), Personality::Helm);
        assert_eq!(Personality::from_name("helm.exe"), Personality::Helm);
        assert_eq!(Personality::from_name("./pintle"), Personality::Pintle);
        assert_eq!(Personality::from_name("helmet"), Personality::Pintle);
        assert_eq!(Personality::from_name("pintle-helm"), Personality::Pintle);
    }

    #[test]
    fn helm_with_a_version_in_its_name_is_helm_and_commands_of_ours_are_not() {
        for name in
            ["helm3", "helm4", "/opt/helm4.2", "helm-v4.2.4", "helm-4.exe", "helm-linux-amd64", "myhelm"]
        {
            assert_eq!(Personality::from_name(name), Personality::Helm, "{name}");
        }
        for name in ["helm-hooks", "helm-hooks.exe", "irr", "helmfile", "helm_4"] {
            assert_eq!(Personality::from_name(name), Personality::Pintle, "{name}");
        }
    }

    #[test]
    fn entry_points_run_one_command() {
        assert_eq!(
            EntryPoint::from_name("/usr/bin/irr").map(|entry_point| entry_point.path),
            Some(&["images"][..])
        );
        assert_eq!(EntryPoint::from_name("pintle"), None);
        let entry_point = EntryPoint::from_name("irr").expect("a entry_point");
        assert_eq!(
            entry_point.shorten("{program} template | {program} images rewrite"),
            "{program} template | irr rewrite"
        );
    }
}
