//! The minimum of HTTP/1.1 for forwarding messages.

use std::io::{self, BufRead, Read as _, Write};

/// The largest accepted message head, in bytes.
const LONGEST_HEAD: usize = 64 << 10;

/// A complete request.
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    /// The header lines, without the final empty one.
    head: String,
    body: Vec<u8>,
}

impl Request {
    /// Reads the next request of a connection; `None` at its end.
    pub(super) fn read(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
        let Some(head) = read_head(reader)? else { return Ok(None) };
        let mut words = head.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (method, path) = (method.to_owned(), path.to_owned());
        if header(&head, "transfer-encoding").is_some() {
            return Err(wrong("requests of unknown length are not expected here"));
        }
        let length = header(&head, "content-length").map_or(Ok(0), str::parse);
        let mut body = vec![0; length.map_err(|_| wrong("a length is no number"))?];
        reader.read_exact(&mut body)?;
        Ok(Some(Request { method, path, head, body }))
    }

    /// Whether the method is a write.
    pub(super) fn is_write(&self) -> bool {
        matches!(self.method.as_str(), "POST" | "PUT" | "PATCH" | "DELETE")
    }

    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&[self.head.as_bytes(), b"\r\n", &self.body].concat())?;
        to.flush()
    }
}

/// Streams a response from the server to the client and returns whether the server connection can be reused. `method` is
/// that of the request: a response to `HEAD` has no body.
pub(super) fn relay(from: &mut impl BufRead, to: &mut dyn Write, method: &str) -> io::Result<bool> {
    let head = read_head(from)?.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
    to.write_all(head.as_bytes())?;
    to.write_all(b"\r\n")?;
    let code = head.split(' ').nth(1).unwrap_or_default();
    let reusable = header(&head, "connection").is_none_or(|word| !word.eq_ignore_ascii_case("close"));
    if method == "HEAD" || matches!(code, "204" | "304") {
        to.flush()?;
        return Ok(reusable);
    }
    if header(&head, "transfer-encoding").is_some_and(|word| word.eq_ignore_ascii_case("chunked")) {
        relay_chunks(from, to)?;
        return Ok(reusable);
    }
    let length = header(&head, "content-length").and_then(|length| length.parse::<u64>().ok());
    io::copy(&mut from.take(length.unwrap_or(u64::MAX)), to)?;
    to.flush()?;
    Ok(reusable && length.is_some())
}

fn relay_chunks(from: &mut impl BufRead, to: &mut dyn Write) -> io::Result<()> {
    loop {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| wrong("a chunk without a size"))?;
        to.write_all(line.as_bytes())?;
        // Every chunk ends with an empty line; the one of size 0 is the last.
        io::copy(&mut from.take(size + 2), to)?;
        to.flush()?;
        if size == 0 {
            return Ok(());
        }
    }
}

/// Writes a response of the proxy itself.
pub(super) fn answer(code: u16, header: &str, body: &str) -> String {
    let header = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
    format!(
        "HTTP/1.1 {code} Made\r\nContent-Type: application/json\r\n{header}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Reads the lines of a head with their line endings; `None` at the end of the connection.
fn read_head(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if reader.read_line(&mut head)? == 0 {
            return if head.is_empty() { Ok(None) } else { Err(wrong("half a head")) };
        }
        if head.len() > LONGEST_HEAD {
            return Err(wrong("a head without end"));
        }
        if head[before..].trim_end().is_empty() {
            head.truncate(before);
            return Ok(Some(head));
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    fields.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

fn wrong(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_one_connection_are_told_apart() {
        let text =
            "POST /a HTTP/1.1\r\ncontent-length: 3\r\n\r\nabcGET /b?watch=true HTTP/1.1\r\nx: y\r\n\r\n";
        let mut reader = text.as_bytes();
        let first = Request::read(&mut reader).unwrap().unwrap();
        assert_eq!(
            (first.method.as_str(), first.body.as_slice(), first.is_write()),
            ("POST", b"abc".as_slice(), true)
        );
        let second = Request::read(&mut reader).unwrap().unwrap();
        assert_eq!((second.path.as_str(), second.is_write()), ("/b?watch=true", false));
        assert!(Request::read(&mut reader).unwrap().is_none());
    }

    #[test]
    fn answers_pass_unchanged_and_end_where_they_end() {
        for text in [
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
            "HTTP/1.1 204 No Content\r\n\r\n",
        ] {
            let two = format!("{text}rest");
            let mut reader = two.as_bytes();
            let mut passed = Vec::new();
            assert!(relay(&mut reader, &mut passed, "GET").unwrap());
            assert_eq!(String::from_utf8(passed).unwrap(), text);
            assert_eq!(reader, b"rest");
        }
    }
}
