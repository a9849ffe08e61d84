//! Reading an answer: its status, its size, and its bytes into what the caller gives.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;
use http::StatusCode;
use pintle_registry::Answer;
use pintle_tree::redact::redacted;

use super::{Getter, Meter, Request, Response};
use crate::address::Address;
use crate::error::{Error, Result};
use crate::index::Validators;

impl Getter {
    pub(super) async fn receive(
        &self,
        request: &Request<'_>,
        answer: &mut Answer,
        sink: &mut dyn Write,
    ) -> Result<Response> {
        let header = |name: &str| answer.header(name).unwrap_or_default().to_owned();
        let validator = |name: &str| if answer.may_change_unnoticed() { String::new() } else { header(name) };
        let mut response = Response {
            unchanged: answer.status == StatusCode::NOT_MODIFIED && request.known.is_some(),
            validators: Validators {
                url: request.url.to_owned(),
                etag: validator("etag"),
                last_modified: validator("last-modified"),
            },
        };
        if response.unchanged {
            if let Some(known) = request.known {
                response.validators.clone_from(known);
            }
            return Ok(response);
        }
        if answer.status != StatusCode::OK {
            let line = answer.status_line();
            // As Go prints it, with invalid characters percent-encoded.
            let url =
                Address::parse(request.url).map_or_else(|_| request.url.to_owned(), |url| url.to_string());
            return Err(Error::Fetch(format!("failed to fetch {} : {line}", redacted(&url))));
        }
        let zipped = request.compressed && header("content-encoding").eq_ignore_ascii_case("gzip");
        let size = header("content-length").parse().ok();
        let mut meter = self.meter(&file_name(request.url), size);
        let limit = self.limit(request.limit);
        let mut sink = Limited { sink, left: limit, full: false };
        let outcome = if zipped {
            let mut decoder = MultiGzDecoder::new(&mut sink);
            let copied = copy(answer, &mut decoder, &mut meter).await;
            copied.and_then(|()| decoder.try_finish().map_err(|error| error.to_string()))
        } else {
            copy(answer, &mut sink, &mut meter).await
        };
        match outcome {
            Ok(()) => Ok(response),
            Err(_) if sink.full => Err(Error::Fetch(format!(
                "failed to fetch {} : it is larger than {limit} bytes, which is the most that is taken",
                redacted(request.url),
            ))),
            Err(reason) => Err(Error::Fetch(reason)),
        }
    }
}

/// The last part of the path of a URL, which names a download.
fn file_name(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

async fn copy(
    answer: &mut Answer,
    sink: &mut dyn Write,
    meter: &mut Meter,
) -> std::result::Result<(), String> {
    let cut = |error: pintle_registry::Error| match error
        .to_string()
        .to_ascii_lowercase()
        .contains("invalid chunk size")
    {
        true => "invalid byte in chunk length".to_owned(),
        false => "unexpected EOF".to_owned(),
    };
    while let Some(piece) = answer.chunk().await.map_err(cut)? {
        meter(piece.len() as u64);
        sink.write_all(&piece).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// A writer that fails after `left` more bytes.
struct Limited<'w> {
    sink: &'w mut dyn Write,
    left: u64,
    full: bool,
}

impl Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.left.checked_sub(bytes.len() as u64) {
            Some(left) => self.left = left,
            None => {
                self.full = true;
                return Err(io::Error::from(io::ErrorKind::FileTooLarge));
            }
        }
        self.sink.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
