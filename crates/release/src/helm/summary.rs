//! Summarizes a stored release from the beginning of its record.
//!
//! Helm writes name, info and the chart's metadata before everything large, so listing decompresses a few kilobytes
//! of each release. What comes later is taken from the labels.

use std::collections::BTreeMap;
use std::io::Read as _;

use base64::Engine as _;
use base64::read::DecoderReader;
use flate2::read::MultiGzDecoder;
use pintle_tree::Node;
use pintle_tree::json::ErrorKind;

use super::go_json::{Decoder, FieldPath};
use super::outline::{Cursor, JsonResult};
use super::pack::{GO_BASE64, MAX_UNPACKED, decode_base64_like_go, gzip_error, is_gzip, unpack_bytes};
use super::{Error, decode, user_labels};
use crate::{PreservedFields, ReleaseVersion, Summary};

/// How much is decompressed at first; enough for most records.
const INITIAL_BYTES: usize = 8 << 10;

/// Summarizes a stored release. `data` is the encoded record; `labels` and `namespace` are those of the object that
/// holds it.
///
/// # Errors
/// A record that cannot be decoded, as far as it was read.
pub fn summarize(data: &[u8], labels: &BTreeMap<String, String>, namespace: &str) -> Result<Summary, Error> {
    let number = labels.get("version").and_then(|text| text.parse().ok());
    let head = match number {
        Some(number) => read_head(data)?.map(|head| ReleaseVersion { number, ..head }),
        None => None,
    };
    let mut version = match head {
        Some(version) => version,
        None => decode(&super::unpack(data)?)?,
    };
    if !namespace.is_empty() {
        version.namespace = namespace.to_owned();
    }
    let labels = labels.iter().map(|(key, value)| (key.clone(), value.clone()));
    version.labels = user_labels(labels);
    Ok(Summary::from_version(&version))
}

/// Decompresses until name, info and chart metadata are complete. `None` when the fields are not in Helm's order.
fn read_head(data: &[u8]) -> Result<Option<ReleaseVersion>, Error> {
    let mut start = [0; 12];
    // Whole groups of four letters, enough for the magic bytes.
    let known = data.len().min(16) / 4 * 4;
    if GO_BASE64.decode_slice(&data[..known], &mut start).is_err() || !is_gzip(&start) {
        // Without gzip, or with unusual base64, there is nothing to save.
        let bytes = match GO_BASE64.decode(data) {
            Ok(bytes) => bytes,
            Err(_) => decode_base64_like_go(data).map_err(Error::new)?,
        };
        return parse_head(&unpack_bytes(bytes)?, true);
    }
    let mut inflated = Vec::new();
    let mut stream = MultiGzDecoder::new(DecoderReader::new(data, &GO_BASE64));
    let mut limit = INITIAL_BYTES;
    loop {
        let before = inflated.len();
        stream.by_ref().take((limit - before) as u64).read_to_end(&mut inflated).map_err(gzip_error)?;
        // The reader stops at the limit, so fewer bytes mean the end of the record.
        let complete = inflated.len() < limit;
        if let Some(head) = parse_head(&inflated, complete)? {
            return Ok(Some(head));
        }
        if complete {
            return Ok(None);
        }
        if limit as u64 > MAX_UNPACKED {
            return Err(Error::new(format!("the release is larger than {MAX_UNPACKED} bytes when unpacked")));
        }
        // Doubling keeps the repeated parsing linear in the size of the head.
        limit *= 2;
    }
}

/// Parses the beginning of a record; `None` when it is too short or in another order.
fn parse_head(text: &[u8], complete: bool) -> Result<Option<ReleaseVersion>, Error> {
    match head(&mut Cursor::new(text)) {
        Ok(head) => head.map(|fields| from_fields(&fields)).transpose(),
        // An incomplete text ends in an error of syntax, which then only means that more is needed.
        Err(error) if complete && error.kind() != ErrorKind::Empty => Err(error.into()),
        Err(_) => Ok(None),
    }
}

/// The first fields of a record.
#[derive(Default)]
struct Head {
    name: Option<Node>,
    info: Option<Node>,
    metadata: Option<Node>,
}

