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
    /// Decides by the base name of `argv[0]`: `helm` as a word of its own, in any case. Installations put versions,
    /// platforms and the marks of wrappers around it: `helm3`, `helm-v4.2.4`, `helm_v4`, `myhelm`, `Helm.exe`,
    /// `helm.real`, `.helm-wrapped`. `helmfile` is another word; `helm-hooks` and `irr` are entry points of ours, and what
    /// begins with `pintle` is `pintle`.
    pub(crate) fn from_name(called_as: &str) -> Personality {
        let name = base_name(called_as).to_lowercase();
        let is_helm = name.match_indices("helm").any(|(at, word)| ends_a_word(&name[at + word.len()..]));
        if is_helm
            && !name.trim_start_matches('.').starts_with("pintle")
            && EntryPoint::from_name(called_as).is_none()
        {
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

/// The file name of `argv[0]`.
pub(crate) fn base_name(called_as: &str) -> &str {
    Path::new(called_as).file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Whether a word ends before `rest`: no letter follows, except for the `v` of a version.
fn ends_a_word(rest: &str) -> bool {
    let rest = rest
        .strip_prefix('v')
        .filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        .unwrap_or(rest);
    !rest.starts_with(char::is_alphabetic)
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
    /// Returns the entry point for the name that the program was called by, if it is one. As for `helm`, letter case, an
    /// extension and the marks of a wrapper (`.irr-wrapped`) do not count.
    pub(crate) fn from_name(called_as: &str) -> Option<EntryPoint> {
        let name = base_name(called_as).to_lowercase();
        let name = name.trim_start_matches('.');
        let name = name.split_once('.').map_or(name, |(stem, _)| stem);
        let name = name.strip_suffix("-wrapped").unwrap_or(name);
        ENTRY_POINTS.into_iter().find(|entry_point| entry_point.name == name)
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
        for name in
            ["helm-hooks", "helm-hooks.exe", "irr", "helmfile", "helmsman", "helmvault", "pintle-helm"]
        {
            assert_eq!(Personality::from_name(name), Personality::Pintle, "{name}");
        }
    }

    #[test]
    fn helm_is_recognized_in_the_names_that_installers_and_wrappers_give_it() {
        for name in [
            "helm_v4",
            "helm_4",
            "Helm",
            "HELM.EXE",
            "helm.real",
            "/nix/store/x/bin/.helm-wrapped",
            "helmv4",
            "myhelm4",
            "my-helm-4.2",
            "helm4.2.4-linux-amd64.bak",
            ".helm",
            "helm~",
        ] {
            assert_eq!(Personality::from_name(name), Personality::Helm, "{name}");
        }
        for name in
            [".helm-hooks-wrapped", "Helm-Hooks.EXE", ".irr-wrapped", "IRR", ".pintle-helm-wrapped", "helmé"]
        {
            assert_eq!(Personality::from_name(name), Personality::Pintle, "{name}");
        }
        let entry_point = |name| EntryPoint::from_name(name).map(|entry_point| entry_point.name);
        assert_eq!(entry_point("/bin/.helm-hooks-wrapped"), Some("helm-hooks"));
        assert_eq!(entry_point("Irr.exe"), Some("irr"));
        assert_eq!(entry_point("helm-hooks2"), None);
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
