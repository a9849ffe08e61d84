//! OCI image layouts: images as files, for transfer to places without network access.
//!
//! A blob gets its final name only when it is complete and verified; until then it is in `ingest/`, where the next
//! copy resumes it. `index.json` is replaced atomically. So a reader sees only whole images at any time.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use pintle_tree::{Map, Node};

use crate::copy::SUFFIXES;
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::manifest::{Descriptor, INDEX, MANIFEST_LIMIT, Manifest};

/// The standard annotation for the name of an image.
const NAME: &str = "org.opencontainers.image.ref.name";

/// The annotation that containerd reads.
const CONTAINERD_NAME: &str = "io.containerd.image.name";

/// The maximum size of `index.json`.
const INDEX_LIMIT: u64 = 64 << 20;

/// Pipes and devices are rejected, because reading them might never end.
const NOT_REGULAR_FILE: &str = "it is not a regular file";

const MARK: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;

/// An OCI layout folder.
pub struct Layout {
    root: PathBuf,
    index: Mutex<Node>,
    /// The exclusive lock of a writer.
    _lock: Option<File>,
}

impl Layout {
    /// Opens a layout for reading.
    ///
    /// # Errors
    ///
    /// When it is not a layout.
    pub fn open(root: &Path) -> Result<Layout> {
        let index = read_index(root)?;
        let index = index.ok_or_else(|| Error::Settings {
            what: root.display().to_string(),
            reason: "it is not an OCI layout (no index.json)".into(),
        })?;
        Ok(Layout { root: root.to_owned(), index: Mutex::new(index), _lock: None })
    }

    /// Opens a layout for writing, creating it if needed.
    ///
    /// # Errors
    ///
    /// When the folder holds something else, or another process is writing it.
    pub fn create(root: &Path) -> Result<Layout> {
        let ingest = root.join("ingest");
        reject_foreign_folder(root)?;
        for folder in [root.join("blobs/sha256"), ingest.clone()] {
            fs::create_dir_all(&folder).map_err(Error::file("make", &folder))?;
        }
        let path = ingest.join("lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(Error::file("open", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => return Err(Error::Busy { path: root.to_owned() }),
            Err(fs::TryLockError::Error(source)) => return Err(Error::File { action: "lock", path, source }),
        }
        let index = read_index(root)?;
        let is_new = index.is_none();
        let layout = Layout {
            root: root.to_owned(),
            index: Mutex::new(index.unwrap_or_else(empty)),
            _lock: Some(lock),
        };
        if is_new {
            layout.write(&root.join("oci-layout"), MARK)?;
            layout.write_index(&layout.index.lock().unwrap_or_else(PoisonError::into_inner))?;
        }
        Ok(layout)
    }

    /// Opens a layout that may be written later, without writing anything. A missing folder is an empty layout.
    ///
    /// # Errors
    ///
    /// When the folder holds something else.
    pub fn preview(root: &Path) -> Result<Layout> {
        reject_foreign_folder(root)?;
        let index = read_index(root)?.unwrap_or_else(empty);
        Ok(Layout { root: root.to_owned(), index: Mutex::new(index), _lock: None })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The names in the index with their descriptors, in index order.
    pub fn names(&self) -> Vec<(String, Descriptor)> {
        let entries = self.entries();
        let named = entries.into_iter().filter_map(|entry| {
            let name = entry.annotation(CONTAINERD_NAME).or_else(|| entry.annotation(NAME))?.to_owned();
            Some((name, entry))
        });
        named.collect()
    }

    /// The names of images, without signatures and other artifacts.
    ///
    /// # Errors
    ///
    /// When a manifest cannot be read.
    pub fn images(&self) -> Result<Vec<String>> {
        let mut images = Vec::new();
        for (name, entry) in self.names() {
            if is_signature(&name) {
                continue;
            }
            let manifest = self.manifest(&entry.digest, &entry.media_type)?;
            if manifest.is_none_or(|manifest| manifest.subject.is_none()) {
                images.push(name);
            }
        }
        Ok(images)
    }

    /// All entries of the index.
    pub(crate) fn entries(&self) -> Vec<Descriptor> {
        let index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let list = index.get("manifests").and_then(Node::as_list).unwrap_or_default();
        list.iter().filter_map(Descriptor::read).collect()
    }

    /// The entry with a name.
    pub(crate) fn find(&self, name: &str) -> Option<Descriptor> {
        self.names().into_iter().find(|(known, _)| known == name).map(|(_, entry)| entry)
    }

    /// The path of a blob.
    pub(crate) fn blob_path(&self, digest: &Digest) -> PathBuf {
        self.root.join("blobs").join(digest.algorithm()).join(digest.hex())
    }

    /// The path of a partial blob.
    pub(crate) fn ingest_path(&self, digest: &Digest) -> PathBuf {
        self.root.join("ingest").join(digest.tag())
    }

    /// Whether a blob exists. It was verified before it got its name, so only its size is checked.
    pub(crate) fn has_blob(&self, digest: &Digest, size: u64) -> bool {
        fs::metadata(self.blob_path(digest)).is_ok_and(|file| file.is_file() && file.len() == size)
    }

    /// Moves a complete and verified blob to its final name.
    pub(crate) fn commit_blob(&self, digest: &Digest) -> Result<()> {
        let (from, to) = (self.ingest_path(digest), self.blob_path(digest));
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(Error::file("make", folder))?;
        }
        fs::rename(&from, &to).map_err(Error::file("rename", &from))
    }

