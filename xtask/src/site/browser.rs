//! Reads the site in a browser, as far as a program can: every page in three widths and both sets of colours, and the search.
//! The browser is Debian's Chromium without a window; the pages come from a server in this process.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// What the test adds to the site.
const TEST_PAGE: &str = include_str!("browser-test.html");
const TEST_SCRIPT: &str = include_str!("browser-test.js");

/// Ten times what it takes.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The largest answer of the test.
const LARGEST: u64 = 1 << 20;

/// Whether a browser is installed.
pub(super) fn program() -> Option<&'static str> {
    let runs = |name: &&str| {
        let mut version = Command::new(name);
        let status = version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    PROGRAMS.into_iter().find(|name| runs(name))
}

/// Checks the site in both sets of colours.
pub(super) fn check(files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let program = program().context("no browser is installed; Debian's package is `chromium`")?;
    let mut served = files.clone();
    let pages: Vec<&String> = files.keys().filter(|path| path.ends_with(".html")).collect();
    let script = format!("window.pages = {};\n{TEST_SCRIPT}", serde_json::to_string(&pages)?);
    served.insert("browser-test.html".to_owned(), TEST_PAGE.as_bytes().to_vec());
    served.insert("browser-test.js".to_owned(), script.into_bytes());
    let (sender, results) = channel();
    let address = serve(served, sender)?;
    for colours in ["light", "dark"] {
        let checked = run(program, &address, colours, &results)?;
        if checked != pages.len() * 3 {
            bail!(
                "{checked} pages were checked in {colours} colours; there are {} in three widths",
                pages.len()
            );
        }
    }
    Ok(())
}

/// One run of the browser; returns how many pages were looked at.
fn run(program: &str, address: &str, colours: &str, results: &Receiver<Vec<u8>>) -> Result<usize> {
    let home = tempfile::tempdir().context("cannot make a folder for the browser")?;
    let messages = home.path().join("messages");
    let mut browser = Command::new(program);
    browser
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--no-first-run",
        ])
        .args([
            "--disable-dev-shm-usage",
            "--window-size=1700,1000",
            "--enable-logging=stderr",
            "--remote-debugging-port=0",
        ])
        .arg(format!("--user-data-dir={}", home.path().join("profile").display()))
        .args((colours == "dark").then_some("--blink-settings=preferredColorScheme=0"))
        .args((colours == "light").then_some("--blink-settings=preferredColorScheme=1"))
        .arg(format!("{address}/browser-test.html"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(&messages)?);
    let mut browser = Running(browser.spawn().with_context(|| format!("cannot run {program}"))?);
    let result = results.recv_timeout(TIMEOUT);
    browser.end();
    let messages = String::from_utf8_lossy(&fs::read(&messages)?).into_owned();
    let result = result.with_context(|| format!("the browser did not finish:\n{messages}"))?;
    let result: Value = serde_json::from_slice(&result).context("the test page sent no JSON")?;
    let mut problems: Vec<String> =
        result["problems"].as_array().into_iter().flatten().map(|text| text.to_string()).collect();
    let from_console = messages.lines().filter(|line| line.contains(":CONSOLE"));
    problems.extend(from_console.map(|line| format!("the console says: {line}")));
    if !problems.is_empty() {
        bail!("in {colours} colours:\n{}", problems.join("\n"));
    }
    Ok(result["checked"].as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or_default())
}

/// The browser, which ends with the test.
struct Running(Child);

impl Running {
    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Serves files on a free port of this machine until the process ends, and passes on what is posted.
fn serve(files: BTreeMap<String, Vec<u8>>, results: Sender<Vec<u8>>) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
    let address = format!("http://{}", listener.local_addr()?);
    let files = Arc::new(files);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (files, results) = (Arc::clone(&files), results.clone());
            // A browser that goes away is no problem of the test.
            std::thread::spawn(move || drop(answer(&stream, &files, &results)));
        }
    });
    Ok(address)
}

fn answer(
    mut stream: &TcpStream,
    files: &BTreeMap<String, Vec<u8>>,
    results: &Sender<Vec<u8>>,
) -> Result<()> {
    // A browser opens connections in advance, on which nothing comes.
    stream.set_read_timeout(Some(Duration::from_millis(500)))?;
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 2 && !head.ends_with("\r\n\r\n") {}
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let path = head.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let path = path.split('?').next().unwrap_or_default();
    if path == "result" {
        let mut body = Vec::new();
        reader.take(length.unwrap_or(0).min(LARGEST)).read_to_end(&mut body)?;
        results.send(body)?;
    }
    let (status, body) = match files.get(path) {
        Some(body) => ("200 OK", body.as_slice()),
        None if path == "result" => ("204 No Content", &[][..]),
        None => ("404 Not Found", &[][..]),
    };
    let kind = match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    Ok(())
}
