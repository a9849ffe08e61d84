//! Bounded concurrency for requests.

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};

/// How many requests are in flight at once. Each may take a connection of its own, and API servers get no faster
/// beyond this.
pub const MAX_CONCURRENCY: usize = 16;

/// Runs `work` for every item with bounded concurrency, and returns the results in the order of the items.
pub fn run_concurrently<'a, T, R: Send + 'a>(
    items: &'a [T],
    work: impl Fn(&'a T) -> BoxFuture<'a, R>,
) -> BoxFuture<'a, Vec<R>> {
    // The futures are boxed and created up front because the compiler cannot prove that a stream of closures is
    // `Send`.
    let waiting: Vec<BoxFuture<'a, (usize, R)>> = items
        .iter()
        .enumerate()
        .map(|(index, item)| work(item).map(move |result| (index, result)).boxed())
        .collect();
    async move {
        // Unordered, so that one slow request does not keep the others from starting.
        let mut done: Vec<(usize, R)> =
            stream::iter(waiting).buffer_unordered(MAX_CONCURRENCY).collect().await;
        done.sort_unstable_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, result)| result).collect()
    }
    .boxed()
}

/// As [`run_concurrently`], but neighbours of one kind form a batch, and a batch starts when the one before it is
/// done. Errors do not stop later batches. The results are in the order of the items.
pub fn run_in_batches<'a, T, R: Send + 'a>(
    items: &'a [T],
    kind: impl Fn(&T) -> &str,
    work: impl Fn(&'a T) -> BoxFuture<'a, R>,
) -> BoxFuture<'a, Vec<R>> {
    let batches: Vec<BoxFuture<'a, Vec<R>>> = items
        .chunk_by(|one, next| kind(one) == kind(next))
        .map(|batch| run_concurrently(batch, &work))
        .collect();
    async move {
        let mut results = Vec::new();
        for batch in batches {
            results.extend(batch.await);
        }
        results
    }
    .boxed()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test]
    async fn batches_keep_the_order_of_kinds_and_of_results() {
        let items = ["a1", "a2", "b1", "a3"];
        let begun = Mutex::new(Vec::new());
        let results = run_in_batches(
            &items,
            |item| &item[..1],
            |item| {
                async {
                    begun.lock().expect("no panic").push(*item);
                    // The first of a kind takes longest.
                    for _ in 0..if item.ends_with('1') { 5 } else { 1 } {
                        tokio::task::yield_now().await;
                    }
                    begun.lock().expect("no panic").push("done");
                    *item
                }
                .boxed()
            },
        )
        .await;
        assert_eq!(results, ["a1", "a2", "b1", "a3"]);
        assert_eq!(
            *begun.lock().expect("no panic"),
            ["a1", "a2", "done", "done", "b1", "done", "a3", "done"]
        );
    }
}
