//! A static HTTP server on loopback, for files that lie in memory.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use anyhow::{Context as _, Result};

/// Files by their paths, which begin with `/`.
pub(super) type Files = BTreeMap<String, Arc<Vec<u8>>>;

/// Serves files until the program ends, and gives the address.
pub(super) fn serve(files: Files) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
    let address = listener.local_addr()?.to_string();
    let files = Arc::new(files);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let files = Arc::clone(&files);
            // Broken connections are ignored: some clients are killed.
            std::thread::spawn(move || drop(answer_all(stream, &files)));
        }
    });
    Ok(address)
}

/// Answers the requests of a connection, one after another.
fn answer_all(mut stream: TcpStream, files: &Files) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        while reader.read_line(&mut line)? > 2 {
            line.clear();
        }
        let (status, body) = match files.get(&path) {
            Some(body) => ("200 OK", body.as_slice()),
            None => ("404 Not Found", &b""[..]),
        };
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len())?;
        stream.write_all(body)?;
    }
}
