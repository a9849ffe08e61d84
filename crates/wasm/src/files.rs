//! The folder `/tmp` of a module. It is in memory, and discarded after the call.

use std::collections::BTreeMap;

use crate::guest::Errno;

/// The descriptor of the folder, after the three standard streams.
const ROOT: u32 = 3;

/// The most bytes of all files.
const MAX_BYTES: usize = 256 << 20;

/// The most files, folders and open descriptors.
const MAX_FILES: usize = 10_000;

/// The path of the folder.
pub(crate) const PATH: &str = "/tmp";

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpenFlags {
    pub(crate) create: bool,
    pub(crate) exclusive: bool,
    pub(crate) truncate: bool,
    pub(crate) directory: bool,
    pub(crate) append: bool,
}

impl OpenFlags {
    /// From the bits of WASI.
    pub(crate) fn from_bits(open: i32, descriptor: i32) -> OpenFlags {
        OpenFlags {
            create: open & 1 != 0,
            directory: open & 2 != 0,
            exclusive: open & 4 != 0,
            truncate: open & 8 != 0,
            append: descriptor & 1 != 0,
        }
    }
}

#[derive(Debug)]
enum Entry {
    Folder,
    File(Vec<u8>),
}

#[derive(Debug)]
struct Open {
    path: String,
    position: u64,
    append: bool,
}

/// The metadata of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) is_folder: bool,
    pub(crate) size: u64,
}

/// Files and folders by their paths below `/tmp`; that of the folder itself is empty.
#[derive(Debug)]
pub(crate) struct Files {
    entries: BTreeMap<String, Entry>,
    open: BTreeMap<u32, Open>,
}

type Result<T> = std::result::Result<T, Errno>;

impl Files {
    /// An empty folder, or none.
    pub(crate) fn new(exists: bool) -> Files {
        let mut files = Files { entries: BTreeMap::new(), open: BTreeMap::new() };
        if exists {
            files.entries.insert(String::new(), Entry::Folder);
            files.open.insert(ROOT, Open { path: String::new(), position: 0, append: false });
        }
        files
    }

    /// Whether a descriptor is the preopened folder.
    pub(crate) fn is_root(&self, descriptor: u32) -> bool {
        descriptor == ROOT && self.open.contains_key(&ROOT)
    }

