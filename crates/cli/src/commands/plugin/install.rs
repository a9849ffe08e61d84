//! `plugin install`: installs a plugin, or all of a list.

use pintle::provenance::sha256;
use pintle_plugin::{Installer, Plugin, Source, load_dir};
use pintle_tree::quote::quote;

use super::{GitProgram, locations, run_hook, set, verify};
use crate::chart_reference::absolute;
use crate::command::{ArgCompletion, Command, Operands};
use crate::env::Setting;
use crate::failure::{Failure, reason};
use crate::flag::groups::REMOTE;
use crate::flag::{Flag, FlagCompletion};
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::{provenance, remote};

/// `plugin install PATH|URL`
pub(super) static COMMAND: Command = Command {
    name: "install",
    aliases: &["add"],
    operands_text: "[options] <path|url>",
    operands: Operands::Any,
    completion: ArgCompletion::FirstFile,
    short: "install a plugin",
    long: "\
Install a plugin from a directory, an archive (a path or a URL that ends in .tgz or .tar.gz), or a git repository.

The signature of an archive is verified with a provenance file beside it. A directory is linked and never verified. Git
repositories have no signatures: --verify=false installs from them without verification. Called as pintle, a source
also counts as verified if --version is a full commit, or if --checksum is the SHA-256 of the archive.

With --file, install all plugins of a list that are not installed yet:

    plugins:
    - name: diff
      source: https://github.com/databus23/helm-diff
      version: v3.15.11
    - name: hello
      source: https://example.com/hello-1.0.0.tgz
      checksum: sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b",
    flags: &[OWN, REMOTE],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::text(
        "version",
        "for git repositories, a tag, branch, commit or range; without it, the default branch",
    )
    .completes(FlagCompletion::Nothing),
    Flag::switch("verify", "verify the signature of the plugin before installing it").or("true"),
    Flag::text("keyring", "the file of public keys for --verify").or_setting(Setting::Keyring),
    Flag::text("checksum", "the SHA-256 that the archive must have").completes(FlagCompletion::Nothing),
    Flag::text("file", "install the plugins that this file lists").short('f'),
];

/// The largest archive that is downloaded.
const MAX_ARCHIVE: u64 = 512 << 20;

/// The largest provenance file that is downloaded.
const MAX_PROVENANCE: u64 = 1 << 20;

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let list = invocation.flags.text("file").to_owned();
    if !list.is_empty() {
        return set::install(invocation, &list);
    }
    let [source] = invocation.flags.operands.as_slice() else {
        let count = invocation.flags.operands.len();
        return Err(invocation.command_path.wrong_operands("requires 1 argument", count));
    };
    let wanted = Wanted {
        source: source.clone(),
        version: invocation.flags.text("version").to_owned(),
        checksum: invocation.flags.text("checksum").to_owned(),
    };
    let plugin = install(invocation, &wanted)?;
    invocation.ui.print(&format!("Installed plugin: {}\n", plugin.metadata.name))
}

/// A plugin to install.
pub(super) struct Wanted {
    pub(super) source: String,
    pub(super) version: String,
    /// The SHA-256 of the archive, with or without `sha256:`; empty if none is known.
    pub(super) checksum: String,
}

impl Wanted {
    /// Whether the version is a whole commit, which names its content.
    fn is_pinned(&self) -> bool {
        self.version.len() == 40 && self.version.bytes().all(|byte| byte.is_ascii_hexdigit())
    }
}

/// The archive of a plugin, with its provenance file.
struct Archive {
    bytes: Vec<u8>,
    provenance: Option<Vec<u8>>,
    name: String,
}

/// Installs a plugin and runs its install hook.
pub(super) fn install(invocation: &mut Invocation<'_>, wanted: &Wanted) -> Result<Plugin, Failure> {
    let locations = locations(invocation.environment);
    let git = GitProgram { environment: invocation.environment };
    let source = Source::classify(&wanted.source, |path| absolute(path).into(), |_| false);
    if let Source::Oci(_) = source {
        return Err(Failure::not_built(
            "plugins cannot be installed from registries yet",
            "`oras pull` gets the archive, which can be installed",
        ));
    }
    let installer = Installer { source, locations: &locations, git: &git };
    let repository = match installer.source {
        Source::Git(_) => {
            Some(installer.repository().map_err(|error| unknown_source(&wanted.source, &error))?)
        }
        _ => None,
    };
    let verify = announce(invocation, &installer.source, wanted)?;
    let mut log = Vec::new();
    let free = installer.check_free(&mut log);
    log.iter().for_each(|line| invocation.ui.log(line));
    free?;
    match &repository {
        Some(repository) => {
            installer.clone_repository(repository, &wanted.version)?;
            if wanted.is_pinned() && repository.commit()? != wanted.version.to_lowercase() {
                let _ = std::fs::remove_dir_all(installer.target());
                return Err(Failure::run_time(format!("git did not check out commit {}", wanted.version)));
            }
        }
        None if matches!(installer.source, Source::Folder(_) | Source::OtherFile(_)) => installer.link()?,
        None => {
            let archive = fetch(invocation, &installer.source, verify)?;
            check_sum(&archive.bytes, &wanted.checksum)?;
            let verified = if verify { Some(verify_archive(invocation, &archive)?) } else { None };
            installer.unpack(&archive.bytes, archive.provenance.as_deref())?;
            if let Some(verified) = verified {
                invocation.ui.print(&verify::words(&verified))?;
            }
        }
    }
    let plugin = load_dir(&installer.target())
        .map_err(|error| Failure::from(error).during("plugin is installed but unusable"))?;
    run_hook(invocation, &plugin, "install")?;
    Ok(plugin)
}

