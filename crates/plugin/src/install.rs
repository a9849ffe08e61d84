//! Brings a plugin to where it is loaded from. Nothing is left behind if that fails.

use std::fs;
use std::path::{Path, PathBuf};

use pintle_tree::LogLine;

use crate::archive::{metadata_of_archive, unpack};
use crate::copy::{copy_dir, symlink};
use crate::error::{Error, Result, make_dir, reason, refused};
use crate::git::{Git, Repository, cache_key};
use crate::manifest::Metadata;
use crate::package::archive_name;
use crate::source::{Source, base, is_plugin, plugin_name_of_archive, plugin_name_of_oci};

const NO_MANIFEST: &str = "plugin metadata (plugin.yaml) missing";

/// The folders of plugins, clones and temporary files.
#[derive(Clone, Debug)]
pub struct Locations {
    /// `<data>/plugins`: folders and archives are installed here, whatever `HELM_PLUGINS` says.
    pub data: PathBuf,
    /// `HELM_PLUGINS`: git repositories and artifacts are installed here.
    pub plugins: PathBuf,
    /// Plugins that Helm does not know are installed here, because it warns about each in its folders.
    pub own: PathBuf,
    /// `<cache>/plugins`: clones.
    pub cache: PathBuf,
    /// For temporary folders.
    pub temporary: PathBuf,
}

/// Installs one plugin.
#[derive(Clone)]
pub struct Installer<'i> {
    /// Where it comes from.
    pub source: Source,
    /// Where it goes.
    pub locations: &'i Locations,
    /// The program for git repositories.
    pub git: &'i dyn Git,
    /// Whether Helm does not know such plugins ([`Metadata::is_own`]), as far as that is known yet.
    pub is_own: bool,
}

