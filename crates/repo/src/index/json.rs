//! Indexes in JSON, entry by entry.

use pintle_tree::{Node, json};
use pintle_yaml::decode::matches_field;

use super::Receiver;
use super::decode::{Dialect, clash};
use super::read::{Gathering, IndexSummary};
use crate::error::{Error, Result};

/// Reads an index in JSON; `None` for text that is none.
pub(super) fn read(text: &[u8], receiver: &mut dyn Receiver) -> Option<Result<IndexSummary>> {
    let mut summary = IndexSummary::default();
    let mut gathering = Gathering::new(receiver, Dialect::Json);
    let mut reader = Reader { text, at: 0 };
    reader.document(&mut summary, &mut gathering)?;
    reader.skip_blanks();
    if reader.at < text.len() {
        return None;
    }
    Some(match gathering.finish() {
        Ok(skipped) => Ok(IndexSummary { skipped, ..summary }),
        Err(text) => Err(Error::Index(text)),
    })
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&mut self) -> Option<u8> {
        self.skip_blanks();
        self.text.get(self.at).copied()
    }

    fn take(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += 1)
    }

    fn value(&mut self) -> Option<Node> {
        self.skip_blanks();
        let (node, length) = json::read_prefix(&self.text[self.at..]).ok()?;
        self.at += length;
        Some(node)
    }

    fn key(&mut self) -> Option<Vec<u8>> {
        if self.peek()? != b'"' {
            return None;
        }
        let key = self.value()?.as_text()?.as_bytes().to_vec();
        self.take(b':')?;
        Some(key)
    }

    /// Goes over what stands between brackets; `item` reads one piece.
    fn items(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.at += 1;
        if self.peek()? == end {
            self.at += 1;
            return Some(());
        }
        loop {
            item(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                byte if byte == end => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    fn document(&mut self, summary: &mut IndexSummary, gathering: &mut Gathering<'_>) -> Option<()> {
        if self.peek()? != b'{' {
            let node = self.value()?;
            if !node.is_nil() {
                gathering.note("", "", &clash(&node, "repo.IndexFile"));
            }
            return Some(());
        }
        self.items(b'}', |reader| {
            let key = reader.key()?;
            if matches_field(&key, "entries") && reader.peek()? == b'{' {
                return reader.entries(gathering);
            }
            let node = reader.value()?;
            gathering.field(&key, &node, summary);
            Some(())
        })
    }

    fn entries(&mut self, gathering: &mut Gathering<'_>) -> Option<()> {
        self.items(b'}', |reader| {
            let chart = reader.key()?;
            gathering.begin_chart(&chart);
            if reader.peek()? != b'[' {
                let node = reader.value()?;
                gathering.no_list(&node);
                return Some(());
            }
            reader.items(b']', |reader| {
                let node = reader.value()?;
                gathering.version(&node);
                Some(())
            })
        })
    }
}
