//! The files of the page, which are part of the program.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use sha2::{Digest as _, Sha256};

use crate::answer::{Body, empty};

/// A path, the type of its content, and the content.
type Asset = (&'static str, &'static str, &'static [u8]);

static INDEX: Asset = ("/", "text/html; charset=utf-8", include_bytes!("../assets/index.html").as_slice());

static ASSETS: [Asset; 3] = [
    ("/assets/app.js", "text/javascript; charset=utf-8", include_bytes!("../assets/app.js").as_slice()),
    ("/assets/app.css", "text/css; charset=utf-8", include_bytes!("../assets/app.css").as_slice()),
    ("/assets/icon.svg", "image/svg+xml", include_bytes!("../assets/icon.svg").as_slice()),
];

/// The file of a path. Every path that is neither one of the interface nor one of a file is a view of the page.
pub(crate) fn file(path: &str, headers: &HeaderMap) -> Option<Response<Body>> {
    let asset = match path.starts_with("/assets/") {
        true => ASSETS.iter().find(|(name, ..)| *name == path)?,
        false => &INDEX,
    };
    Some(served(asset, headers))
}

fn served(asset: &Asset, headers: &HeaderMap) -> Response<Body> {
    let (_, kind, content) = asset;
    let digest = Sha256::digest(content);
    let tag: String = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{tag}\"");
    let is_known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = match is_known {
        true => empty(StatusCode::NOT_MODIFIED),
        false => Response::new(Full::new(Bytes::from_static(content)).boxed_unsync()),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    // Asked for again each time, so that a new program has a new page.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    response
}

/// The page that goes on to the view after the link was used. A redirect would not do: browsers send the new cookie with it
/// only if no other site was involved.
pub(crate) fn signed_in() -> Response<Body> {
    html(
        200,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0;url=/\">\
         <title>Pintle</title><p><a href=\"/\">Go on to the releases</a></p></html>",
    )
}

/// The page of a link that was used before.
pub(crate) fn link_is_used() -> Response<Body> {
    html(
        401,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Pintle</title><h1>This address was used already</h1>\
         <p>The address that <code>pintle ui</code> prints can be opened once. Start <code>pintle ui</code> again for a \
         new one.</p></html>",
    )
}

fn html(status: u16, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
