//! Get and list: selectors, pagination and resource versions.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use pintle_tree::{Map, Node, Str, json};

use super::meta::{map, set, text_at};
use super::negotiation::{Format, View};
use super::reply::Reply;
use super::selector::Selector;
use super::served_kind::ServedKind;
use super::{Api, Call, not_found, table};
use crate::status::{Status, StatusCause, StatusDetails};
use crate::store::{Listing, Object, TooOld, prefix};

impl Api {
    pub(super) fn get(&self, call: &Call<'_>) -> Result<Reply, Status> {
        self.check_not_future(call.query.get("resourceVersion"))?;
        let object =
            self.0.store.get(&call.key()).ok_or_else(|| not_found(call.served.resource(), call.name()))?;
        if call.negotiated.view == View::Whole
            && call.negotiated.format == Format::Json
            && call.served.is_served_as_stored()
        {
            return Ok(Reply::json(object.text.clone()));
        }
        Ok(self.object_reply(call, 200, object.node()))
    }

    /// The reply with an object, in the requested representation.
    pub(super) fn object_reply(&self, call: &Call<'_>, code: u16, mut object: Node) -> Reply {
        call.served.convert_from_storage(&mut object);
        let tree = match call.negotiated.view {
            View::Table => table::from_object(self, call, object),
            View::Metadata => metadata_only(object),
            View::Whole | View::Discovery => object,
        };
        Reply::tree(code, tree)
    }

    pub(super) fn list(&self, call: &Call<'_>) -> Result<Reply, Status> {
        let selector = self.selector(call)?;
        let limit = call.query.number("limit")?.unwrap_or(0);
        let limit = usize::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        let start = self.list_start(call)?;
        let prefix = prefix(&call.served.storage_prefix(), call.target.namespace.as_deref());
        let after = start.key.as_ref().map(|key| Str::from(format!("{prefix}{key}")));
        let matches = |object: &Object| selector.matches(object);
        let index_hint = selector.index_hint(&call.scope());
        let listing =
            self.0.store.find(&prefix, after.as_ref(), limit, start.revision, (&index_hint, &matches));
        let listing = listing.map_err(|too_old| expired(&start, too_old))?;
        let mut metadata = map([("resourceVersion", listing.revision.to_string().into())]);
        // The Go types of custom resource lists have no `omitempty` here.
        if call.served.is_custom() && call.negotiated.view == View::Whole {
            set(&mut metadata, &["continue"], "");
        }
        if listing.remaining > 0
            && let Some(last) = listing.objects.last()
        {
            set(&mut metadata, &["continue"], continue_token(listing.revision, &prefix, &last.key));
            // With a selector the remaining objects are not counted, as in the real server.
            if selector.is_empty() {
                set(&mut metadata, &["remainingItemCount"], Node::Int(listing.remaining as i64));
            }
        }
        Ok(self.list_reply(call, &listing, metadata))
    }

    fn list_reply(&self, call: &Call<'_>, listing: &Listing, metadata: Node) -> Reply {
        let resource = call.served.resource();
        match call.negotiated.view {
            View::Table => Reply::tree(200, table::from_list(self, call, listing, metadata)),
            View::Metadata => {
                let items =
                    listing.objects.iter().map(|object| metadata_only(object.node())).collect::<Vec<_>>();
                Reply::tree(200, list_of("meta.k8s.io/v1", "PartialObjectMetadataList", metadata, items))
            }
            _ if call.negotiated.format == Format::Json => Reply::json(list_text(call, listing, &metadata)),
            _ => {
                let items = listing.objects.iter().map(|object| item(call, object)).collect::<Vec<_>>();
                let kind = resource.list_kind.to_string();
                Reply::tree(200, list_of(&resource.api_version(), &kind, metadata, items))
            }
        }
    }

    pub(super) fn selector(&self, call: &Call<'_>) -> Result<Selector, Status> {
        let (labels, fields) = (call.query.get("labelSelector"), call.query.get("fieldSelector"));
        let own = match &call.served {
            ServedKind::Custom(kind) => &kind.selectable[..],
            ServedKind::BuiltIn(_) => &[],
        };
        Selector::parse(labels, fields, &call.served.kind(self.0.catalog), own)
    }

