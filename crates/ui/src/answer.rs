//! Requests as handlers get them, and answers: JSON, streams of events, files.

use std::convert::Infallible;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::Value;

use crate::clusters::Viewer;
use crate::error::Failure;
use crate::query::Query;

pub(crate) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// How often a stream without events sends a comment, so that nothing on the way ends the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A request that has passed the guard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// The parts of the path that the route leaves open.
    pub(crate) path: Vec<String>,
    pub(crate) query: Query,
    pub(crate) body: Bytes,
    pub(crate) viewer: Option<Viewer>,
    /// The cookie that it came with.
    pub(crate) cookie: Option<String>,
    /// Of a stream that is continued: the last event that arrived.
    pub(crate) last_event: Option<u64>,
}

impl Request {
    pub(crate) fn part(&self, index: usize) -> &str {
        self.path.get(index).map(String::as_str).unwrap_or_default()
    }
}

/// An event of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) name: &'static str,
    pub(crate) id: Option<u64>,
    pub(crate) data: Value,
}

impl Event {
    pub(crate) fn new(name: &'static str, data: Value) -> Event {
        Event { name, id: None, data }
    }

    /// JSON has no line breaks, so that the data are one line.
    fn bytes(&self) -> Bytes {
        let id = self.id.map(|id| format!("id: {id}\n")).unwrap_or_default();
        Bytes::from(format!("{id}event: {}\ndata: {}\n\n", self.name, self.data))
    }
}

/// What a handler answers.
pub(crate) enum Answered {
    Json(u16, Value),
    Events(BoxStream<'static, Event>),
    /// Nothing, and a cookie to set.
    Cookie(String),
    Nothing,
}

impl Answered {
    pub(crate) fn json(value: Value) -> Answered {
        Answered::Json(200, value)
    }

    pub(crate) fn response(self) -> Response<Body> {
        match self {
            Answered::Json(status, value) => json(status, &value),
            Answered::Events(events) => {
                let mut response = Response::new(streamed(events));
                let kind = HeaderValue::from_static("text/event-stream");
                response.headers_mut().insert(CONTENT_TYPE, kind);
                response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
                response
            }
            Answered::Nothing => empty(StatusCode::NO_CONTENT),
            Answered::Cookie(cookie) => {
                let mut response = empty(StatusCode::NO_CONTENT);
                if let Ok(value) = HeaderValue::from_str(&cookie) {
                    response.headers_mut().insert(http::header::SET_COOKIE, value);
                }
                response
            }
        }
    }
}

pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Full::default().boxed_unsync());
    *response.status_mut() = status;
    response
}

pub(crate) fn json(status: u16, value: &Value) -> Response<Body> {
    let text = serde_json::to_vec(value).unwrap_or_default();
    let mut response = Response::new(Full::from(text).boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub(crate) fn failed(failure: &Failure) -> Response<Body> {
    json(failure.status, &failure.json())
}

/// The events, and comments while there are none.
fn streamed(events: BoxStream<'static, Event>) -> Body {
    let frames = stream::unfold(events, |mut events| async move {
        let bytes = match tokio::time::timeout(KEEP_ALIVE, events.next()).await {
            Ok(event) => event?.bytes(),
            Err(_) => Bytes::from_static(b":\n\n"),
        };
        Some((Ok(Frame::data(bytes)), events))
    });
    // At once, so that the browser knows that the stream is open.
    let opened = stream::once(async { Ok(Frame::data(Bytes::from_static(b":\n\n"))) });
    StreamBody::new(opened.chain(frames)).boxed_unsync()
}
