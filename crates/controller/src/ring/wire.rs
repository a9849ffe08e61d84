//! How the table and the acks are written: as JSON in annotations of Leases.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::table::{Ack, Owner, Table};
use super::{SLOTS, Slot};

/// The label of all Leases of a ring, with its name.
pub(super) const RING_LABEL: &str = "helm.sh/ring";
/// The annotation with the table.
pub(super) const TABLE_ANNOTATION: &str = "helm.sh/ring-table";
/// The annotation with the identity of the coordinator, for people; empty if there is none.
pub(super) const COORDINATOR_ANNOTATION: &str = "helm.sh/ring-coordinator";
/// The annotation with what a replica says about the table.
pub(super) const ACK_ANNOTATION: &str = "helm.sh/ring-ack";

/// The most replicas that a table may have.
const MAX_MEMBERS: usize = 512;
/// The longest text of a table.
const MAX_TABLE: usize = 200 << 10;

/// The uid of a Lease.
pub(super) type Uid = Arc<str>;

#[derive(Serialize, Deserialize)]
struct TableText {
    series: String,
    epoch: u64,
    settled: bool,
    members: Vec<String>,
    /// Runs of slots with the same owner: the index of the owner in `members`, or `-`; with `d` and the epoch while it is drained;
    /// with `x` and how many.
    slots: String,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct AckText {
    series: String,
    epoch: u64,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    busy: BTreeSet<Slot>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    leaving: bool,
}

fn series(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

/// Writes a table.
pub(super) fn encode_table(table: &Table<Uid>) -> String {
    let members: BTreeMap<&Uid, usize> =
        table.members.iter().enumerate().map(|(index, member)| (member, index)).collect();
    let index = |member: &Uid| members.get(member).copied().unwrap_or(usize::MAX);
    let mut slots = String::new();
    for run in table.slots.chunk_by(|one, other| one == other) {
        let _ = match &run[0] {
            Owner::None => write!(slots, "-"),
            Owner::Held(member) => write!(slots, "{}", index(member)),
            Owner::Draining(member, since) => write!(slots, "{}d{since}", index(member)),
        };
        let _ = write!(slots, "x{},", run.len());
    }
    let text = TableText {
        series: format!("{:x}", table.series),
        epoch: table.epoch,
        settled: table.settled,
        members: table.members.iter().map(|member| member.to_string()).collect(),
        slots,
    };
    serde_json::to_string(&text).unwrap_or_default()
}

/// Reads a table; `None` if it is none.
pub(super) fn decode_table(text: &str) -> Option<Table<Uid>> {
    let text: TableText = serde_json::from_str(text.get(..MAX_TABLE).is_none().then_some(text)?).ok()?;
    if text.members.len() > MAX_MEMBERS {
        return None;
    }
    let members: Vec<Uid> = text.members.into_iter().map(Uid::from).collect();
    let mut slots = Vec::with_capacity(SLOTS.into());
    for run in text.slots.split(',').filter(|run| !run.is_empty()) {
        let (owner, count) = run.split_once('x')?;
        let owner = decode_owner(owner, &members)?;
        let count: u16 = count.parse().ok()?;
        if slots.len() + usize::from(count) > usize::from(SLOTS) {
            return None;
        }
        slots.extend(std::iter::repeat_n(owner, count.into()));
    }
    (slots.len() == usize::from(SLOTS)).then_some(())?;
    let members = members.into_iter().collect();
    Some(Table { series: series(&text.series)?, epoch: text.epoch, settled: text.settled, members, slots })
}

fn decode_owner(text: &str, members: &[Uid]) -> Option<Owner<Uid>> {
    if text == "-" {
        return Some(Owner::None);
    }
    let (index, since) = match text.split_once('d') {
        Some((index, since)) => (index, Some(since.parse().ok()?)),
        None => (text, None),
    };
    let member = members.get(index.parse::<usize>().ok()?)?.clone();
    Some(match since {
        Some(since) => Owner::Draining(member, since),
        None => Owner::Held(member),
    })
}

/// Writes what a replica says.
pub(super) fn encode_ack(ack: &Ack, leaving: bool) -> String {
    let text =
        AckText { series: format!("{:x}", ack.series), epoch: ack.epoch, busy: ack.busy.clone(), leaving };
    serde_json::to_string(&text).unwrap_or_default()
}

/// Reads what a replica says, and whether it leaves. What cannot be read says nothing.
pub(super) fn decode_ack(text: &str) -> (Ack, bool) {
    let text: AckText = serde_json::from_str(text).unwrap_or_default();
    let ack = Ack { series: series(&text.series).unwrap_or_default(), epoch: text.epoch, busy: text.busy };
    (ack, text.leaving)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table<Uid> {
        let (a, b): (Uid, Uid) = ("a".into(), "b".into());
        let mut table = Table::new(SLOTS, u64::MAX, 7);
        table.members = BTreeSet::from([a.clone(), b.clone()]);
        table.slots[..500].fill(Owner::Held(a));
        table.slots[700..].fill(Owner::Draining(b, 7));
        table
    }

    #[test]
    fn tables_and_acks_are_read_as_they_were_written() {
        let text = encode_table(&table());
        assert_eq!(
            text,
            r#"{"series":"ffffffffffffffff","epoch":7,"settled":false,"members":["a","b"],"slots":"0x500,-x200,1d7x324,"}"#
        );
        assert_eq!(decode_table(&text), Some(table()));
        let ack = Ack { series: 17, epoch: 3, busy: BTreeSet::from([1, 1023]) };
        assert_eq!(decode_ack(&encode_ack(&ack, true)), (ack, true));
    }

    #[test]
    fn a_table_that_is_damaged_is_none() {
        let text = encode_table(&table());
        for (part, damage) in [
            ("x500", "x501"),
            ("x500", "x65535"),
            ("1d7", "2d7"),
            ("0x", "x"),
            ("series", "serie"),
            ("}", ""),
        ] {
            assert_eq!(decode_table(&text.replace(part, damage)), None, "{damage}");
        }
        assert_eq!(decode_ack("no JSON"), (Ack::default(), false));
    }
}
