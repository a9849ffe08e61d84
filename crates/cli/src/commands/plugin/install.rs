//! `plugin install`: installs a plugin, or all of a list.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pintle::Network;
use pintle::lua::{Fetch as _, FetchRequest};
use pintle::provenance::sha256;
use pintle::registry::{self, chart::ChartReference};
use pintle_plugin::{Installer, Metadata, Plugin, Source, archive_name, load_dir, metadata_of_archive};
use pintle_tree::quote::quote;

use super::{GitProgram, built_in, locations, run_hook, set, trace, verify};
use crate::chart_reference::absolute;
use crate::command::{ArgCompletion, Command, Operands};
use crate::env::Setting;
use crate::failure::{Failure, reason};
use crate::flag::groups::REMOTE;
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::plugins::permissions::{self, PERMISSIONS};
use crate::{provenance, registry_access, remote};

/// `plugin install PATH|URL`
pub(super) static COMMAND: Command = Command {
    name: "install",
    aliases: &["add"],
    operands_text: "[options] <path|url>",
    operands: Operands::Any,
    completion: ArgCompletion::FirstFile,
    short: "install a plugin",
    long: "\
Install a plugin from a directory, an archive (a path or a URL that ends in .tgz or .tar.gz), a registry (oci://…), or a
git repository.

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
      checksum: sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b

The plugins diff and unittest are built in and need not be installed. Programs that look for them in the folder of
plugins, such as `helmfile init`, find them there with

    {program} plugin install --built-in diff

and with --version, in the version that they ask for.",
    flags: &[OWN, PERMISSIONS, REMOTE],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::text(
        names::VERSION,
        "for git repositories, a tag, branch, commit or range; without it, the default branch",
    )
    .completes(FlagCompletion::Nothing),
    Flag::switch(names::VERIFY, "verify the signature of the plugin before installing it").or("true"),
    Flag::text(names::KEYRING, "the file of public keys for --verify").or_setting(Setting::Keyring),
    Flag::text(names::CHECKSUM, "the SHA-256 that the archive must have").completes(FlagCompletion::Nothing),
    Flag::switch(
        names::BUILT_IN,
        "make a built-in command, diff or unittest, visible as an installed plugin",
    ),
    Flag::text(names::FILE, "install the plugins that this file lists").short('f'),
];

/// The largest archive that is downloaded.
pub(super) const MAX_ARCHIVE: u64 = 512 << 20;

/// How long a web server may take to say what a URL is.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest provenance file that is downloaded.
const MAX_PROVENANCE: u64 = 1 << 20;

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let list = invocation.flags.text(names::FILE).to_owned();
    if !list.is_empty() {
        return set::install(invocation, &list);
    }
    let [source] = invocation.flags.operands.as_slice() else {
        let count = invocation.flags.operands.len();
        return Err(invocation.command_path.wrong_operands("requires 1 argument", count));
    };
    if invocation.flags.on(names::BUILT_IN) {
        let name = source.clone();
        return built_in::install(invocation, &name);
    }
    let wanted = RequestedPlugin {
        source: source.clone(),
        version: invocation.flags.text(names::VERSION).to_owned(),
        checksum: invocation.flags.text(names::CHECKSUM).to_owned(),
    };
    let plugin = install(invocation, &wanted)?;
    invocation.ui.print(&format!("Installed plugin: {}\n", plugin.metadata.name))
}

/// A plugin to install.
pub(super) struct RequestedPlugin {
    pub(super) source: String,
    pub(super) version: String,
    /// The SHA-256 of the archive, with or without `sha256:`; empty if none is known.
    pub(super) checksum: String,
}

