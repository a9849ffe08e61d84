//! Maps a function over many items, on several threads if the work is large enough.

use std::ops::Range;
use std::thread;

/// More threads do not pay off for charts of realistic size.
const MAX_THREADS: usize = 8;

/// Applies the function to all items and returns the results in order. `size` estimates the work of an item, and
/// `worth` is the total from which threads pay off.
pub fn parallel_map<T: Sync, A: Send>(
    items: &[T],
    worth: usize,
    size: impl Fn(&T) -> usize,
    work: impl Fn(&T) -> A + Sync,
) -> Vec<A> {
    let all = |items: &[T]| -> Vec<A> { items.iter().map(&work).collect() };
    let total: usize = items.iter().map(&size).sum();
    let threads = match total <= worth {
        true => 1,
        false => thread::available_parallelism().map_or(1, |count| count.get().min(MAX_THREADS)),
    };
    if threads < 2 || items.len() < 2 {
        return all(items);
    }
    thread::scope(|scope| {
        let mut parts = chunks(items, total.div_ceil(threads), &size).into_iter();
        // The calling thread takes the first part instead of only waiting.
        let here = parts.next();
        let others: Vec<_> = parts
            .map(|part| {
                let part = &items[part];
                // If the system refuses another thread, the work is done on this one.
                thread::Builder::new().spawn_scoped(scope, move || all(part)).map_err(|_| part)
            })
            .collect();
        let mut answers = here.map(|part| all(&items[part])).unwrap_or_default();
        for other in others {
            answers.extend(match other {
                Ok(handle) => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(part) => all(part),
            });
        }
        answers
    })
}

/// Splits into runs of neighbouring items of about `wanted` each.
fn chunks<T>(items: &[T], wanted: usize, size: impl Fn(&T) -> usize) -> Vec<Range<usize>> {
    let mut chunks = Vec::new();
    let (mut start, mut sum) = (0, 0);
    for (index, item) in items.iter().enumerate() {
        sum += size(item);
        if sum >= wanted {
            chunks.push(start..index + 1);
            (start, sum) = (index + 1, 0);
        }
    }
    if start < items.len() {
        chunks.push(start..items.len());
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_the_order_of_the_items_however_many_threads_there_are() {
        let items: Vec<usize> = (0..1_000).collect();
        let doubled: Vec<usize> = items.iter().map(|item| item * 2).collect();
        for worth in [0, usize::MAX] {
            assert_eq!(parallel_map(&items, worth, |item| *item, |item| item * 2), doubled);
        }
        assert!(parallel_map(&[] as &[usize], 0, |_| 1, |item| *item).is_empty());
    }
}
