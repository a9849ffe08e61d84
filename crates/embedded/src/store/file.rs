//! A store in one file: every write is on disk before it is acknowledged, and many that come at once go together.
//!
//! The file is kept by redb, whose commits survive the end of the process and of the machine at any moment.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;

use bytes::Bytes;
use pintle_tree::Str;
use redb::{Builder, Database, DatabaseError, ReadableDatabase as _, ReadableTable as _, TableDefinition};
use tokio::sync::{oneshot, watch};

use super::history::{Event, Window};
use super::object::Object;
use super::state::{Change, Refusal, Staged, State};

const OBJECTS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("objects");
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
/// The layout of the file; another one is refused.
const FORMAT: u64 = 1;
/// All objects are in memory, so pages are rarely read twice.
const CACHE: usize = 8 << 20;
/// The most writes that go together.
const BATCH: usize = 256;

/// Why a file cannot be a store.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Somebody has it open.
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
    /// It was written by another version of this program.
    #[error("{} has format {found}; this program reads format {FORMAT}", .path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
    },
    /// No thread for writing can be started.
    #[error("cannot start writing: {0}")]
    NoThread(std::io::Error),
}

/// Opens the file and reads all that is in it.
pub(super) fn open(path: &Path, window: Window) -> Result<(Database, State), FileError> {
    let database = Builder::new().set_cache_size(CACHE).create(path).map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => FileError::InUse(path.to_owned()),
        error => FileError::Unreadable { path: path.to_owned(), reason: reason(&error.into()) },
    })?;
    let unreadable =
        |error: redb::Error| FileError::Unreadable { path: path.to_owned(), reason: reason(&error) };
    let format = prepare(&database).map_err(unreadable)?;
    if format != FORMAT {
        return Err(FileError::OtherFormat { path: path.to_owned(), found: format });
    }
    let state = restore(&database, window).map_err(unreadable)?;
    Ok((database, state))
}

/// Why a file cannot be used, for somebody who knows nothing of how it is kept.
fn reason(error: &redb::Error) -> String {
    use std::io::ErrorKind::{InvalidData, IsADirectory, NotFound, PermissionDenied};
    let redb::Error::Io(error) = error else { return format!("it is damaged ({error})") };
    match error.kind() {
        IsADirectory => "it is a folder".to_owned(),
        PermissionDenied => "permission denied".to_owned(),
        NotFound => "its folder does not exist".to_owned(),
        InvalidData => "it is another kind of file".to_owned(),
        _ => error.to_string(),
    }
}

/// Makes the tables if they are not there, and returns the format.
fn prepare(database: &Database) -> Result<u64, redb::Error> {
    let transaction = database.begin_write()?;
    let format = {
        let mut numbers = transaction.open_table(NUMBERS)?;
        let format = numbers.get("format")?.map(|format| format.value());
        if format.is_none() {
            numbers.insert("format", FORMAT)?;
        }
        transaction.open_table(OBJECTS)?;
        format.unwrap_or(FORMAT)
    };
    transaction.commit()?;
    Ok(format)
}

fn restore(database: &Database, window: Window) -> Result<State, redb::Error> {
    let transaction = database.begin_read()?;
    let revision = transaction.open_table(NUMBERS)?.get("revision")?.map_or(0, |revision| revision.value());
    let mut state = State::new(revision, window);
    for entry in transaction.open_table(OBJECTS)?.iter()? {
        let (key, text) = entry?;
        let object = Object::restore(Str::from(key.value()), Bytes::copy_from_slice(text.value()));
        if let Some(object) = object {
            state.remember(Arc::new(object));
        }
    }
    Ok(state)
}

type Answer = oneshot::Sender<Result<Arc<Object>, Refusal>>;

/// The thread that writes.
pub(super) struct Log {
    changes: Option<Sender<(Change, Answer)>>,
    thread: Option<JoinHandle<()>>,
}

impl Log {
    /// Starts it.
    pub(super) fn start(
        database: Database,
        state: Arc<RwLock<State>>,
        revision: Arc<watch::Sender<u64>>,
    ) -> Result<Log, FileError> {
        let (changes, receiver) = channel();
        let thread = std::thread::Builder::new().name("cluster-file".to_owned());
        let thread = thread.spawn(move || write_all(&database, &state, &revision, &receiver));
        Ok(Log { changes: Some(changes), thread: Some(thread.map_err(FileError::NoThread)?) })
    }

    /// Writes one change and waits until it is on disk.
    pub(super) async fn write(&self, change: Change) -> Result<Arc<Object>, Refusal> {
        let ended = || Refusal::Broken("the file is closed".to_owned());
        let (answer, answered) = oneshot::channel();
        let sender = self.changes.as_ref().ok_or_else(ended)?;
        sender.send((change, answer)).map_err(|_| ended())?;
        answered.await.unwrap_or_else(|_| Err(ended()))
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        drop(self.changes.take());
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing more to write.
            let _ = thread.join();
        }
    }
}

fn write_all(
    database: &Database,
    state: &RwLock<State>,
    revision: &watch::Sender<u64>,
    changes: &Receiver<(Change, Answer)>,
) {
    while let Ok(first) = changes.recv() {
        let batch = std::iter::once(first).chain(changes.try_iter().take(BATCH - 1));
        let (staged, answers) = decide(state, batch);
        let written = write_batch(database, &staged);
        if written.is_ok() {
            let mut state = state.write().unwrap_or_else(PoisonError::into_inner);
            state.apply(staged);
            revision.send_replace(state.revision());
        }
        for (answer, decided) in answers {
            let told = match &written {
                Ok(()) => decided,
                Err(error) => decided.and_then(|_| Err(Refusal::Broken(error.to_string()))),
            };
            // Who asked may have gone away.
            let _ = answer.send(told);
        }
    }
}

type Decided = Vec<(Answer, Result<Arc<Object>, Refusal>)>;

/// Nobody else writes, so what is decided here still holds when the batch is on disk.
fn decide(state: &RwLock<State>, batch: impl Iterator<Item = (Change, Answer)>) -> (Staged, Decided) {
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
        transaction.open_table(NUMBERS)?.insert("revision", last.object.revision)?;
    }
    transaction.commit()?;
    Ok(())
}
