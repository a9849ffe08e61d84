//! Records texts that the fast reader does not handle, from the parser's events.

use std::collections::BTreeMap;

use super::record::{Form, Recorder};
use crate::builder::{Builder as _, Validator};
use crate::error::Error;
use crate::read::{self, EventKind, Parser, Rules};

/// Records the first document of `text`.
pub(super) fn compose(text: &[u8], recorder: &mut Recorder) -> Result<(), Error> {
    // Decoding finds errors that the events do not show, such as an alias that contains itself.
    read::read(text, &mut Validator, Rules::default())?;
    compose_events(text, recorder)
}

/// Records the first document of `text` without checking scalars against their tags or aliases for cycles.
pub(super) fn compose_events(text: &[u8], recorder: &mut Recorder) -> Result<(), Error> {
    let mut parser = Parser::new(text);
    let mut anchors: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
    loop {
        let event = parser.next()?;
        if parser.is_wide() {
            return Err(Error::new("yaml: the text is UTF-16, of which no outline can be made"));
        }
        let (start, end) = (event.bytes.start, event.bytes.end);
        recorder.lead_at(parser.lead());
        let (anchor, tagged) = match event.kind {
            EventKind::StreamStart | EventKind::DocumentStart => continue,
            EventKind::StreamEnd | EventKind::DocumentEnd => break,
            EventKind::SequenceEnd | EventKind::MappingEnd => {
                // The ends of block collections are not written.
                if matches!(text.get(start..end), Some(b"]" | b"}")) {
                    recorder.end_at(end);
                }
                recorder.end_collection();
                continue;
            }
            EventKind::Alias(name) => {
                let name = name.of(parser.pool());
                let Some(target) = anchors.get(name).copied() else {
                    let name = String::from_utf8_lossy(name);
                    return Err(Error::new(format!("yaml: unknown anchor '{name}' referenced")));
                };
                recorder.alias(start, end, target);
                continue;
            }
            EventKind::Scalar { anchor, tag, .. } => (anchor, tag.is_some()),
            EventKind::SequenceStart(anchor) | EventKind::MappingStart(anchor) => {
                (anchor, event.outer < start)
            }
        };
        if let Some(anchor) = anchor {
            anchors.insert(anchor.of(parser.pool()).to_vec(), recorder.next_index());
        }
        if anchor.is_some() || tagged {
            recorder.property(event.outer);
        }
        match event.kind {
            EventKind::SequenceStart(_) | EventKind::MappingStart(_) => {
                let mapping = matches!(event.kind, EventKind::MappingStart(_));
                let flow = matches!(text.get(start), Some(b'[' | b'{'));
                recorder.begin_at(start, flow);
                recorder.begin_collection(if mapping { Form::Mapping } else { Form::Sequence }, flow);
            }
            _ => {
                recorder.block_at(start, end, event.indent);
                recorder.scalar();
            }
        }
    }
    if recorder.is_empty_document() {
        recorder.scalar_at(text.len(), text.len(), false);
        recorder.scalar();
    }
    Ok(())
}
