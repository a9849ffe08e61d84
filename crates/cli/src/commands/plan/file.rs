//! Plan files and their key.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use pintle::Clock as _;
use pintle::ops::{PlanFile, PlanKey, SavedPlan};

use crate::clock::SystemClock;
use crate::env::Home;
use crate::failure::{Failure, reason};
use crate::flag::names;
use crate::invocation::Invocation;
use crate::read as bounded;

/// The file name of the user's own key, in the data directory.
const KEY_FILE: &str = "plan.key";

/// The largest plan file that is read.
const MAX_SIZE: u64 = 256 << 20;

/// Writes a plan, readable for its owner only. An existing file is replaced as a whole.
pub(super) fn write(invocation: &Invocation<'_>, path: &str, plan: &SavedPlan) -> Result<(), Failure> {
    let key = key(invocation, true)?;
    let bytes = plan.write(&key, SystemClock.random())?;
    replace(Path::new(path), &bytes).map_err(|error| failed("write", Path::new(path), &error))
}

/// Reads and decrypts a plan.
pub(crate) fn read(invocation: &Invocation<'_>, path: &str) -> Result<SavedPlan, Failure> {
    let path = Path::new(path);
    let size = fs::metadata(path).map_err(|error| failed("read", path, &error))?.len();
    if size > MAX_SIZE {
        return Err(Failure::usage(format!("`{}` is too large for a plan", path.display())));
    }
    let bytes = bounded::file(path, bounded::MAX_STREAM).map_err(|error| failed("read", path, &error))?;
    let file = PlanFile::read(&bytes)?;
    Ok(file.open(&key(invocation, false)?)?)
}

/// The lifetime of the flag in whole seconds; a part of a second counts as one.
pub(crate) fn lifetime(invocation: &Invocation<'_>) -> Result<i64, Failure> {
    const SECOND: i64 = 1_000_000_000;
    let nanoseconds = invocation.flags.nanoseconds(names::PLAN_LIFETIME);
    if nanoseconds < 0 {
        return Err(Failure::usage("--plan-lifetime is negative").hint("give a duration such as 30m or 2h"));
    }
    Ok(nanoseconds / SECOND + i64::from(nanoseconds % SECOND > 0))
}

/// The key: of the flag, of the environment, or the user's own.
fn key(invocation: &Invocation<'_>, create: bool) -> Result<PlanKey, Failure> {
    let given = match invocation.flags.text(names::PLAN_KEY) {
        "" => invocation.environment.variable("PINTLE_PLAN_KEY_FILE").unwrap_or_default(),
        path => path.to_owned(),
    };
    let (path, is_own) = match given.is_empty() {
        true => (PathBuf::from(invocation.environment.home(Home::Data, KEY_FILE)), true),
        false => (PathBuf::from(given), false),
    };
    if is_own && create && !path.exists() {
        create_key(&path).map_err(|error| failed("write", &path, &error))?;
    }
    let secret = bounded::file(&path, bounded::MAX_SETTINGS).map_err(|error| match is_own {
        true => failed("read", &path, &error).hint("name the key that the plan was saved with by --plan-key"),
        false => failed("read", &path, &error),
    })?;
    Ok(PlanKey::from_secret(secret.trim_ascii())?)
}

fn create_key(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let secret = format!("{:032x}{:032x}\n", SystemClock.random(), SystemClock.random());
    replace(path, secret.as_bytes())
}

/// Replaces a file with one that only its owner can read, in one step.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Temporary files have mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn failed(action: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::usage(format!("cannot {action} `{}`: {}", path.display(), reason(error)))
}
