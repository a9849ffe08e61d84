//! Manifests by which other package managers fetch the archives of a release: Homebrew, Scoop, winget, krew, AUR, Nix.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde_json::json;

const ABOUT: &str = "Package manager for Kubernetes and drop-in for Helm";
const HOME: &str = "https://pintle.dev";
const RELEASES: &str = "https://github.com/pintle-dev/pintle/releases/download";

/// A release, as far as it is built: the digest of the archive of each target.
pub(crate) struct Archives<'a> {
    pub(crate) version: &'a str,
    /// The SHA-256 of each archive by its target.
    pub(crate) digests: BTreeMap<&'a str, String>,
}

/// A manifest and the name of its file. One whose archives were not all built is left out.
pub(crate) fn all(archives: &Archives<'_>) -> Result<Vec<(&'static str, String)>> {
    let made = [
        ("homebrew/pintle.rb", archives.homebrew()),
        ("scoop/pintle.json", archives.scoop()),
        ("winget/Pintle.Pintle.installer.yaml", archives.winget()),
        ("winget/Pintle.Pintle.locale.en-US.yaml", Ok(archives.winget_locale())),
        ("winget/Pintle.Pintle.yaml", Ok(archives.winget_version())),
        ("krew/pintle.yaml", archives.krew()),
        ("aur/PKGBUILD", archives.aur()),
        ("nix/pintle.nix", archives.nix()),
        // mise installs what aqua's registry has.
        ("aqua/registry.yaml", Ok(archives.aqua())),
    ];
    let has = |name: &str| needs(name).iter().all(|target| archives.digests.contains_key(target));
    made.into_iter().filter(|(name, _)| has(name)).map(|(name, text)| Ok((name, text?))).collect()
}

/// The targets that a manifest cannot do without.
fn needs(name: &str) -> &'static [&'static str] {
    match name {
        _ if name.starts_with("scoop/") || name.starts_with("winget/") => &[WINDOWS],
        _ => &[X86, ARM],
    }
}

const X86: &str = "x86_64-unknown-linux-musl";
const ARM: &str = "aarch64-unknown-linux-musl";
const MAC: &str = "aarch64-apple-darwin";
const WINDOWS: &str = "x86_64-pc-windows-gnu";