    /// The resourceVersion and the start key of a list, from the query or the continue token.
    fn list_start(&self, call: &Call<'_>) -> Result<ListStart, Status> {
        let (revision, wanted) = (call.query.get("resourceVersion"), call.query.get("resourceVersionMatch"));
        let continue_token = call.query.get("continue");
        if let Some(cause) = version_match_error(revision, wanted, continue_token) {
            return Err(Status::invalid("meta.k8s.io", "ListOptions", "", vec![cause]));
        }
        if !continue_token.is_empty() {
            if !revision.is_empty() && revision != "0" {
                let message = "specifying resource version is not allowed when using continue";
                return Err(Status::bad_request(message));
            }
            return parse_continue_token(continue_token);
        }
        let number = self.check_not_future(revision)?;
        // A limited list at a resourceVersion is exact, so that all of its pages show the same state.
        let exact = wanted == "Exact" || (wanted.is_empty() && call.query.has("limit") && number > 0);
        Ok(ListStart { revision: exact.then_some(number), key: None, continued: false })
    }

    /// Parses a resourceVersion; one that is ahead of the store is an error, as the server cannot wait for it.
    pub(super) fn check_not_future(&self, revision: &str) -> Result<u64, Status> {
        if revision.is_empty() {
            return Ok(0);
        }
        let number: u64 = revision.parse().map_err(|_| {
            let problem = format!("strconv.ParseUint: parsing {revision:?}: invalid syntax");
            Status::bad_request(format!(
                "invalid resource version: resourceVersion: Invalid value: {revision:?}: {problem}"
            ))
        })?;
        let current = self.0.store.revision();
        if number <= current {
            return Ok(number);
        }
        let message = format!("Timeout: Too large resource version: {number}, current: {current}");
        let message_of_cause = "Too large resource version".to_owned();
        let cause = StatusCause {
            reason: "ResourceVersionTooLarge",
            message: message_of_cause,
            field: String::new(),
        };
        let details =
            StatusDetails { causes: vec![cause], retry_after_seconds: 1, ..StatusDetails::default() };
        Err(Status::new(504, "Timeout", message).with_details(details))
    }
}

struct ListStart {
    /// `None` for the newest state.
    revision: Option<u64>,
    /// The last key of the previous page, without the prefix.
    key: Option<Str>,
    continued: bool,
}

fn version_match_error(revision: &str, wanted: &str, continue_token: &str) -> Option<StatusCause> {
    let field = "resourceVersionMatch";
    if wanted.is_empty() {
        return None;
    }
    if revision.is_empty() {
        return Some(StatusCause::forbidden(
            field,
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ));
    }
    if !continue_token.is_empty() {
        return Some(StatusCause::forbidden(
            field,
            "resourceVersionMatch is forbidden when continue is provided",
        ));
    }
    if !matches!(wanted, "Exact" | "NotOlderThan") {
        return Some(StatusCause::not_supported(field, &wanted.into(), &["Exact", "NotOlderThan", ""]));
    }
    let exactly_nothing = wanted == "Exact" && revision == "0";
    exactly_nothing.then(|| {
        StatusCause::forbidden(field, r#"resourceVersionMatch "exact" is forbidden for resourceVersion "0""#)
    })
}

fn expired(start: &ListStart, _: TooOld) -> Status {
    let message = if start.continued {
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter."
    } else {
        "The resourceVersion for the provided list is too old."
    };
    Status::new(410, "Expired", message)
}

/// The continue token, in the real server's format.
fn continue_token(revision: u64, prefix: &str, last: &Str) -> String {
    let key = last.to_str_lossy();
    let start = key.strip_prefix(prefix).unwrap_or_default();
    let tree = map([
        ("v", "meta.k8s.io/v1".into()),
        ("rv", Node::Int(i64::try_from(revision).unwrap_or(i64::MAX))),
        // The real server continues at the first key that is not smaller; the zero byte makes it the next one.
        ("start", format!("{start}\0").into()),
    ]);
    URL_SAFE_NO_PAD.encode(json::write(&tree).unwrap_or_default())
}

fn parse_continue_token(continue_token: &str) -> Result<ListStart, Status> {
    let wrong = |why: String| {
        Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
    };
    let text = URL_SAFE_NO_PAD.decode(continue_token).map_err(|error| wrong(error.to_string()))?;
    let tree = json::read_exact(&text).map_err(|error| wrong(error.kubernetes_text().to_owned()))?;
    if text_at(&tree, &["v"]) != "meta.k8s.io/v1" {
        return Err(wrong("server does not recognize this encoded version \"\"".to_owned()));
    }
    let revision = match tree.get("rv") {
        Some(Node::Int(revision)) if *revision > 0 => u64::try_from(*revision).ok(),
        _ => {
            return Err(wrong("incorrect encoded start resourceVersion (version meta.k8s.io/v1)".to_owned()));
        }
    };
    let key = text_at(&tree, &["start"]).trim_end_matches('\0');
    Ok(ListStart { revision, key: Some(Str::from(key)), continued: true })
}

/// An object as a list item: the items of built-in lists have neither `apiVersion` nor `kind`.
fn item(call: &Call<'_>, object: &Object) -> Node {
    let mut node = object.node();
    call.served.convert_from_storage(&mut node);
    if !call.served.is_custom()
        && let Node::Map(map) = &mut node
    {
        map.remove("apiVersion");
        map.remove("kind");
    }
    node
}

/// Writes a list by concatenating the stored JSON of its objects: a list of a hundred thousand objects is sent
/// without parsing any of them.
fn list_text(call: &Call<'_>, listing: &Listing, metadata: &Node) -> Bytes {
    let resource = call.served.resource();
    let size: usize = listing.objects.iter().map(|object| object.text.len() + 1).sum();
    let mut text = Vec::with_capacity(size + 256);
    let mut put = |tree: &Node| text.extend(json::write_raw(tree).unwrap_or_default());
    let head =
        map([("apiVersion", resource.api_version().into()), ("kind", resource.list_kind.clone().into())]);
    put(&head);
    // Opens the object again: the closing brace comes after the items.
    text.pop();
    text.extend(b",\"metadata\":");
    text.extend(json::write_raw(metadata).unwrap_or_default());
    text.extend(b",\"items\":[");
    // Items of custom lists keep `apiVersion` and `kind`, so that their text is copied as it is.
    let quick = call.served.is_custom() && call.served.is_served_as_stored();
    for (index, object) in listing.objects.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        match plain_item(&object.text).filter(|_| call.served.is_served_as_stored()) {
            _ if quick => text.extend(&object.text),
            Some(plain) => text.extend(plain),
            None => text.extend(json::write_raw(&item(call, object)).unwrap_or_default()),
        }
    }
    text.extend(b"]}\n");
    text.into()
}

