//! `repositories.yaml`: the repositories that the user knows by name.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pintle_chart::metadata::Timestamp;
use pintle_tree::{Map, Node};
use pintle_yaml::decode::{Decoder, read_tree};

use crate::atomic;
use crate::error::{Error, Result, refused};

/// How long to wait for another process that changes the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// How often to try.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(50);

const FILE: [&str; 3] = ["apiVersion", "generated", "repositories"];
const ENTRY: [&str; 9] = [
    "name",
    "url",
    "username",
    "password",
    "certFile",
    "keyFile",
    "caFile",
    "insecure_skip_tls_verify",
    "pass_credentials_all",
];

/// One repository.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// The user to log in as.
    pub username: String,
    /// The password.
    pub password: String,
    /// The client certificate.
    pub cert_file: String,
    /// Its key.
    pub key_file: String,
    /// The authorities to trust.
    pub ca_file: String,
    /// Whether to skip certificate verification.
    pub insecure_skip_tls_verify: bool,
    /// Whether other hosts get the credentials too.
    pub pass_credentials_all: bool,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Passwords must not appear in debug output.
        f.debug_struct("Entry").field("name", &self.name).field("url", &self.url).finish_non_exhaustive()
    }
}

impl Entry {
    fn to_node(&self) -> Node {
        let mut map = Map::new();
        for (key, text) in [
            ("name", &self.name),
            ("url", &self.url),
            ("username", &self.username),
            ("password", &self.password),
            ("certFile", &self.cert_file),
            ("keyFile", &self.key_file),
            ("caFile", &self.ca_file),
        ] {
            map.insert(key.into(), text.as_str().into());
        }
        map.insert("insecure_skip_tls_verify".into(), Node::Bool(self.insecure_skip_tls_verify));
        map.insert("pass_credentials_all".into(), Node::Bool(self.pass_credentials_all));
        Node::Map(map)
    }
}

/// The file.
#[derive(Clone, Debug, Default)]
pub struct Repositories {
    api_version: String,
    generated: Timestamp,
    /// The entries, in the order of the file.
    pub entries: Vec<Entry>,
}

impl Repositories {
    /// Reads the file.
    ///
    /// # Errors
    /// As [`Repositories::parse`]; `None` inside `Ok` when there is no file.
    pub fn load(path: &Path) -> Result<Option<Repositories>> {
        let text = match pintle_chart::read_limited(path, pintle_chart::MAX_TEXT) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let front = format!("couldn't load repositories file ({})", path.display());
                let action = if error.kind() == ErrorKind::IsADirectory { "read" } else { "open" };
                return Err(refused(action, path)(error).within(&front));
            }
        };
        Repositories::parse(&text).map(Some)
    }

    /// Reads the text of the file, leniently: unknown fields count for nothing.
    ///
    /// # Errors
    /// Text that is no YAML, and fields of the wrong type.
    pub fn parse(text: &[u8]) -> Result<Repositories> {
        match Repositories::parse_partly(text)? {
            (file, None) => Ok(file),
            (_, Some(error)) => Err(error),
        }
    }

    /// Reads what can be read of the file, for commands that ignore what is wrong with it, as in Helm: a field of the wrong
    /// type is left out, and a file that cannot be read is empty.
    pub fn load_partly(path: &Path) -> Repositories {
        let parsed = pintle_chart::read_limited(path, pintle_chart::MAX_TEXT)
            .ok()
            .and_then(|text| Repositories::parse_partly(&text).ok());
        parsed.map(|(file, _)| file).unwrap_or_default()
    }

    /// What can be read of the text, with the first field of the wrong type.
    fn parse_partly(text: &[u8]) -> Result<(Repositories, Option<Error>)> {
        let tree = read_tree(text, false).map_err(|error| Error::Input(error.to_string()))?;
        let mut file = Repositories::default();
        let mut entries = Vec::new();
        let mut decoder = Decoder::new(false);
        decoder.document(&tree, "repo.File", &FILE, |decoder, name, value| match name {
            "apiVersion" => decoder.string(value, &mut file.api_version),
            "repositories" => decoder.structs(value, "repo.Entry", &mut entries, entry),
            _ => decoder.time(value, &mut file.generated, Timestamp::parse),
        });
        let error = decoder.finish(&tree).err();
        file.entries = entries.into_iter().flatten().collect();
        Ok((file, error.map(Error::Input)))
    }

    /// The text that Helm would write.
    ///
    /// # Errors
    /// Text that YAML cannot hold.
    pub fn to_yaml(&self) -> Result<Vec<u8>> {
        let mut map = Map::new();
        map.insert("apiVersion".into(), self.api_version.as_str().into());
        map.insert("generated".into(), Node::from(self.generated.to_string()));
        map.insert("repositories".into(), Node::List(self.entries.iter().map(Entry::to_node).collect()));
        pintle_yaml::write(&Node::Map(map)).map_err(|error| Error::Input(error.to_string()))
    }

    /// The entry of a name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Replaces the entry of the same name, or adds one at the end.
    pub fn update(&mut self, entry: Entry) {
        match self.entries.iter_mut().find(|other| other.name == entry.name) {
            Some(other) => *other = entry,
            None => self.entries.push(entry),
        }
    }

    /// Removes an entry, and returns whether it existed.
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.name != name);
        self.entries.len() < before
    }
}