impl RequestedPlugin {
    /// Whether the version is a full commit hash, which identifies its content.
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
pub(super) fn install(invocation: &mut Invocation<'_>, wanted: &RequestedPlugin) -> Result<Plugin, Failure> {
    let locations = locations(invocation.environment);
    let git = GitProgram::new(invocation.environment);
    let source = Source::classify(&wanted.source, |path| absolute(path), serves_archive);
    if let Source::Url(url) = &source
        && !source.supports_verification()
    {
        let error = pintle_plugin::Error::Input(format!("no extractor implemented yet for {url}"));
        return Err(unknown_source(url, &error)
            .with_pintle_text(format!("`{url}` is an archive without a name that says what it is"))
            .hint("the URL of an archive ends in .tgz or .tar.gz"));
    }
    if let Source::Oci(reference) = &source {
        ChartReference::parse(reference)
            .map_err(|error| Failure::from(pintle::Error::from(error)).during("invalid OCI reference"))?;
    }
    let mut installer = Installer { source, locations: &locations, git: &git, is_own: false };
    let remote = installer.clone();
    let repository = match &installer.source {
        Source::Git(url) => {
            if let (false, Err(text)) = (is_scp_like(url), pintle::repo::address::Address::parse(url)) {
                return Err(unknown_source(url, &pintle_plugin::Error::Input(text)));
            }
            Some(remote.repository().map_err(|error| unknown_source(&wanted.source, &error))?)
        }
        _ => None,
    };
    let verify = announce(invocation, &installer.source, wanted)?;
    check_free(invocation, &installer)?;
    match &repository {
        Some(repository) => {
            installer.clone_repository(repository, &wanted.version)?;
            if wanted.is_pinned() && repository.commit()? != wanted.version.to_lowercase() {
                return Err(Failure::run_time(format!("git did not check out commit {}", wanted.version)));
            }
            locate(
                invocation,
                &mut installer,
                load_dir(&repository.local).ok().map(|plugin| plugin.metadata),
            )?;
            installer.copy_repository(repository)?;
        }
        None if matches!(installer.source, Source::Folder(_) | Source::OtherFile(_)) => {
            if let Source::Folder(folder) = &installer.source {
                let metadata = load_dir(folder).ok().map(|plugin| plugin.metadata);
                locate(invocation, &mut installer, metadata)?;
            }
            if let Source::Folder(folder) = &installer.source
                && folder.join("plugin.yaml").exists()
            {
                let (source, path) = (folder.display().to_string(), installer.target().display().to_string());
                trace(invocation, "symlinking", vec![("source", source), ("path", path)]);
            }
            installer.link()?;
        }
        None => {
            let archive = fetch(invocation, &installer.source, wanted, verify)?;
            check_sum(&archive.bytes, &wanted.checksum)?;
            let verified = if verify { Some(verify_archive(invocation, &archive)?) } else { None };
            locate(invocation, &mut installer, metadata_of_archive(&archive.bytes).ok())?;
            installer.unpack(&archive.bytes, archive.provenance.as_deref())?;
            let finished = finish(invocation, &installer, verified.as_ref());
            if finished.is_err() && (invocation.personality == Personality::Pintle || installer.is_own) {
                metadata_of_archive(&archive.bytes)
                    .iter()
                    .for_each(|metadata| installer.remove_kept(metadata));
            }
            return finished;
        }
    }
    finish(invocation, &installer, None)
}

/// Loads an installed plugin, asks for its permissions, and runs its install hook.
fn finish(
    invocation: &mut Invocation<'_>,
    installer: &Installer<'_>,
    verified: Option<&pintle::provenance::Verified>,
) -> Result<Plugin, Failure> {
    if let Some(verified) = verified {
        invocation.ui.print(&verify::words(verified))?;
    }
    let path = installer.target().display().to_string();
    trace(invocation, "loading plugin", vec![("path", path)]);
    let plugin = load_dir(&installer.target()).map_err(|error| {
        if invocation.personality == Personality::Pintle {
            // What cannot be loaded cannot be uninstalled either.
            let _ = super::uninstall::remove_dir(&installer.target());
        }
        Failure::from(error).during("plugin is installed but unusable")
    })?;
    permissions::ask(invocation, &plugin).or_else(|failure| {
        super::uninstall::remove(invocation, &plugin)?;
        Err(failure)
    })?;
    run_hook(invocation, &plugin, "install").or_else(|failure| {
        // Helm leaves the plugin as it is.
        if invocation.personality == Personality::Pintle {
            super::uninstall::remove(invocation, &plugin)?;
        }
        Err(failure)
    })?;
    Ok(plugin)
}

/// Checks that nothing is installed in the place of the plugin.
fn check_free(invocation: &mut Invocation<'_>, installer: &Installer<'_>) -> Result<(), Failure> {
    let mut log = Vec::new();
    let free = installer.check_free(&mut log);
    log.iter().for_each(|line| invocation.ui.log(line));
    Ok(free?)
}

/// Chooses another place for a plugin that Helm does not know. What cannot be read is refused later.
fn locate(
    invocation: &mut Invocation<'_>,
    installer: &mut Installer<'_>,
    metadata: Option<Metadata>,
) -> Result<(), Failure> {
    installer.is_own = metadata.is_some_and(|metadata| metadata.is_own());
    if installer.is_own { check_free(invocation, installer) } else { Ok(()) }
}

/// Whether a source has the form of scp, `user@host:path`, which is no URL.
fn is_scp_like(source: &str) -> bool {
    let is_word = |text: &str, more: &[u8]| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || more.contains(&byte))
    };
    let parts = source.split_once('@').and_then(|(user, rest)| Some((user, rest.split_once(':')?.0)));
    parts.is_some_and(|(user, host)| is_word(user, b"_") && is_word(host, b"._-"))
}

