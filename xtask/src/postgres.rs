//! A PostgreSQL of our own, for the tests that keep releases in a database. It lives in a temporary folder and goes with
//! the run.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::shell::say;

/// Where Debian keeps the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The user without rights, as whom the server runs where we are root, which it does not want to be.
const NOBODY: u32 = 65534;

/// How long the server may take to answer.
const LIMIT: Duration = Duration::from_secs(20);

/// A running server.
pub(crate) struct Postgres {
    child: Child,
    port: u16,
    /// Where its data is, as long as it runs.
    _folder: TempDir,
}

impl Postgres {
    /// Starts a server, or says why there is none.
    pub(crate) fn start() -> Result<Option<Postgres>> {
        let Some(programs) = programs() else {
            say("no PostgreSQL here (Debian's package postgresql has it): tests that need it are skipped");
            return Ok(None);
        };
        let folder = TempDir::new().context("cannot make a folder for the database")?;
        let data = folder.path().join("data");
        fs::create_dir(&data)?;
        if is_root() {
            for path in [folder.path(), data.as_path()] {
                std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY))?;
            }
        }
        initialise(&programs, &data)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut server = command(&programs, "postgres");
        server.arg("-D").arg(&data).arg("-k").arg(&data).args(["-h", "127.0.0.1", "-F", "-p"]);
        let child = server.arg(port.to_string()).spawn().context("cannot start PostgreSQL")?;
        let mut postgres = Postgres { child, port, _folder: folder };
        postgres.wait()?;
        Ok(Some(postgres))
    }

    /// How to reach it, as Helm's SQL driver wants it.
    pub(crate) fn address(&self) -> String {
        format!("postgresql://pintle@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    fn wait(&mut self) -> Result<()> {
        let limit = Instant::now() + LIMIT;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("PostgreSQL ended at once ({status})");
            }
            if Instant::now() > limit {
                bail!("PostgreSQL does not answer after {LIMIT:?}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The data goes with it, so that it need not be saved first.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder of the newest version's programs.
fn programs() -> Option<PathBuf> {
    let mut versions: Vec<PathBuf> =
        fs::read_dir(VERSIONS).ok()?.filter_map(|entry| Some(entry.ok()?.path().join("bin"))).collect();
    versions.retain(|folder| folder.join("initdb").is_file() && folder.join("postgres").is_file());
    versions.sort();
    versions.pop()
}

fn initialise(programs: &Path, data: &Path) -> Result<()> {
    let mut command = command(programs, "initdb");
    command.arg("-D").arg(data).args([
        "-U",
        "pintle",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C",
        "--no-sync",
    ]);
    let status = command.status().context("cannot run initdb")?;
    if status.success() { Ok(()) } else { bail!("initdb failed ({status})") }
}

/// A program of PostgreSQL's, silent, and not as root.
fn command(programs: &Path, name: &str) -> Command {
    let mut command = Command::new(programs.join(name));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