/// The stored JSON of an object without `apiVersion`, which is its first field, and without `kind`.
fn plain_item(text: &[u8]) -> Option<Vec<u8>> {
    let rest = text.strip_prefix(b"{\"apiVersion\":\"")?;
    let rest = &rest[rest.iter().position(|byte| *byte == b'"')? + 1..];
    let kind = top_field(rest, b",\"kind\":\"")?;
    let word = &rest[kind + 9..];
    let after = &word[word.iter().position(|byte| *byte == b'"')? + 1..];
    let mut plain = Vec::with_capacity(text.len());
    plain.push(b'{');
    // Exactly one comma must be left between the two parts.
    let before = rest[..kind].strip_prefix(b",").unwrap_or_default();
    plain.extend(before);
    plain.extend(if before.is_empty() { after.strip_prefix(b",").unwrap_or(after) } else { after });
    Some(plain)
}

/// The position of a field at the top level.
fn top_field(text: &[u8], field: &[u8]) -> Option<usize> {
    let (mut depth, mut quoted, mut at) = (0_usize, false, 0);
    while at < text.len() {
        if !quoted && depth == 0 && text[at..].starts_with(field) {
            return Some(at);
        }
        match text[at] {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b'{' | b'[' if !quoted => depth += 1,
            b'}' | b']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    None
}

pub(super) fn list_of(api_version: &str, kind: &str, metadata: Node, items: Vec<Node>) -> Node {
    map([
        ("apiVersion", api_version.into()),
        ("kind", kind.into()),
        ("metadata", metadata),
        ("items", items.into()),
    ])
}

/// The object as `PartialObjectMetadata`.
pub(super) fn metadata_only(object: Node) -> Node {
    let mut partial = Map::new();
    partial.insert("apiVersion".into(), "meta.k8s.io/v1".into());
    partial.insert("kind".into(), "PartialObjectMetadata".into());
    partial.insert("metadata".into(), object.get("metadata").cloned().unwrap_or_else(Node::empty_map));
    Node::Map(partial)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_items_lose_only_their_kind() {
        let plain = |text: &'static str| String::from_utf8(plain_item(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(plain(r#"{"apiVersion":"v1","kind":"A","metadata":{}}"#), r#"{"metadata":{}}"#);
        let tricky = r#"{"apiVersion":"v1","data":{"a":",\"kind\":\"B\"","b":{"x":1,"kind":"C"}},"kind":"A","metadata":{}}"#;
        let wanted = r#"{"data":{"a":",\"kind\":\"B\"","b":{"x":1,"kind":"C"}},"metadata":{}}"#;
        assert_eq!(plain(tricky), wanted);
    }

    #[test]
    fn continue_tokens_lead_back_to_the_end_of_the_page() {
        let continue_token = continue_token(7, "configmaps/a/", &"configmaps/a/b".into());
        let start = parse_continue_token(&continue_token).ok().unwrap();
        assert_eq!((start.revision, start.key), (Some(7), Some("b".into())));
        for nonsense in ["x", "nonsense", "e30", "!!"] {
            assert_eq!(parse_continue_token(nonsense).err().unwrap().code, 400, "{nonsense}");
        }
    }
}
