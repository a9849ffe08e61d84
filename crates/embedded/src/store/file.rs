//! The store in a file: a write is acknowledged when it is on disk; concurrent writes are committed together.
//!
//! The file is a redb database, whose commits survive a crash of the process or the machine. redb trusts the content
//! of a file and panics on inconsistencies, and a file can be damaged by anything. So redb runs on one thread,
//! [`FILE_THREAD`], whose panics are caught and turned into errors that name the file.

use std::fs::{File, OpenOptions};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;

use bytes::Bytes;
use pintle_tree::Str;
use redb::{Builder, Database, DatabaseError, ReadableDatabase as _, ReadableTable as _, TableDefinition};
use tokio::sync::{oneshot, watch};

use super::history::{Event, HistoryWindow};
use super::object::Object;
use super::state::{Change, Staged, State, WriteError};

const OBJECTS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("objects");
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
/// The version of the file layout; others are rejected.
const FORMAT: u64 = 1;
/// All objects are in memory too, so pages are rarely read twice.
const CACHE_BYTES: usize = 8 << 20;
/// The limit of writes per commit.
/// A bound keeps the first writer of a batch from waiting for all that arrive meanwhile.
const MAX_BATCH: usize = 256;
/// The name of the thread that owns the file. Its panics are caught and reported as errors; panic hooks should not
/// print them.
pub const FILE_THREAD: &str = "cluster-file";
/// The reason in the error about a file on which redb panicked.
const INCONSISTENT: &str = "its pages contradict each other";

/// Why a file cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Another process has it open.
    #[error("{} is in use by another process", .0.display())]
    InUse(PathBuf),
    /// It cannot be opened or read.
    #[error("cannot open {} as a cluster: {reason}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The content was not written by this program, or was changed since.
    #[error("cannot open {} as a cluster: it is damaged ({reason})", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// It was written by another version of this program.
    #[error("{} has format {found}; this program reads format {FORMAT}", .path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// The version of the layout.
        found: u64,
    },
    /// The writer thread cannot be started.
    #[error("cannot start writing: {0}")]
    NoThread(std::io::Error),
}

/// Opens the file, verifies the checksums of all pages and reads all objects.
fn open(path: &Path, window: HistoryWindow) -> Result<(Database, State), FileError> {
    let refused = |error: redb::Error| file_error(path, &error);
    let file = open_file(path).map_err(|error| refused(redb::Error::Io(error)))?;
    let mut database =
        // redb locks the file, so that no other process can open it.
        Builder::new().set_cache_size(CACHE_BYTES).create_file(file).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => FileError::InUse(path.to_owned()),
            error => refused(error.into()),
        })?;
    // Repairs what a crash has left, if it can be repaired.
    database.check_integrity().map_err(|error| refused(error.into()))?;
    let format = prepare(&database).map_err(refused)?;
    if format != FORMAT {
        return Err(FileError::OtherFormat { path: path.to_owned(), found: format });
    }
    let state = restore(&database, window).map_err(refused)?;
    let state = state.map_err(|key| {
        let reason = format!("the object {:?} cannot be read", key.to_str_lossy());
        FileError::Damaged { path: path.to_owned(), reason }
    })?;
    Ok((database, state))
}