    /// Reads a manifest; `None` if it does not exist.
    pub(crate) fn manifest(&self, digest: &Digest, media_type: &str) -> Result<Option<Manifest>> {
        let path = self.blob_path(digest);
        let what = path.display().to_string();
        match fs::metadata(&path) {
            Ok(file) if !file.is_file() => {
                return Err(Error::Size { what, reason: NOT_REGULAR_FILE.to_owned() });
            }
            Ok(file) if file.len() > MANIFEST_LIMIT as u64 => {
                let reason =
                    format!("it is larger than {MANIFEST_LIMIT} bytes, which is the most that is taken");
                return Err(Error::Size { what, reason });
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::File { action: "read", path, source }),
        }
        let bytes = Bytes::from(fs::read(&path).map_err(Error::file("read", &path))?);
        digest.check(&bytes, &what)?;
        Manifest::read(bytes, digest.clone(), media_type, &what).map(Some)
    }

    /// Writes a manifest.
    pub(crate) fn put_manifest(&self, manifest: &Manifest) -> Result<()> {
        if self.has_blob(&manifest.digest, manifest.bytes.len() as u64) {
            return Ok(());
        }
        let path = self.blob_path(&manifest.digest);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::file("make", folder))?;
        }
        self.write(&path, &manifest.bytes)
    }

    /// Adds a manifest to the index under a name, replacing a previous entry of that name.
    pub(crate) fn enter(&self, name: &str, descriptor: &Descriptor) -> Result<()> {
        let mut entry = descriptor.raw.clone();
        if let Some(map) = entry.as_map_mut() {
            let mut notes = Map::new();
            notes.insert(NAME.into(), name.into());
            notes.insert(CONTAINERD_NAME.into(), name.into());
            map.insert("annotations".into(), notes.into());
        }
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let before = index.get("manifests").and_then(Node::as_list).unwrap_or_default();
        let same = |node: &Node| {
            let found = Descriptor::read(node);
            found.is_some_and(|found| {
                found.annotation(CONTAINERD_NAME).or_else(|| found.annotation(NAME)) == Some(name)
            })
        };
        let mut entries: Vec<Node> = before.iter().filter(|node| !same(node)).cloned().collect();
        entries.push(entry);
        // Copies run concurrently, so the entries are sorted to make the index deterministic.
        entries.sort_by_cached_key(|node| {
            let text = |key: &str| {
                node.get("annotations").and_then(|notes| notes.get(key)?.as_str()).map(str::to_owned)
            };
            (
                text(CONTAINERD_NAME).or_else(|| text(NAME)),
                node.get("digest").and_then(Node::as_str).map(str::to_owned),
            )
        });
        let mut after = index.clone();
        if let Some(map) = after.as_map_mut() {
            map.insert("manifests".into(), entries.into());
        }
        self.write_index(&after)?;
        *index = after;
        Ok(())
    }

    fn write_index(&self, index: &Node) -> Result<()> {
        let path = self.root.join("index.json");
        let text = pintle_tree::json::write_raw(index).map_err(|error| Error::Manifest {
            what: path.display().to_string(),
            reason: error.to_string(),
        })?;
        self.write(&path, &text)
    }

    /// Writes a file atomically: temporary file, sync, rename.
    fn write(&self, path: &Path, content: &[u8]) -> Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let builder = self.root.join("ingest").join(format!("{name}.new"));
        let write = |builder: &Path| -> std::io::Result<()> {
            let mut file = File::create(builder)?;
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(builder, path)
        };
        write(&builder).map_err(Error::file("write", path))
    }
}