impl Archives<'_> {
    fn folder(&self, target: &str) -> String {
        format!("pintle-v{}-{target}", self.version)
    }

    fn url(&self, target: &str) -> String {
        let format = if target == WINDOWS { "zip" } else { "tar.gz" };
        format!("{RELEASES}/v{}/{}.{format}", self.version, self.folder(target))
    }

    fn digest(&self, target: &str) -> Result<&str> {
        self.digests
            .get(target)
            .map(String::as_str)
            .with_context(|| format!("nothing was built for {target}"))
    }

    fn homebrew(&self) -> Result<String> {
        let source = |indent: &str, target: &str| -> Result<String> {
            Ok(format!("{indent}url \"{}\"\n{indent}sha256 \"{}\"\n", self.url(target), self.digest(target)?))
        };
        let mac = match self.digests.contains_key(MAC) {
            true => format!("  on_macos do\n{}  end\n", source("    ", MAC)?),
            false => String::new(),
        };
        Ok(format!(
            "class Pintle < Formula\n\
             \x20 desc \"{ABOUT}\"\n\
             \x20 homepage \"{HOME}\"\n\
             \x20 version \"{}\"\n\
             \x20 license \"Apache-2.0\"\n\n\
             {mac}\
             \x20 on_linux do\n\
             \x20   on_intel do\n{}    end\n\
             \x20   on_arm do\n{}    end\n\
             \x20 end\n\n\
             \x20 def install\n\
             \x20   bin.install \"pintle\"\n\
             \x20   man1.install Dir[\"man/man1/*.1\"]\n\
             \x20   bash_completion.install \"completions/pintle.bash\" => \"pintle\"\n\
             \x20   zsh_completion.install \"completions/_pintle\"\n\
             \x20   fish_completion.install \"completions/pintle.fish\"\n\
             \x20 end\n\n\
             \x20 test do\n\
             \x20   assert_match version.to_s, shell_output(\"#{{bin}}/pintle version\")\n\
             \x20 end\n\
             end\n",
            self.version,
            source("      ", X86)?,
            source("      ", ARM)?,
        ))
    }

    fn scoop(&self) -> Result<String> {
        let url = RELEASES.to_owned() + "/v$version/pintle-v$version-" + WINDOWS + ".zip";
        let manifest = json!({
            "version": self.version,
            "description": ABOUT,
            "homepage": HOME,
            "license": "Apache-2.0",
            "architecture": {"64bit": {
                "url": self.url(WINDOWS),
                "hash": self.digest(WINDOWS)?,
                "extract_dir": self.folder(WINDOWS),
            }},
            "bin": "pintle.exe",
            "autoupdate": {"architecture": {"64bit": {"url": url, "extract_dir": format!("pintle-v$version-{WINDOWS}")}}},
        });
        Ok(serde_json::to_string_pretty(&manifest)? + "\n")
    }

    fn winget(&self) -> Result<String> {
        Ok(format!(
            "PackageIdentifier: Pintle.Pintle\n\
             PackageVersion: {}\n\
             InstallerType: zip\n\
             NestedInstallerType: portable\n\
             NestedInstallerFiles:\n  - RelativeFilePath: {}\\pintle.exe\n    PortableCommandAlias: pintle\n\
             Installers:\n  - Architecture: x64\n    InstallerUrl: {}\n    InstallerSha256: {}\n\
             ManifestType: installer\nManifestVersion: 1.6.0\n",
            self.version,
            self.folder(WINDOWS),
            self.url(WINDOWS),
            self.digest(WINDOWS)?.to_uppercase(),
        ))
    }

    fn winget_locale(&self) -> String {
        format!(
            "PackageIdentifier: Pintle.Pintle\nPackageVersion: {}\nPackageLocale: en-US\nPublisher: Pintle maintainers\n\
             PackageName: Pintle\nPackageUrl: {HOME}\nLicense: Apache-2.0\nShortDescription: {ABOUT}\n\
             ManifestType: defaultLocale\nManifestVersion: 1.6.0\n",
            self.version
        )
    }

    fn winget_version(&self) -> String {
        format!(
            "PackageIdentifier: Pintle.Pintle\nPackageVersion: {}\nDefaultLocale: en-US\nManifestType: version\n\
             ManifestVersion: 1.6.0\n",
            self.version
        )
    }

    /// Where aqua finds archives of any version.
    fn aqua(&self) -> String {
        let mut replacements =
            String::from("      - goos: linux\n        replacements: {amd64: x86_64, arm64: aarch64}\n");
        if self.digests.contains_key(WINDOWS) {
            replacements.push_str(
                "      - goos: windows\n        goarch: amd64\n        format: zip\n        asset: pintle-{{.Version}}-x86_64-pc-windows-gnu.zip\n",
            );
        }
        format!(
            "packages:\n  - type: github_release\n    repo_owner: pintle-dev\n    repo_name: pintle\n    description: {ABOUT}\n\
             \x20   asset: pintle-{{{{.Version}}}}-{{{{.Arch}}}}-unknown-linux-musl.tar.gz\n    format: tar.gz\n\
             \x20   files:\n      - name: pintle\n        src: \"{{{{.AssetWithoutExt}}}}/pintle\"\n\
             \x20   supported_envs: [linux{}]\n    overrides:\n{replacements}\
             \x20   checksum: {{type: github_release, asset: SHA256SUMS, algorithm: sha256}}\n",
            if self.digests.contains_key(WINDOWS) { ", windows/amd64" } else { "" }
        )
    }

    /// `kubectl pintle`.
    fn krew(&self) -> Result<String> {
        let systems = [
            (X86, "linux", "amd64"),
            (ARM, "linux", "arm64"),
            (MAC, "darwin", "arm64"),
            (WINDOWS, "windows", "amd64"),
        ];
        let mut platforms = String::new();
        for (target, system, architecture) in systems {
            let Some(digest) = self.digests.get(target) else { continue };
            let program = if target == WINDOWS { "pintle.exe" } else { "pintle" };
            let folder = self.folder(target);
            platforms.push_str(&format!(
                "    - selector: {{matchLabels: {{os: {system}, arch: {architecture}}}}}\n\
                 \x20     uri: {}\n\
                 \x20     sha256: {digest}\n\
                 \x20     bin: {program}\n\
                 \x20     files:\n\
                 \x20       - {{from: {folder}/{program}, to: .}}\n\
                 \x20       - {{from: {folder}/LICENSE, to: .}}\n",
                self.url(target)
            ));
        }
        Ok(format!(
            "apiVersion: krew.googlecontainertools.github.com/v1alpha2\n\
             kind: Plugin\n\
             metadata:\n  name: pintle\n\
             spec:\n  version: v{}\n  homepage: {HOME}\n  shortDescription: Install, plan and rehearse Helm charts\n\
             \x20 description: |\n    Pintle renders, plans, installs, tests and rolls back Helm charts, and works on\n    the releases of Helm.\n\
             \x20 platforms:\n{platforms}",
            self.version
        ))
    }

    fn aur(&self) -> Result<String> {
        Ok(format!(
            "pkgname=pintle-bin\n\
             pkgver={}\n\
             pkgrel=1\n\
             pkgdesc='{ABOUT}'\n\
             arch=(x86_64 aarch64)\n\
             url='{HOME}'\n\
             license=(Apache-2.0)\n\
             provides=(pintle)\n\
             conflicts=(pintle)\n\
             source_x86_64=('{}')\n\
             source_aarch64=('{}')\n\
             sha256sums_x86_64=('{}')\n\
             sha256sums_aarch64=('{}')\n\n\
             package() {{\n\
             \x20 cd \"pintle-v$pkgver-$CARCH-unknown-linux-musl\"\n\
             \x20 install -Dm755 pintle \"$pkgdir/usr/bin/pintle\"\n\
             \x20 install -Dm644 -t \"$pkgdir/usr/share/man/man1\" man/man1/*.1\n\
             \x20 install -Dm644 completions/pintle.bash \"$pkgdir/usr/share/bash-completion/completions/pintle\"\n\
             \x20 install -Dm644 completions/_pintle \"$pkgdir/usr/share/zsh/site-functions/_pintle\"\n\
             \x20 install -Dm644 completions/pintle.fish \"$pkgdir/usr/share/fish/vendor_completions.d/pintle.fish\"\n\
             \x20 install -Dm644 LICENSE \"$pkgdir/usr/share/licenses/$pkgname/LICENSE\"\n\
             }}\n",
            self.version,
            self.url(X86),
            self.url(ARM),
            self.digest(X86)?,
            self.digest(ARM)?,
        ))
    }

    fn nix(&self) -> Result<String> {
        Ok(format!(
            "{{ stdenvNoCC, fetchurl, lib, installShellFiles }}:\n\
             let\n  sources = {{\n\
             \x20   x86_64-linux = {{ url = \"{}\"; sha256 = \"{}\"; }};\n\
             \x20   aarch64-linux = {{ url = \"{}\"; sha256 = \"{}\"; }};\n  }};\n\
             in stdenvNoCC.mkDerivation {{\n\
             \x20 pname = \"pintle\";\n\
             \x20 version = \"{}\";\n\
             \x20 src = fetchurl sources.${{stdenvNoCC.hostPlatform.system}};\n\
             \x20 nativeBuildInputs = [ installShellFiles ];\n\
             \x20 installPhase = ''\n\
             \x20   install -Dm755 pintle $out/bin/pintle\n\
             \x20   installManPage man/man1/*.1\n\
             \x20   installShellCompletion --bash --name pintle completions/pintle.bash\n\
             \x20   installShellCompletion --zsh --name _pintle completions/_pintle\n\
             \x20   installShellCompletion --fish completions/pintle.fish\n\
             \x20 '';\n\
             \x20 meta = {{ description = \"{ABOUT}\"; homepage = \"{HOME}\"; license = lib.licenses.asl20; mainProgram = \"pintle\"; }};\n\
             }}\n",
            self.url(X86),
            self.digest(X86)?,
            self.url(ARM),
            self.digest(ARM)?,
            self.version,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archives(targets: &[&'static str]) -> Archives<'static> {
        Archives {
            version: "1.2.3",
            digests: targets.iter().map(|target| (*target, format!("digest of {target}"))).collect(),
        }
    }

    #[test]
    fn a_manifest_names_the_archives_and_their_digests() {
        let made = all(&archives(&[X86, ARM, WINDOWS])).expect("manifests");
        let names: Vec<&str> = made.iter().map(|(name, _)| *name).collect();
        assert_eq!(names.len(), 9, "{names:?}");
        for (name, text) in &made {
            if name.starts_with("aqua/") {
                assert!(text.contains("pintle-{{.Version}}-{{.Arch}}-unknown-linux-musl.tar.gz"), "{text}");
                continue;
            }
            assert!(text.contains("1.2.3"), "{name}");
            if name.ends_with(".yaml") {
                pintle_yaml::read(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            if name.starts_with("winget/") && !name.contains("installer") {
                continue;
            }
            let upper = text.to_uppercase();
            for target in needs(name) {
                assert!(upper.contains(&format!("DIGEST OF {target}").to_uppercase()), "{name}: {target}");
            }
        }
    }

    #[test]
    fn what_was_not_built_is_not_offered() {
        assert!(
            all(&archives(&[WINDOWS]))
                .expect("manifests")
                .iter()
                .all(|(name, _)| name.contains("scoop") || name.contains("winget"))
        );
        let made = all(&archives(&[X86, ARM])).expect("manifests");
        assert!(made.iter().all(|(_, text)| !text.contains("windows") && !text.contains("darwin")));
    }

    #[test]
    fn the_manifest_for_scoop_is_json_and_that_for_krew_is_within_its_limits() {
        let archives = archives(&[X86, ARM, WINDOWS]);
        let scoop: serde_json::Value = serde_json::from_str(&archives.scoop().expect("made")).expect("JSON");
        assert_eq!(scoop["architecture"]["64bit"]["extract_dir"], "pintle-v1.2.3-x86_64-pc-windows-gnu");
        let krew = archives.krew().expect("made");
        let short =
            krew.lines().find_map(|line| line.trim().strip_prefix("shortDescription: ")).expect("there");
        assert!(short.len() <= 50 && !short.contains("kubectl"), "{short}");
    }
}
