//! Push and pull of a chart of 90 MB, beside Helm and beside a plain copy of the same bytes through the same registry.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use sha2::{Digest as _, Sha256};

use super::dependencies::succeeded;
use super::{Cost, hex, measure, middle};
use crate::bench::{median, millis};
use crate::helm::bare;
use crate::shell::{cache, print_line};

const ROUNDS: usize = 5;
const FILES: u32 = 18;
const FILE_SIZE: usize = 5 << 20;

/// A registry that ends with the measurement.
struct Registry {
    child: Child,
    host: String,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Registry {
    fn start(folder: &Path) -> Result<Registry> {
        fs::create_dir_all(folder)?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let host = format!("127.0.0.1:{port}");
        let content = folder.join("content");
        let settings = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\nhttp:\n  addr: {host}\n",
            content.display()
        );
        fs::write(folder.join("settings.yml"), settings)?;
        let program = cache()?.join("distribution-v3.1.2/registry");
        let mut command = Command::new(program);
        command.arg("serve").arg(folder.join("settings.yml")).env("OTEL_TRACES_EXPORTER", "none");
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("no registry")?;
        let registry = Registry { child, host };
        for _ in 0..500 {
            if TcpStream::connect(&registry.host).is_ok() {
                return Ok(registry);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("the registry does not answer")
    }

    /// Sends a request and reads the answer into a file; gives the headers.
    fn ask(&self, head: &str, body: &[u8], target: &Path) -> Result<String> {
        let mut stream = TcpStream::connect(&self.host)?;
        let length = body.len();
        write!(
            stream,
            "{head} HTTP/1.1\r\nhost: {}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n",
            self.host
        )?;
        stream.write_all(body)?;
        let mut headers = Vec::new();
        let mut byte = [0];
        while !headers.ends_with(b"\r\n\r\n") && stream.read(&mut byte)? == 1 {
            headers.push(byte[0]);
        }
        std::io::copy(&mut stream, &mut fs::File::create(target)?)?;
        let headers = String::from_utf8_lossy(&headers).into_owned();
        ensure!(headers.starts_with("HTTP/1.1 2"), "{head}: {headers}");
        Ok(headers)
    }

    /// Uploads a blob in one piece.
    fn copy_to(&self, archive: &Path, number: usize, scratch: &Path) -> Result<Duration> {
        let start = Instant::now();
        let bytes = fs::read(archive)?;
        let digest = hex(&Sha256::digest(&bytes));
        let headers = self.ask(&format!("POST /v2/plain-{number}/blobs/uploads/"), b"", scratch)?;
        let location =
            headers.lines().find_map(|line| line.strip_prefix("Location: ")).context("no location")?;
        let path = location.trim().split_once(&self.host).map_or(location.trim(), |(_, path)| path);
        let sign = if path.contains('?') { '&' } else { '?' };
        self.ask(&format!("PUT {path}{sign}digest=sha256:{digest}"), &bytes, scratch)?;
        Ok(start.elapsed())
    }

    fn copy_from(&self, digest: &str, scratch: &Path) -> Result<Duration> {
        let start = Instant::now();
        self.ask(&format!("GET /v2/plain-0/blobs/sha256:{digest}"), b"", scratch)?;
        Ok(start.elapsed())
    }
}

/// Measures, and gives a table of its own.
pub(super) fn run(helm: &Path, ours: &Path, folder: &Path) -> Result<String> {
    let archive = packaged(folder, helm)?;
    let registry = Registry::start(&folder.join("registry"))?;
    let digest = hex(&Sha256::digest(fs::read(&archive)?));
    let scratch = folder.join("scratch");
    let (mut pushes, mut pulls): (Vec<Cost>, Vec<Cost>) = Default::default();
    let mut plain: [Vec<Duration>; 2] = Default::default();
    for round in 0..ROUNDS {
        plain[0].push(registry.copy_to(&archive, round, &scratch)?);
        plain[1].push(registry.copy_from(&digest, &scratch)?);
        // A new home, so that nothing is in a cache, and a new repository, so that nothing is there.
        let home = folder.join(format!("home-{round}"));
        fs::create_dir_all(&home)?;
        let remote = format!("oci://{}/charts-{round}", registry.host);
        pushes.push(measure(ours, &home, &["push", &archive.to_string_lossy(), &remote, "--plain-http"])?);
        let (chart, target) = (format!("{remote}/large"), home.to_string_lossy().into_owned());
        let pull = ["pull", &chart, "--version", "1.0.0", "--plain-http", "-d", &target];
        pulls.push(measure(ours, &home, &pull)?);
        fs::remove_dir_all(&home)?;
    }
    let mut table = String::from(
        "\n| 90 MB | plain copy ms | Pintle ms | over the plain copy | MiB |\n|---|---|---|---|---|\n",
    );
    for (name, (plain, ours)) in ["push", "pull"].iter().zip(plain.into_iter().zip([pushes, pulls])) {
        let (plain, ours) = (median(plain), middle(ours));
        let line = format!(
            "| {name} | {:.0} | {:.0} | {:.2} × | {:.0} |\n",
            millis(plain),
            millis(ours.wall),
            ours.wall.as_secs_f64() / plain.as_secs_f64(),
            ours.memory
        );
        print_line(line.trim_end());
        table.push_str(&line);
    }
    table.push_str("\nHelm itself refuses to push an archive of this size.\n");
    Ok(table)
}

/// A chart of 18 files that cannot be compressed, at 5 MiB each, which is the most that Helm takes.
fn packaged(folder: &Path, helm: &Path) -> Result<std::path::PathBuf> {
    let chart = folder.join("large");
    fs::create_dir_all(chart.join("files"))?;
    fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: large\nversion: 1.0.0\n")?;
    for file in 0..FILES {
        let mut bytes = Vec::with_capacity(FILE_SIZE);
        for block in 0..u32::try_from(FILE_SIZE / 32)? {
            bytes.extend_from_slice(&Sha256::digest([file.to_le_bytes(), block.to_le_bytes()].concat()));
        }
        fs::write(chart.join(format!("files/{file}")), bytes)?;
    }
    succeeded(bare(helm).arg("package").arg(&chart).arg("-d").arg(folder))?;
    fs::remove_dir_all(&chart)?;
    Ok(folder.join("large-1.0.0.tgz"))
}
