//! Bounds what the post-renderers of a request do: a patch of a few bytes can copy a document into itself again and again, and
//! a long list of patches is applied to each of many objects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

/// What all post-renderers of an operation read, compare and write together, in bytes. It takes some seconds.
const MAX_WORK: u64 = 256 << 20;
/// The largest object that patches may make, in bytes of JSON. etcd does not store more than a few megabytes.
const MAX_OBJECT: usize = 8 << 20;
/// The most that a post-renderer may write, in bytes.
const MAX_OUTPUT: usize = 64 << 20;

/// The work that is left, and the limits of what it makes.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    left: Arc<AtomicU64>,
    /// The largest object, in bytes.
    pub(super) object: usize,
    /// The largest output, in bytes.
    pub(super) output: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { left: Arc::new(AtomicU64::new(MAX_WORK)), object: MAX_OBJECT, output: MAX_OUTPUT }
    }
}

impl Budget {
    /// A budget for at most so many bytes of output.
    pub(super) fn with_output(bytes: u64) -> Budget {
        let output = usize::try_from(bytes).unwrap_or(usize::MAX).min(MAX_OUTPUT);
        Budget { output, ..Budget::default() }
    }

    /// A budget that a test uses up quickly: a thousandth.
    #[cfg(test)]
    pub(super) fn small() -> Budget {
        let left = Arc::new(AtomicU64::new(MAX_WORK / 1000));
        Budget { left, object: MAX_OBJECT / 1000, output: MAX_OUTPUT / 1000 }
    }

    /// Takes from the budget.
    ///
    /// # Errors
    /// When there is not enough left.
    pub(super) fn charge(&self, bytes: usize) -> Result<(), String> {
        let cost = bytes as u64;
        let taken =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(cost));
        match taken {
            Ok(_) => Ok(()),
            Err(_) => Err(
                "the post-renderers need too much work; use fewer or smaller patches, and narrower targets"
                    .to_owned(),
            ),
        }
    }
}

/// The size of a value in bytes of JSON, about; counting ends when it is more than `limit`.
pub(super) fn size(value: &Value, limit: usize) -> usize {
    let mut total: usize = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        total += match value {
            Value::Null | Value::Bool(_) => 5,
            Value::Number(_) => 8,
            Value::String(text) => text.len() + 3,
            Value::Array(items) => {
                open.extend(items);
                items.len() + 2
            }
            Value::Object(map) => {
                open.extend(map.values());
                map.keys().map(|key| key.len() + 4).sum::<usize>() + 2
            }
        };
        if total > limit {
            break;
        }
    }
    total
}