fn from_fields(head: &Head) -> Result<ReleaseVersion, Error> {
    let mut version = ReleaseVersion::default();
    let mut preserved = PreservedFields::default();
    let mut decoder = Decoder::default();
    let name = head.name.as_ref().unwrap_or(&Node::Nil);
    let document = FieldPath::Root("Release");
    decoder.text(name, &document.field("name"), "string", &mut version.name);
    if let Some(info) = &head.info {
        super::decode::info(&mut decoder, info, &mut version, &mut preserved);
    }
    if let Some(metadata) = &head.metadata {
        let chart = document.field("chart");
        version.chart.metadata = super::decode::metadata(&mut decoder, metadata, &chart.field("metadata"));
    }
    decoder.finish().map_err(Error::new)?;
    version.preserved = Some(Box::new(preserved));
    Ok(version)
}

/// Parses up to the chart's metadata, or to the end of a record without a chart.
fn head(cursor: &mut Cursor<'_>) -> JsonResult<Option<Head>> {
    let mut head = Head::default();
    if !cursor.take(b'{') {
        return Ok(None);
    }
    while let Some(key) = cursor.key()? {
        match key.as_str() {
            Some("name") => head.name = Some(cursor.value()?),
            Some("info") => head.info = Some(cursor.value()?),
            Some("chart") => {
                if !cursor.take(b'{') || cursor.key()?.as_ref().and_then(Node::as_str) != Some("metadata") {
                    return Ok(None);
                }
                head.metadata = Some(cursor.value()?);
                return Ok(Some(head).filter(|head| head.info.is_some()));
            }
            _ => {
                cursor.value()?;
            }
        }
        if !cursor.take(b',') {
            break;
        }
    }
    // Only a complete record may lack a chart.
    Ok(cursor.take(b'}').then_some(head))
}

#[cfg(test)]
mod tests {
    use pintle_tree::Map;

    use super::*;
    use crate::helm::{encode, pack};
    use crate::{Status, Timestamp};

    fn labels(number: &str) -> BTreeMap<String, String> {
        [("name", "web"), ("owner", "helm"), ("version", number), ("team", "a")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into()
    }

    fn version(notes: usize) -> ReleaseVersion {
        let mut version = ReleaseVersion { name: "web".into(), number: 4, ..ReleaseVersion::default() };
        version.info.status = Status::Failed;
        version.info.last_deployed = Some(Timestamp::from_unix(5, 0));
        version.info.notes = "note ".repeat(notes);
        version.chart.metadata.name = "app".into();
        version.chart.metadata.version = "1.2.3".into();
        version.chart.values = Some(Map::from_entries(vec![("key".into(), Node::from("value"))]));
        version
    }

    #[test]
    fn a_head_without_end_is_refused_at_the_limit_on_records() {
        let name = vec![b'x'; usize::try_from(MAX_UNPACKED).expect("it fits") + (64 << 20)];
        let json = [&b"{\"name\":\""[..], &name, b"\"}"].concat();
        let packed = base64::engine::general_purpose::STANDARD
            .encode(crate::helm::pack_bytes(&json, flate2::Compression::fast()));
        assert!(read_head(packed.as_bytes()).is_err());
    }

    #[test]
    fn the_beginning_of_a_record_is_enough() {
        for notes in [0, 1_000, 20_000] {
            let json = encode(&version(notes)).expect("can be written");
            // What follows the chart's metadata is not read, so it may be invalid.
            let cut = json.windows(8).position(|part| part == b"\"values\"").expect("has values");
            let mut broken = json[..cut].to_vec();
            broken.extend(b"?".repeat(200_000));
            let summary = summarize(pack(&broken).as_bytes(), &labels("4"), "ns").expect("a release");
            assert_eq!((summary.name.as_str(), summary.number), ("web", 4));
            assert_eq!((summary.chart_name.as_str(), summary.chart_version.as_str()), ("app", "1.2.3"));
            assert_eq!((summary.status, summary.namespace.as_str()), (Status::Failed, "ns"));
            assert_eq!(summary.labels.into_keys().collect::<Vec<_>>(), ["team"]);
        }
    }

    #[test]
    fn records_in_another_order_are_read_whole() {
        let text = br#"{"version":7,"chart":{"files":null,"metadata":{"name":"app"}},"info":{"status":"deployed"},"name":"web"}"#;
        let mut labels = labels("7");
        for _ in 0..2 {
            let summary = summarize(pack(text).as_bytes(), &labels, "").expect("a release");
            assert_eq!((summary.chart_name.as_str(), summary.number), ("app", 7));
            labels.remove("version");
        }
    }

    #[test]
    fn what_is_no_release_is_an_error() {
        for data in ["aGk=", "H4sIAA==", "???", ""] {
            assert!(summarize(data.as_bytes(), &labels("1"), "").is_err(), "{data}");
        }
    }
}
