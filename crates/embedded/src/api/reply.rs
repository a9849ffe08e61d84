//! Responses: status code, warnings, and the body in the negotiated format.

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use pintle_tree::{Node, json};

use super::body::{Body, ByteStream};
use super::negotiation::{Format, Negotiated};
use crate::status::Status;

enum Content {
    Tree(Node),
    /// JSON that is already encoded.
    Json(Bytes),
    Text(String, &'static str),
    Stream(ByteStream),
}

pub(super) struct Reply {
    code: u16,
    warnings: Vec<String>,
    content: Content,
    retry_after: u32,
    content_type: Option<String>,
}

impl Reply {
    fn new(code: u16, content: Content) -> Reply {
        Reply { code, warnings: Vec::new(), content, retry_after: 0, content_type: None }
    }

    pub(super) fn tree(code: u16, tree: Node) -> Reply {
        Reply::new(code, Content::Tree(tree))
    }

    /// A stored object.
    pub(super) fn json(text: Bytes) -> Reply {
        Reply::new(200, Content::Json(text))
    }

    pub(super) fn text(code: u16, text: impl Into<String>, content_type: &'static str) -> Reply {
        Reply::new(code, Content::Text(text.into(), content_type))
    }

    pub(super) fn stream(chunks: ByteStream) -> Reply {
        Reply::new(200, Content::Stream(chunks))
    }

    pub(super) fn error(status: &Status) -> Reply {
        if status.code == 404 && status.reason.is_empty() {
            return Reply::text(404, format!("{}\n", status.message), "text/plain; charset=utf-8");
        }
        let mut reply = Reply::tree(status.code, status.to_object());
        reply.retry_after = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
        reply
    }

    pub(super) fn with_warnings(mut self, warnings: Vec<String>) -> Reply {
        self.warnings = warnings;
        self
    }

    /// Sets a more specific media type than `application/json`.
    pub(super) fn with_content_type(mut self, content_type: &str) -> Reply {
        self.content_type = Some(content_type.to_owned());
        self
    }

    pub(super) fn respond(self, negotiated: Negotiated) -> Response<Body> {
        let yaml = negotiated.format == Format::Yaml;
        let (body, content_type) = match self.content {
            Content::Tree(tree) if yaml => (Body::whole(yaml_of(&tree)), "application/yaml"),
            Content::Json(text) if yaml => {
                (Body::whole(yaml_of(&json::read_exact(&text).unwrap_or_default())), "application/yaml")
            }
            Content::Tree(tree) => (Body::whole(json_of(&tree)), "application/json"),
            Content::Json(text) => (Body::whole(text), "application/json"),
            Content::Text(text, content_type) => (Body::whole(text), content_type),
            Content::Stream(chunks) => (Body::stream(chunks), "application/json"),
        };
        let mut response = Response::new(body);
        *response.status_mut() =
            http::StatusCode::from_u16(self.code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        let content_type = self.content_type.as_deref().unwrap_or(content_type);
        if let Ok(value) = HeaderValue::from_str(content_type)
            && !value.is_empty()
        {
            headers.insert(CONTENT_TYPE, value);
        }
        for warning in &self.warnings {
            if let Ok(value) = HeaderValue::from_str(&format!("299 - {}", quoted(warning))) {
                headers.append(http::header::WARNING, value);
            }
        }
        if self.retry_after > 0 {
            headers.insert(http::header::RETRY_AFTER, HeaderValue::from(self.retry_after));
        }
        response
    }
}

/// The value of a `Warning` header.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace(char::is_control, " "))
}

/// Encodes a tree. Only NaN and infinities have no JSON, and no decoder produces them.
pub(super) fn json_of(tree: &Node) -> Vec<u8> {
    let mut text = json::write_raw(tree).unwrap_or_default();
    text.push(b'\n');
    text
}

fn yaml_of(tree: &Node) -> Vec<u8> {
    pintle_yaml::write(tree).unwrap_or_default()
}