/// Whether a name is one of cosign's tags for signatures and the like.
fn is_signature(name: &str) -> bool {
    let Some((_, tag)) = name.rsplit_once(':') else { return false };
    let Some((front, suffix)) = tag.rsplit_once('.') else { return false };
    SUFFIXES.contains(&suffix) && front.strip_prefix("sha256-").is_some_and(|hex| hex.len() == 64)
}

fn empty() -> Node {
    let mut index = Map::new();
    index.insert("schemaVersion".into(), Node::Int(2));
    index.insert("mediaType".into(), INDEX.into());
    index.insert("manifests".into(), Vec::new().into());
    index.into()
}

/// Rejects a folder that holds something else.
fn reject_foreign_folder(root: &Path) -> Result<()> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(Error::File { action: "read", path: root.to_owned(), source }),
    };
    let mut ours = true;
    for entry in entries {
        let name = entry.map_err(Error::file("read", root))?.file_name();
        if name == "oci-layout" || name == "index.json" {
            return Ok(());
        }
        // A copy that was interrupted early leaves only these folders.
        ours &= name == "blobs" || name == "ingest";
    }
    if ours {
        return Ok(());
    }
    let reason = "it is not empty, and no OCI layout folder".into();
    Err(Error::Settings { what: root.display().to_string(), reason })
}

fn read_index(root: &Path) -> Result<Option<Node>> {
    let path = root.join("index.json");
    match fs::metadata(&path) {
        Ok(file) if !file.is_file() => {
            return Err(Error::Size {
                what: path.display().to_string(),
                reason: NOT_REGULAR_FILE.to_owned(),
            });
        }
        Ok(file) if file.len() > INDEX_LIMIT => {
            let reason = format!("it is larger than {INDEX_LIMIT} bytes, which is the most that is taken");
            return Err(Error::Size { what: path.display().to_string(), reason });
        }
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(Error::File { action: "read", path, source }),
    }
    let text = fs::read(&path).map_err(Error::file("read", &path))?;
    let bad = |reason: String| Error::Manifest { what: path.display().to_string(), reason };
    let index =
        pintle_tree::json::read_exact(&text).map_err(|error| bad(format!("invalid JSON: {error}")))?;
    let entries =
        index.get("manifests").and_then(Node::as_list).ok_or_else(|| bad("it has no `manifests`".into()))?;
    match entries.iter().position(|entry| Descriptor::read(entry).is_none()) {
        None => Ok(Some(index)),
        Some(index) => Err(bad(format!("entry {index} of `manifests` is invalid"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_the_same_whatever_the_order_of_copies() {
        let texts = [["a/b:1", "a/b:2"], ["a/b:2", "a/b:1"]].map(|names| {
            let folder = tempfile::tempdir().unwrap();
            let layout = Layout::create(folder.path()).unwrap();
            for name in names {
                layout.enter(name, &Descriptor::of("m", &Digest::of(name.as_bytes()), 5)).unwrap();
            }
            fs::read(folder.path().join("index.json")).unwrap()
        });
        assert_eq!(texts[0], texts[1]);
    }

    #[test]
    fn one_writes_and_all_may_read() {
        let folder = tempfile::tempdir().unwrap();
        let writer = Layout::create(folder.path()).unwrap();
        assert!(matches!(Layout::create(folder.path()), Err(Error::Busy { .. })));
        writer.enter("a/b:1", &Descriptor::of("m", &Digest::of(b"1"), 1)).unwrap();
        writer.enter("a/b:1", &Descriptor::of("m", &Digest::of(b"2"), 1)).unwrap();
        let reader = Layout::open(folder.path()).unwrap();
        assert_eq!(reader.names().len(), 1);
        assert_eq!(reader.find("a/b:1").unwrap().digest, Digest::of(b"2"));
        drop(writer);
        Layout::create(folder.path()).unwrap();
    }

    #[test]
    fn foreign_folders_are_rejected() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("letter.txt"), "dear").unwrap();
        assert!(matches!(Layout::create(folder.path()), Err(Error::Settings { .. })));
        assert!(matches!(Layout::open(folder.path()), Err(Error::Settings { .. })));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        fs::write(
            folder.path().join("index.json"),
            r#"{"manifests":[{"digest":"sha256:../../x","size":1}]}"#,
        )
        .unwrap();
        assert!(matches!(Layout::open(folder.path()), Err(Error::Manifest { .. })));
    }
}