/// The file under an exclusive lock. Helm's `repo add` takes the same lock.
pub struct Locked {
    path: PathBuf,
    _lock: File,
}

impl Locked {
    /// Waits for the lock.
    ///
    /// # Errors
    /// When the lock file cannot be made, or another process has it for half a minute.
    pub fn open(path: &Path) -> Result<Locked> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            atomic::folder(folder)?;
        }
        let lock_path = lock_path(path);
        let mut options = fs::OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let lock = options.open(&lock_path).map_err(refused("open", &lock_path))?;
        let begin = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Locked { path: path.to_owned(), _lock: lock }),
                Err(TryLockError::WouldBlock) if begin.elapsed() < LOCK_TIMEOUT => {
                    std::thread::sleep(LOCK_RETRY_INTERVAL)
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::File("context deadline exceeded".to_owned()));
                }
                Err(TryLockError::Error(error)) => return Err(refused("lock", &lock_path)(error)),
            }
        }
    }

    /// Reads the file; one that is missing is empty.
    ///
    /// # Errors
    /// Those of reading.
    pub fn read(&self) -> Result<Repositories> {
        match pintle_chart::read_limited(&self.path, pintle_chart::MAX_TEXT) {
            Ok(text) => Repositories::parse(&text),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Repositories::default()),
            Err(error) if error.kind() == ErrorKind::IsADirectory => Err(refused("read", &self.path)(error)),
            Err(error) => Err(refused("open", &self.path)(error)),
        }
    }

    /// Reads what can be read of the file.
    pub fn read_partly(&self) -> Repositories {
        Repositories::load_partly(&self.path)
    }

    /// Writes the file with mode 0600. A symbolic link is kept, and its target is written.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&self, file: &Repositories) -> Result<()> {
        let target = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        atomic::write(&target, &file.to_yaml()?, 0o600).map(drop).map_err(refused("open", &self.path))
    }
}

/// The lock file: the extension becomes `.lock`, or is added.
fn lock_path(path: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    let extension = pintle_chart::path::extension(&text);
    let front = if extension.len() < text.len() { &text[..text.len() - extension.len()] } else { &text };
    PathBuf::from(format!("{front}.lock"))
}

fn entry(decoder: &mut Decoder, value: &Node, target: &mut Entry) {
    decoder.fields(value, &ENTRY, |decoder, name, value| match name {
        "name" => decoder.string(value, &mut target.name),
        "url" => decoder.string(value, &mut target.url),
        "username" => decoder.string(value, &mut target.username),
        "password" => decoder.string(value, &mut target.password),
        "certFile" => decoder.string(value, &mut target.cert_file),
        "keyFile" => decoder.string(value, &mut target.key_file),
        "caFile" => decoder.string(value, &mut target.ca_file),
        "insecure_skip_tls_verify" => {
            decoder.bool(value, &mut target.insecure_skip_tls_verify);
        }
        _ => decoder.bool(value, &mut target.pass_credentials_all),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_written_as_helm_writes_it() {
        let mut file = Repositories::default();
        file.update(Entry { name: "a".into(), url: "http://h".into(), ..Entry::default() });
        let text = String::from_utf8(file.to_yaml().expect("it can be written")).expect("it is text");
        assert_eq!(
            text,
            "apiVersion: \"\"\ngenerated: \"0001-01-01T00:00:00Z\"\nrepositories:\n- caFile: \"\"\n  certFile: \"\"\n  \
             insecure_skip_tls_verify: false\n  keyFile: \"\"\n  name: a\n  pass_credentials_all: false\n  password: \
             \"\"\n  url: http://h\n  username: \"\"\n"
        );
        assert_eq!(Repositories::parse(text.as_bytes()).expect("it is read").entries, file.entries);
    }

    #[test]
    fn a_field_of_the_wrong_type_is_an_error_that_some_commands_ignore() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("repositories.yaml");
        let text = "repositories:\n- {name: a, url: http://h, insecure_skip_tls_verify: 'yes'}\n- {name: b, url: [x]}\n";
        fs::write(&path, text).expect("it can be written");
        assert!(Repositories::load(&path).is_err());
        let names: Vec<String> =
            Repositories::load_partly(&path).entries.into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["a", "b"]);
        fs::write(&path, "a: [").expect("it can be written");
        assert!(Repositories::load_partly(&path).entries.is_empty());
    }

    #[test]
    fn the_lock_file_takes_the_place_of_the_extension() {
        assert_eq!(lock_path(Path::new("/a/repositories.yaml")), Path::new("/a/repositories.lock"));
        assert_eq!(lock_path(Path::new("/a.b/repositories")), Path::new("/a.b/repositories.lock"));
    }

    #[test]
    fn whoever_holds_the_lock_keeps_others_waiting_and_lets_them_in_at_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("repositories.yaml");
        let held = Locked::open(&path).expect("nobody has it");
        let other = std::thread::spawn({
            let path = path.clone();
            move || {
                let lock = Locked::open(&path).expect("it becomes free");
                lock.read().expect("it can be read").entries.len()
            }
        });
        let mut file = held.read().expect("it is empty");
        file.update(Entry { name: "a".into(), ..Entry::default() });
        held.write(&file).expect("it can be written");
        drop(held);
        assert_eq!(other.join().expect("it ends"), 1);
    }
}