/// A new file is readable by its owner only, as it contains Secrets.
fn open_file(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Maps redb's errors to messages without redb's terms.
fn file_error(path: &Path, error: &redb::Error) -> FileError {
    use std::io::ErrorKind::{InvalidData, IsADirectory, NotFound, PermissionDenied, UnexpectedEof};
    let path = path.to_owned();
    let redb::Error::Io(error) = error else {
        return FileError::Damaged { path, reason: error.to_string() };
    };
    let reason = match error.kind() {
        IsADirectory => "it is a directory".to_owned(),
        PermissionDenied => "permission denied".to_owned(),
        NotFound => "its directory does not exist".to_owned(),
        InvalidData => "it is not a cluster file".to_owned(),
        UnexpectedEof => return FileError::Damaged { path, reason: "it is truncated".to_owned() },
        _ => error.to_string(),
    };
    FileError::Unreadable { path, reason }
}

/// Runs something that may panic in redb.
fn catch_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    // Unwind safety: after a panic the database is not used again.
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// Creates the tables if needed and returns the version of the layout.
fn prepare(database: &Database) -> Result<u64, redb::Error> {
    let transaction = database.begin_write()?;
    let format = {
        let mut numbers = transaction.open_table(NUMBERS)?;
        let format = numbers.get("format")?.map(|format| format.value());
        if format.is_none() {
            numbers.insert("format", FORMAT)?;
        }
        // redb creates a table when it is opened for writing; reading one that does not exist fails.
        transaction.open_table(OBJECTS)?;
        format.unwrap_or(FORMAT)
    };
    transaction.commit()?;
    Ok(format)
}

/// Reads all objects; the inner error is the key of one that cannot be parsed.
fn restore(database: &Database, window: HistoryWindow) -> Result<Result<State, Str>, redb::Error> {
    let transaction = database.begin_read()?;
    let revision = transaction.open_table(NUMBERS)?.get("revision")?.map_or(0, |revision| revision.value());
    let mut state = State::new(revision, window);
    for entry in transaction.open_table(OBJECTS)?.iter()? {
        let (key, text) = entry?;
        let key = Str::from(key.value());
        let Some(object) = Object::restore(key.clone(), Bytes::copy_from_slice(text.value())) else {
            return Ok(Err(key));
        };
        state.restore(Arc::new(object));
    }
    Ok(Ok(state))
}

type Answer = oneshot::Sender<Result<Arc<Object>, WriteError>>;

/// The handle of the writer thread.
pub(super) struct FileWriter {
    changes: Option<Sender<(Change, Answer)>>,
    thread: Option<JoinHandle<()>>,
}

/// An opened file.
pub(super) struct Opened {
    pub(super) state: Arc<RwLock<State>>,
    pub(super) revision: Arc<watch::Sender<u64>>,
    pub(super) writer: FileWriter,
}

impl FileWriter {
    /// Opens a file on a new thread.
    pub(super) fn open(path: &Path, window: HistoryWindow) -> Result<Opened, FileError> {
        let (changes, receiver) = channel();
        // The result of opening comes back through a channel, as a panic of redb must stay on its thread.
        let (opened, outcome) = channel();
        let thread = std::thread::Builder::new().name(FILE_THREAD.to_owned());
        let file = path.to_owned();
        let damaged = || FileError::Damaged { path: path.to_owned(), reason: INCONSISTENT.to_owned() };
        let thread = thread.spawn(move || {
            let (database, state) = match catch_panic(|| open(&file, window)) {
                Some(Ok(found)) => found,
                // The opener is waiting, so the error reaches it.
                Some(Err(error)) => return drop(opened.send(Err(error))),
                // The channel is closed without a message, which the opener reports as damage.
                None => return,
            };
            let revision = Arc::new(watch::Sender::new(state.revision()));
            let state = Arc::new(RwLock::new(state));
            let _ = opened.send(Ok((Arc::clone(&state), Arc::clone(&revision))));
            write_all(&file, database, &state, &revision, &receiver);
        });
        let thread = Some(thread.map_err(FileError::NoThread)?);
        let writer = FileWriter { changes: Some(changes), thread };
        let (state, revision) = outcome.recv().unwrap_or_else(|_| Err(damaged()))?;
        Ok(Opened { state, revision, writer })
    }

    /// Writes a change and waits for its commit.
    pub(super) async fn write(&self, change: Change) -> Result<Arc<Object>, WriteError> {
        let ended = || WriteError::Broken("the file is closed".to_owned());
        let (answer, answered) = oneshot::channel();
        let sender = self.changes.as_ref().ok_or_else(ended)?;
        sender.send((change, answer)).map_err(|_| ended())?;
        answered.await.unwrap_or_else(|_| Err(ended()))
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        // Ends the loop of the writer thread.
        drop(self.changes.take());
        if let Some(thread) = self.thread.take() {
            // The error of a panicked thread has been reported already.
            let _ = thread.join();
        }
    }
}

fn write_all(
    path: &Path,
    database: Database,
    state: &RwLock<State>,
    revision: &watch::Sender<u64>,
    changes: &Receiver<(Change, Answer)>,
) {
    let mut is_broken = false;
    while let Ok(first) = changes.recv() {
        // One commit for all writes that are waiting: a commit costs an fsync.
        let batch = std::iter::once(first).chain(changes.try_iter().take(MAX_BATCH - 1));
        let (staged, answers) = decide(state, batch);
        let written = write_catching_panics(path, &database, &staged, &mut is_broken);
        // Readers see a write only when it is on disk.
        if written.is_ok() {
            let mut state = state.write().unwrap_or_else(PoisonError::into_inner);
            state.apply(staged);
            revision.send_replace(state.revision());
        }
        for (answer, decided) in answers {
            let result = match &written {
                Ok(()) => decided,
                // Rejected writes keep their own error.
                Err(why) => decided.and_then(|_| Err(WriteError::Broken(why.clone()))),
            };
            // The client may have disconnected.
            let _ = answer.send(result);
        }
    }
    // All acknowledged writes are committed. Closing only saves the next opener some time.
    catch_panic(|| drop(database));
}

/// After a panic nothing more is written: redb's state in memory cannot be trusted.
fn write_catching_panics(
    path: &Path,
    database: &Database,
    staged: &Staged,
    is_broken: &mut bool,
) -> Result<(), String> {
    let written = if *is_broken { None } else { catch_panic(|| write_batch(database, staged)) };
    *is_broken |= written.is_none();
    let result = |why: &str| format!("cannot write to {}: {why}", path.display());
    match written {
        Some(Ok(())) => Ok(()),
        Some(Err(error)) => Err(result(&error.to_string())),
        None => Err(result(&format!("it is damaged ({INCONSISTENT})"))),
    }
}

type Decisions = Vec<(Answer, Result<Arc<Object>, WriteError>)>;

/// Checks preconditions. There is no other writer, so the decisions still hold when the batch is committed.
fn decide(state: &RwLock<State>, batch: impl Iterator<Item = (Change, Answer)>) -> (Staged, Decisions) {
    let state = state.read().unwrap_or_else(PoisonError::into_inner);
    let mut staging = state.stage();
    let answers = batch.map(|(change, answer)| (answer, staging.add(change))).collect();
    (staging.finish(), answers)
}

fn write_batch(database: &Database, staged: &Staged) -> Result<(), redb::Error> {
    let Some(last) = staged.events.last() else { return Ok(()) };
    let transaction = database.begin_write()?;
    {
        let mut objects = transaction.open_table(OBJECTS)?;
        for Event { object, removed, .. } in staged.events.iter().map(AsRef::as_ref) {
            if *removed {
                objects.remove(object.key.as_bytes())?;
            } else {
                objects.insert(object.key.as_bytes(), &object.text[..])?;
            }
        }
        // The revision is stored as well: it must not start over when the newest objects were removed.
        transaction.open_table(NUMBERS)?.insert("revision", last.object.revision)?;
    }
    transaction.commit()?;
    Ok(())
}