/// Whether a web server says that a URL is an archive.
fn serves_archive(url: &str) -> bool {
    const TYPES: [&str; 4] =
        ["application/gzip", "application/x-gzip", "application/x-tgz", "application/x-gtar"];
    let request = FetchRequest {
        method: "HEAD".to_owned(),
        url: url.to_owned(),
        headers: BTreeMap::new(),
        body: Vec::new(),
        timeout: HEAD_TIMEOUT,
        max_bytes: 0,
    };
    let answer = Network::with_private_addresses().fetch(&request, &(Arc::new(|| false) as Arc<_>));
    let kind = answer.ok().and_then(|answer| answer.headers.get("content-type").cloned());
    kind.is_some_and(|kind| TYPES.contains(&kind.to_lowercase().as_str()))
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
fn announce(
    invocation: &mut Invocation<'_>,
    source: &Source,
    wanted: &RequestedPlugin,
) -> Result<bool, Failure> {
    if matches!(source, Source::Folder(_) | Source::OtherFile(_)) {
        invocation.ui.print("Installing plugin from local directory (development mode)\n")?;
        return Ok(false);
    }
    if !invocation.flags.on(names::VERIFY) {
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
fn fetch(
    invocation: &Invocation<'_>,
    source: &Source,
    wanted: &RequestedPlugin,
    verify: bool,
) -> Result<Archive, Failure> {
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
            let bytes = crate::read::file(path, MAX_ARCHIVE).map_err(|error| {
                let step = if error.kind() == std::io::ErrorKind::IsADirectory { "read" } else { "open" };
                let failure = Failure::run_time(format!("{step} {shown}: {}", reason(&error)));
                match verify {
                    true => {
                        failure.during("failed to read plugin file").during("failed to get verification data")
                    }
                    false => failure.during("failed to read archive"),
                }
            })?;
            let provenance = pintle::ops::read_signature_file(
                Path::new(&format!("{shown}.prov")),
                MAX_PROVENANCE as usize,
            )
            .ok();
            Ok(Archive { bytes, provenance, name: crate::path::base(&shown).to_owned() })
        }
        Source::Oci(reference) => pull(invocation, reference, wanted).map_err(|failure| match verify {
            true => failure.during("failed to get verification data"),
            false => failure,
        }),
        _ => Err(Failure::usage("only archives are fetched")),
    }
}

/// Pulls a plugin from a registry. The archive is named after the plugin's metadata, not after the layer.
fn pull(invocation: &Invocation<'_>, source: &str, wanted: &RequestedPlugin) -> Result<Archive, Failure> {
    let failed = |error: registry::Error| {
        Failure::from(pintle::Error::from(error)).during(&format!("failed to pull plugin from {source}"))
    };
    let mut reference = ChartReference::parse(source).map_err(failed)?;
    if reference.tag.is_empty() && reference.digest.is_empty() {
        if wanted.version.is_empty() {
            return Err(Failure::usage(format!("{source} has neither a tag nor a digest"))
                .hint("a version is a tag: oci://host/path/plugin:1.0.0, or --version 1.0.0"));
        }
        reference.tag = wanted.version.replace('+', "_");
    }
    let client = registry_access::client(invocation)?;
    let pulled = registry_access::run(client.pull_plugin(&reference, MAX_ARCHIVE))?.map_err(failed)?;
    let bytes = pulled.archive.to_vec();
    let metadata = metadata_of_archive(&bytes)
        .map_err(|error| Failure::from(error).during("failed to extract plugin metadata from tarball"))?;
    let provenance = pulled.provenance.map(|bytes| bytes.to_vec());
    Ok(Archive { bytes, provenance, name: archive_name(&metadata) })
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
    pintle::ops::verify_bytes(&keyring, &archive.bytes, &archive.name, text)
        .map_err(|error| Failure::from(error).during("plugin verification failed"))
}