impl Installer<'_> {
    /// The folder that it is installed as.
    pub fn target(&self) -> PathBuf {
        let Locations { data, plugins, own, .. } = self.locations;
        let (data, plugins) = if self.is_own { (own, own) } else { (data, plugins) };
        let (folder, name) = match &self.source {
            Source::Folder(path) | Source::OtherFile(path) => {
                (data, base(&path.to_string_lossy()).to_owned())
            }
            Source::Archive(path) => (data, plugin_name_of_archive(base(&path.to_string_lossy()))),
            Source::Url(url) => (data, plugin_name_of_archive(base(url))),
            Source::Oci(reference) => (plugins, plugin_name_of_oci(reference)),
            Source::Git(url) => (plugins, base(url).to_owned()),
        };
        // An empty name, `/` and `.` stand for the folder itself, which exists, so that `check_free` rejects it.
        match name.trim_matches('/') {
            "" | "." => folder.clone(),
            name => folder.join(name),
        }
    }

    /// Checks that nothing is installed there yet, and makes the folder above it.
    ///
    /// # Errors
    /// When there is something; the log line says what.
    pub fn check_free(&self, log: &mut Vec<LogLine>) -> Result<()> {
        let target = self.target();
        if let Some(parent) = target.parent() {
            make_dir(parent)?;
        }
        let error = match fs::metadata(&target) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => format!("stat {}: {}", target.display(), reason(&error)),
            Ok(_) => "<nil>".to_owned(),
        };
        let path = target.display().to_string();
        log.push(LogLine::warn("plugin already exists", vec![("path", path), ("error", error)]));
        Err(Error::Input("plugin already exists".to_owned()))
    }

    /// Links a folder.
    ///
    /// # Errors
    /// A source that is not a folder with a plugin.
    pub fn link(&self) -> Result<()> {
        let (Source::Folder(source) | Source::OtherFile(source)) = &self.source else {
            return Err(Error::Input("only folders are linked".to_owned()));
        };
        if !fs::metadata(source).map_err(refused("stat", source))?.is_dir() {
            return Err(Error::Input(
                "expected plugin to be a directory (containing a file 'plugin.yaml')".to_owned(),
            ));
        }
        if !is_plugin(source) {
            return Err(Error::Input(NO_MANIFEST.to_owned()));
        }
        let target = self.target();
        symlink(source, &target).map_err(|error| {
            Error::File(format!("symlink {} {}: {}", source.display(), target.display(), reason(&error)))
        })
    }

    /// The folder that archives are kept in.
    fn archives(&self) -> &Path {
        if self.is_own { &self.locations.own } else { &self.locations.data }
    }

    /// Removes what is kept of an archive.
    pub fn remove_kept(&self, metadata: &Metadata) {
        let path = self.archives().join(archive_name(metadata));
        // Errors are ignored: this undoes an installation that has failed already.
        let _ = fs::remove_file(path.with_extension("tgz.prov"));
        let _ = fs::remove_file(path);
    }

    /// Unpacks an archive, and keeps it beside the plugin with its signature.
    ///
    /// # Errors
    /// Archives that are refused, and those without a plugin.
    pub fn unpack(&self, archive: &[u8], provenance: Option<&[u8]>) -> Result<()> {
        let metadata = metadata_of_archive(archive)
            .map_err(|error| error.within("failed to extract plugin metadata from tarball"))?;
        let folder = tempfile::Builder::new()
            .prefix("helm-plugin-extract-")
            .tempdir_in(&self.locations.temporary)
            .map_err(|error| Error::File(format!("failed to create temp directory: {}", reason(&error))))?;
        let step = match self.source {
            Source::Archive(_) => "failed to extract archive",
            Source::Oci(_) => "failed to extract plugin",
            _ => "extracting files from archive",
        };
        unpack(archive, folder.path()).map_err(|error| error.within(step))?;
        let root = self.root(folder.path())?;
        copy_dir(&root, &self.target())?;
        self.keep(&archive_name(&metadata), archive, provenance).inspect_err(|_| {
            // A plugin without its archive would look unsigned.
            self.remove_kept(&metadata);
            let _ = fs::remove_dir_all(self.target());
        })
    }

    /// The folder of the plugin in what was unpacked.
    fn root(&self, folder: &Path) -> Result<PathBuf> {
        if let Source::Archive(path) = &self.source {
            let dir = folder.join(plugin_name_of_archive(base(&path.to_string_lossy())));
            let manifest = dir.join(crate::load::MANIFEST);
            fs::metadata(&manifest).map_err(refused("stat", &manifest)).map_err(|error| {
                error.within(&format!("plugin.yaml not found in expected directory {}", dir.display()))
            })?;
            return Ok(dir);
        }
        if is_plugin(folder) {
            return Ok(folder.to_owned());
        }
        let entries = fs::read_dir(folder).map_err(refused("open", folder))?;
        let mut dirs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        dirs.sort();
        dirs.into_iter().find(|dir| is_plugin(dir)).ok_or_else(|| match self.source {
            Source::Oci(_) => Error::Input(NO_MANIFEST.to_owned()),
            // Helm unpacks downloads in its cache, and its text has that path.
            _ => Error::Input(format!(
                "plugin.yaml not found in {} or its immediate subdirectories",
                match &self.source {
                    Source::Url(url) => self.locations.cache.join(cache_key(url)),
                    _ => folder.to_owned(),
                }
                .display()
            )),
        })
    }

    fn keep(&self, name: &str, archive: &[u8], provenance: Option<&[u8]>) -> Result<()> {
        let path = self.archives().join(name);
        make_dir(self.archives()).map_err(|error| error.within("failed to create plugins directory"))?;
        fs::write(&path, archive)
            .map_err(refused("open", &path))
            .map_err(|error| error.within("failed to save tarball"))?;
        if let Some(provenance) = provenance {
            let path = self.archives().join(format!("{name}.prov"));
            fs::write(&path, provenance).map_err(refused("open", &path))?;
        }
        Ok(())
    }

    /// The repository of the source.
    ///
    /// # Errors
    /// URLs that are not those of a git repository.
    pub fn repository(&self) -> Result<Repository<'_>> {
        let Source::Git(url) = &self.source else {
            return Err(Error::Input("only repositories are cloned".to_owned()));
        };
        Repository::new(self.git, url, self.locations.cache.join(cache_key(url)))
    }

    /// Clones a repository, and checks out a version.
    ///
    /// # Errors
    /// When git fails, and repositories that are no plugins.
    pub fn clone_repository(&self, repository: &Repository<'_>, version: &str) -> Result<()> {
        if let Some(parent) = repository.local.parent() {
            make_dir(parent)?;
        }
        repository.sync()?;
        if let Some(reference) = repository.solve(version)? {
            repository.checkout(&reference)?;
        }
        if !is_plugin(&repository.local) {
            return Err(Error::Input(NO_MANIFEST.to_owned()));
        }
        Ok(())
    }

    /// Copies a clone to where it is loaded from.
    ///
    /// # Errors
    /// Files that cannot be read or written.
    pub fn copy_repository(&self, repository: &Repository<'_>) -> Result<()> {
        copy_dir(&repository.local, &self.target())
    }
}

/// Checks that a folder has a manifest, whether it can be loaded or not.
///
/// # Errors
/// When it has none.
pub fn check_manifest(dir: &Path) -> Result<()> {
    if is_plugin(dir) { Ok(()) } else { Err(Error::Input(NO_MANIFEST.to_owned())) }
}