fn unknown_source(source: &str, error: &pintle_plugin::Error) -> Failure {
    let text = format!(
        "cannot get information about plugin source {} (if it's a local directory, does it exist?), last error was: {error}",
        quote(source.as_bytes())
    );
    if error.to_string() != "Cannot detect VCS" {
        return Failure::usage(text).with_pintle_text(format!("cannot install `{source}`: {error}"));
    }
    Failure::usage(text)
        .with_pintle_text(format!(
            "`{source}` is no directory, no archive and no git repository that is known"
        ))
        .hint("the URL of a git repository ends in .git, or its host is one such as github.com")
}

/// Decides whether a signature is verified, and says so.
fn announce(invocation: &mut Invocation<'_>, source: &Source, wanted: &Wanted) -> Result<bool, Failure> {
    if matches!(source, Source::Folder(_) | Source::OtherFile(_)) {
        invocation.ui.print("Installing plugin from local directory (development mode)\n")?;
        return Ok(false);
    }
    if !invocation.flags.on("verify") {
        invocation.ui.print("WARNING: Skipping plugin signature verification\n")?;
        return Ok(false);
    }
    let is_git = matches!(source, Source::Git(_));
    let counts = if is_git { wanted.is_pinned() } else { !wanted.checksum.is_empty() };
    if invocation.personality == Personality::Pintle && counts {
        return Ok(false);
    }
    if !source.supports_verification() {
        let text = "plugin source does not support verification. Use --verify=false to skip verification";
        return Err(Failure::usage(text)
            .with_pintle_text("a git repository has no signature that could be verified")
            .hint("pin it with --version and a full commit, or pass --verify=false"));
    }
    invocation.ui.print("Verifying plugin signature...\n")?;
    Ok(true)
}

/// Reads or downloads an archive and its provenance file. There need not be one.
fn fetch(invocation: &Invocation<'_>, source: &Source, verify: bool) -> Result<Archive, Failure> {
    match source {
        Source::Url(url) => {
            let getter = remote::getter(invocation, remote::TIMEOUT);
            let get = |url: &str, limit| {
                let access = remote::access(&invocation.flags);
                let request = pintle::repo::Request { url, home: url, access, limit, ..Default::default() };
                getter.get_bytes(&request).map(|(_, bytes)| bytes)
            };
            let bytes = get(url, MAX_ARCHIVE).map_err(|error| {
                let failure = Failure::from(error);
                match verify {
                    true => {
                        failure.during("failed to download plugin").during("failed to get verification data")
                    }
                    false => failure,
                }
            })?;
            let provenance = get(&format!("{url}.prov"), MAX_PROVENANCE).ok();
            Ok(Archive { bytes, provenance, name: crate::path::base(url).to_owned() })
        }
        Source::Archive(path) => {
            let shown = path.display().to_string();
            let bytes = std::fs::read(path).map_err(|error| {
                Failure::run_time(format!("failed to read archive: open {shown}: {}", reason(&error)))
            })?;
            let provenance = provenance::read(&format!("{shown}.prov"), MAX_PROVENANCE as usize).ok();
            Ok(Archive { bytes, provenance, name: crate::path::base(&shown).to_owned() })
        }
        _ => Err(Failure::usage("only archives are fetched")),
    }
}

fn check_sum(archive: &[u8], checksum: &str) -> Result<(), Failure> {
    let wanted = checksum.strip_prefix("sha256:").unwrap_or(checksum).to_lowercase();
    let found = sha256(archive);
    if wanted.is_empty() || wanted == found {
        return Ok(());
    }
    Err(Failure::run_time(format!("the archive has the SHA-256 {found}, and not {wanted}"))
        .hint("it was changed or damaged; nothing was installed"))
}

fn verify_archive(
    invocation: &Invocation<'_>,
    archive: &Archive,
) -> Result<pintle::provenance::Verified, Failure> {
    let Some(text) = archive.provenance.as_deref().filter(|text| !text.is_empty()) else {
        return Err(Failure::run_time("plugin verification failed: no provenance file (.prov) found").hint(
            "--checksum with the SHA-256 of the archive counts too, and --verify=false verifies nothing",
        ));
    };
    let keyring = provenance::keyring_file(invocation);
    provenance::verify_bytes(&keyring, &archive.bytes, &archive.name, text)
        .map_err(|failure| failure.during("plugin verification failed"))
}
