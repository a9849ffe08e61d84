//! A PostgreSQL server for the tests that store releases in a database. Its data is in a temporary folder, which is deleted
//! after the run.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::cluster::keys;
use crate::shell::print_line;

/// Where Debian keeps the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The user `nobody`, as whom the server runs if we are root: PostgreSQL refuses to run as root.
const NOBODY: u32 = 65534;

/// The user who may connect over TLS only.
const SECURE: &str = "secure";

/// How long the server may take to answer.
const LIMIT: Duration = Duration::from_secs(20);

/// A running server.
pub(crate) struct Postgres {
    child: Child,
    port: u16,
    /// Where its data is, as long as it runs.
    folder: TempDir,
}

impl Postgres {
    /// Starts a server, or says why there is none.
    pub(crate) fn start() -> Result<Option<Postgres>> {
        let Some(programs) = programs() else {
            print_line(
                "no PostgreSQL here (Debian's package postgresql has it): tests that need it are skipped",
            );
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
        secure(folder.path(), &data)?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut server = command(&programs, "postgres");
        server.arg("-D").arg(&data).arg("-k").arg(&data).args(["-h", "127.0.0.1,::1", "-F"]);
        server.args(["-c", "ssl=on", "-p"]);
        let child = server.arg(port.to_string()).spawn().context("cannot start PostgreSQL")?;
        let mut postgres = Postgres { child, port, folder };
        postgres.wait()?;
        postgres.add_secure_user(&programs)?;
        Ok(Some(postgres))
    }

    /// As [`Postgres::address`], for a user who may connect over TLS only, and without `sslmode`. The server's certificate is
    /// for `localhost`, and signed by [`Postgres::authority`].
    pub(crate) fn secure_address(&self) -> String {
        format!("postgresql://{SECURE}@localhost:{}/postgres", self.port)
    }

    /// The file of the CA that signed the server's certificate.
    pub(crate) fn authority(&self) -> PathBuf {
        self.folder.path().join("ca.crt")
    }

    /// The connection string for Helm's SQL driver.
    pub(crate) fn address(&self) -> String {
        format!("postgresql://pintle@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    /// Retries, because a server that accepts connections may still be starting up.
    fn add_secure_user(&self, programs: &Path) -> Result<()> {
        let limit = Instant::now() + LIMIT;
        loop {
            let mut user = command(programs, "createuser");
            user.args(["-h", "127.0.0.1", "-U", "pintle", "-s", SECURE, "-p"]).arg(self.port.to_string());
            let status = user.status().context("cannot run createuser")?;
            if status.success() {
                return Ok(());
            }
            if Instant::now() > limit {
                bail!("createuser failed ({status})");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
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
        // A clean shutdown is not needed, because the data is deleted.
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

/// Gives the server a certificate, and restricts [`SECURE`] to TLS.
fn secure(folder: &Path, data: &Path) -> Result<()> {
    keys::certificate(folder, "ca", "/CN=test database", &["keyUsage=critical,keyCertSign".to_owned()])?;
    let extensions = ["extendedKeyUsage=serverAuth".to_owned(), "subjectAltName=DNS:localhost".to_owned()];
    keys::certificate(folder, "server", "/CN=localhost", &extensions)?;
    for end in ["crt", "key"] {
        let certificate = data.join(format!("server.{end}"));
        fs::rename(folder.join(format!("server.{end}")), &certificate)?;
        if is_root() {
            std::os::unix::fs::chown(&certificate, Some(NOBODY), Some(NOBODY))?;
        }
    }
    fs::set_permissions(data.join("server.key"), fs::Permissions::from_mode(0o600))?;
    let rules = data.join("pg_hba.conf");
    let text = fs::read_to_string(&rules)?;
    fs::write(&rules, format!("hostnossl all {SECURE} all reject\n{text}"))?;
    Ok(())
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