    /// The path that `path` means below an open folder.
    fn resolve(&self, folder: u32, path: &str) -> Result<String> {
        let base = &self.open.get(&folder).ok_or(Errno::BadDescriptor)?.path;
        if !matches!(self.entries.get(base), Some(Entry::Folder)) {
            return Err(Errno::NotDirectory);
        }
        if path.starts_with('/') || path.contains('\0') {
            return Err(Errno::NotCapable);
        }
        let mut parts: Vec<&str> = base.split('/').filter(|part| !part.is_empty()).collect();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop().ok_or(Errno::NotCapable)?),
                part => parts.push(part),
            }
        }
        Ok(parts.join("/"))
    }

    fn parent_exists(&self, path: &str) -> Result<()> {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        match self.entries.get(parent) {
            Some(Entry::Folder) => Ok(()),
            Some(Entry::File(_)) => Err(Errno::NotDirectory),
            None => Err(Errno::NoEntry),
        }
    }

    /// Opens a file or a folder.
    pub(crate) fn open(&mut self, folder: u32, path: &str, flags: OpenFlags) -> Result<u32> {
        let path = self.resolve(folder, path)?;
        match self.entries.get_mut(&path) {
            Some(_) if flags.create && flags.exclusive => return Err(Errno::Exists),
            Some(Entry::File(_)) if flags.directory => return Err(Errno::NotDirectory),
            Some(Entry::File(content)) if flags.truncate => content.clear(),
            Some(_) => {}
            None if !flags.create || flags.directory => return Err(Errno::NoEntry),
            None => {
                self.parent_exists(&path)?;
                self.insert(path.clone(), Entry::File(Vec::new()))?;
            }
        }
        let next = (ROOT + 1..).find(|descriptor| !self.open.contains_key(descriptor));
        let descriptor = next.filter(|_| self.open.len() < MAX_FILES).ok_or(Errno::NoSpace)?;
        self.open.insert(descriptor, Open { path, position: 0, append: flags.append });
        Ok(descriptor)
    }

    fn insert(&mut self, path: String, entry: Entry) -> Result<()> {
        if self.entries.len() >= MAX_FILES {
            return Err(Errno::NoSpace);
        }
        self.entries.insert(path, entry);
        Ok(())
    }

    pub(crate) fn close(&mut self, descriptor: u32) -> Result<()> {
        self.open.remove(&descriptor).map(drop).ok_or(Errno::BadDescriptor)
    }

    /// Reads at the position of a descriptor, or at `at`, which does not move the position.
    pub(crate) fn read(&mut self, descriptor: u32, buffer: &mut [u8], at: Option<u64>) -> Result<usize> {
        let open = self.open.get_mut(&descriptor).ok_or(Errno::BadDescriptor)?;
        let content = match self.entries.get(&open.path) {
            Some(Entry::File(content)) => content,
            Some(Entry::Folder) => return Err(Errno::IsDirectory),
            None => return Err(Errno::NoEntry),
        };
        let start = usize::try_from(at.unwrap_or(open.position)).unwrap_or(usize::MAX).min(content.len());
        let length = buffer.len().min(content.len() - start);
        buffer[..length].copy_from_slice(&content[start..start + length]);
        if at.is_none() {
            open.position += length as u64;
        }
        Ok(length)
    }

    /// Writes at the position of a descriptor, or at `at`, which does not move the position.
    pub(crate) fn write(&mut self, descriptor: u32, bytes: &[u8], at: Option<u64>) -> Result<()> {
        let used = self.used();
        let open = self.open.get_mut(&descriptor).ok_or(Errno::BadDescriptor)?;
        let content = match self.entries.get_mut(&open.path) {
            Some(Entry::File(content)) => content,
            Some(Entry::Folder) => return Err(Errno::IsDirectory),
            None => return Err(Errno::NoEntry),
        };
        let start = if open.append { content.len() as u64 } else { at.unwrap_or(open.position) };
        let start = usize::try_from(start).map_err(|_| Errno::NoSpace)?;
        let end = start.checked_add(bytes.len()).ok_or(Errno::NoSpace)?;
        if used + end.saturating_sub(content.len()) > MAX_BYTES || end > MAX_BYTES {
            return Err(Errno::NoSpace);
        }
        if content.len() < end {
            content.resize(end, 0);
        }
        content[start..end].copy_from_slice(bytes);
        if at.is_none() {
            open.position = end as u64;
        }
        Ok(())
    }

    fn used(&self) -> usize {
        let size = |entry: &Entry| if let Entry::File(content) = entry { content.len() } else { 0 };
        self.entries.values().map(size).sum()
    }

    /// Moves the position of a descriptor, from the start, from where it is or from the end.
    pub(crate) fn seek(&mut self, descriptor: u32, offset: i64, whence: i32) -> Result<u64> {
        let size = self.status(descriptor)?.size;
        let open = self.open.get_mut(&descriptor).ok_or(Errno::BadDescriptor)?;
        let base = match whence {
            0 => 0,
            1 => open.position,
            2 => size,
            _ => return Err(Errno::Invalid),
        };
        open.position = base.checked_add_signed(offset).ok_or(Errno::Invalid)?;
        Ok(open.position)
    }

    /// The status of what a descriptor is open for.
    pub(crate) fn status(&self, descriptor: u32) -> Result<Status> {
        let open = self.open.get(&descriptor).ok_or(Errno::BadDescriptor)?;
        self.status_of(&open.path)
    }

    /// The status of what a path means.
    pub(crate) fn status_at(&self, folder: u32, path: &str) -> Result<Status> {
        self.status_of(&self.resolve(folder, path)?)
    }

    fn status_of(&self, path: &str) -> Result<Status> {
        match self.entries.get(path) {
            Some(Entry::Folder) => Ok(Status { is_folder: true, size: 0 }),
            Some(Entry::File(content)) => Ok(Status { is_folder: false, size: content.len() as u64 }),
            None => Err(Errno::NoEntry),
        }
    }

    /// Cuts or extends a file.
    pub(crate) fn set_size(&mut self, descriptor: u32, size: u64) -> Result<()> {
        let used = self.used();
        let open = self.open.get(&descriptor).ok_or(Errno::BadDescriptor)?;
        let Some(Entry::File(content)) = self.entries.get_mut(&open.path) else {
            return Err(Errno::Invalid);
        };
        let size = usize::try_from(size).map_err(|_| Errno::NoSpace)?;
        if used + size.saturating_sub(content.len()) > MAX_BYTES {
            return Err(Errno::NoSpace);
        }
        content.resize(size, 0);
        Ok(())
    }

    /// The names in a folder, and which of them are folders.
    pub(crate) fn list(&self, descriptor: u32) -> Result<Vec<(String, bool)>> {
        let open = self.open.get(&descriptor).ok_or(Errno::BadDescriptor)?;
        if !self.status_of(&open.path)?.is_folder {
            return Err(Errno::NotDirectory);
        }
        let prefix = if open.path.is_empty() { String::new() } else { format!("{}/", open.path) };
        let below = self.entries.iter().filter_map(|(path, entry)| {
            let name = path.strip_prefix(&prefix).filter(|name| !name.is_empty() && !name.contains('/'))?;
            Some((name.to_owned(), matches!(entry, Entry::Folder)))
        });
        Ok(below.collect())
    }

    pub(crate) fn create_folder(&mut self, folder: u32, path: &str) -> Result<()> {
        let path = self.resolve(folder, path)?;
        if self.entries.contains_key(&path) {
            return Err(Errno::Exists);
        }
        self.parent_exists(&path)?;
        self.insert(path, Entry::Folder)
    }

    /// Removes a file, or an empty folder.
    pub(crate) fn remove(&mut self, folder: u32, path: &str, is_folder: bool) -> Result<()> {
        let path = self.resolve(folder, path)?;
        let found = self.status_of(&path)?;
        match (found.is_folder, is_folder) {
            (true, false) => return Err(Errno::IsDirectory),
            (false, true) => return Err(Errno::NotDirectory),
            _ => {}
        }
        let prefix = format!("{path}/");
        if path.is_empty() || self.entries.keys().any(|other| other.starts_with(&prefix)) {
            return Err(Errno::NotEmpty);
        }
        self.entries.remove(&path);
        Ok(())
    }

    /// Renames a file, or a folder with all that is in it.
    pub(crate) fn rename(&mut self, folder: u32, from: &str, to_folder: u32, to: &str) -> Result<()> {
        let (from, to) = (self.resolve(folder, from)?, self.resolve(to_folder, to)?);
        let is_folder = self.status_of(&from)?.is_folder;
        self.parent_exists(&to)?;
        if from == to {
            return Ok(());
        }
        let prefix = format!("{from}/");
        if from.is_empty() || to.starts_with(&prefix) {
            return Err(Errno::Invalid);
        }
        match self.status_of(&to) {
            Ok(Status { is_folder: true, .. }) => return Err(Errno::Exists),
            Ok(_) if is_folder => return Err(Errno::NotDirectory),
            _ => {}
        }
        let moved: Vec<String> =
            self.entries.keys().filter(|path| **path == from || path.starts_with(&prefix)).cloned().collect();
        for path in moved {
            if let Some(entry) = self.entries.remove(&path) {
                self.entries.insert(format!("{to}{}", &path[from.len()..]), entry);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATE: OpenFlags =
        OpenFlags { create: true, exclusive: false, truncate: false, directory: false, append: false };

    #[test]
    fn files_are_written_read_listed_renamed_and_removed() {
        let mut files = Files::new(true);
        files.create_folder(ROOT, "a").unwrap();
        let file = files.open(ROOT, "a/../a/./x", CREATE).unwrap();
        files.write(file, b"hello", None).unwrap();
        files.write(file, b"J", Some(0)).unwrap();
        assert_eq!(files.seek(file, -4, 2), Ok(1));
        let mut buffer = [0; 10];
        assert_eq!(files.read(file, &mut buffer, None), Ok(4));
        assert_eq!(&buffer[..4], b"ello");
        assert_eq!(files.status_at(ROOT, "a/x"), Ok(Status { is_folder: false, size: 5 }));
        assert_eq!(files.list(ROOT), Ok(vec![("a".to_owned(), true)]));
        files.rename(ROOT, "a", ROOT, "b").unwrap();
        assert_eq!(files.remove(ROOT, "b", true), Err(Errno::NotEmpty));
        files.remove(ROOT, "b/x", false).unwrap();
        files.remove(ROOT, "b", true).unwrap();
        assert_eq!(files.list(ROOT), Ok(Vec::new()));
        files.close(file).unwrap();
        assert_eq!(files.close(file), Err(Errno::BadDescriptor));
    }

    #[test]
    fn nothing_leads_out_and_nothing_grows_without_limit() {
        let mut files = Files::new(true);
        for path in ["../etc/passwd", "/etc/passwd", "a/../../b"] {
            assert_eq!(files.open(ROOT, path, CREATE), Err(Errno::NotCapable), "{path}");
        }
        let file = files.open(ROOT, "x", CREATE).unwrap();
        assert_eq!(files.write(file, b"x", Some(u64::MAX)), Err(Errno::NoSpace));
        assert_eq!(files.set_size(file, 1 << 40), Err(Errno::NoSpace));
        assert_eq!(Files::new(false).open(ROOT, "x", CREATE), Err(Errno::BadDescriptor));
    }
}
