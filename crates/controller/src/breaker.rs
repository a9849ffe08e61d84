//! Keeps requests to a cluster that does not answer from holding workers that others need.
//!
//! An operation on a dead cluster waits for minutes before it fails. So a cluster that has not answered for a while is asked a
//! small question first, with little time to answer, by one reconciliation at a time; and one that failed repeatedly is not asked
//! at all for some time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long a cluster that has answered need not be asked again.
const FRESH: Duration = Duration::from_secs(10);
/// How long it may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// After how many failures in a row the pauses become long.
const OPENS_AFTER: u32 = 3;
/// The shortest and the longest of the long pauses.
const PAUSES: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(300));
/// How many clusters are remembered.
const MAX_CLUSTERS: usize = 4096;

/// What is known about clusters, by kubeconfig: another one for the same cluster begins anew.
#[derive(Default)]
pub(crate) struct Breakers(Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<State>>>>);

#[derive(Default)]
struct State {
    failures: u32,
    /// When it last answered.
    good: Option<Instant>,
    /// Until when it is not asked.
    until: Option<Instant>,
    error: String,
}

impl Breakers {
    /// Returns at once if the cluster has just answered, or is not to be asked now; else asks it by `probe`.
    ///
    /// # Errors
    /// When it does not answer, or did not when it was last asked.
    pub(crate) async fn check(
        &self,
        kubeconfig: &str,
        probe: impl Future<Output = Result<(), String>>,
    ) -> Result<(), String> {
        let cell = self.cell(kubeconfig);
        let mut state = cell.lock().await;
        let now = Instant::now();
        if state.good.is_some_and(|good| now.duration_since(good) < FRESH) {
            return Ok(());
        }
        if state.until.is_some_and(|until| now < until) {
            return Err(state.text());
        }
        let answer = tokio::time::timeout(ANSWER, probe).await;
        let now = Instant::now();
        match answer.unwrap_or_else(|_| Err(format!("no answer within {} s", ANSWER.as_secs()))) {
            Ok(()) => {
                *state = State { good: Some(now), ..State::default() };
                Ok(())
            }
            Err(error) => {
                state.failures += 1;
                (state.error, state.until, state.good) = (error, Some(now + pause(state.failures)), None);
                Err(state.text())
            }
        }
    }

    fn cell(&self, kubeconfig: &str) -> Arc<tokio::sync::Mutex<State>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_CLUSTERS && !all.contains_key(kubeconfig) {
            // Whichever it is, it is asked once more than necessary.
            all.pop_first();
        }
        Arc::clone(all.entry(kubeconfig.to_owned()).or_default())
    }
}

impl State {
    /// The same text while the pause lasts, so that statuses are not written again and again.
    fn text(&self) -> String {
        let error = &self.error;
        match self.failures < OPENS_AFTER {
            true => format!("the cluster does not answer: {error}"),
            false => format!("the cluster does not answer, and is asked once in 30 s to 5 min: {error}"),
        }
    }
}

/// How long a cluster is not asked after so many failures in a row.
fn pause(failures: u32) -> Duration {
    match failures.checked_sub(OPENS_AFTER) {
        None => ANSWER,
        Some(more) => PAUSES.0.saturating_mul(1 << more.min(8)).min(PAUSES.1),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_dead_cluster_costs_little_and_is_asked_less_and_less_often() {
        let (breakers, asked) = (Breakers::default(), AtomicU32::new(0));
        let dead = async || {
            let probe = async {
                asked.fetch_add(1, Ordering::Relaxed);
                std::future::pending().await
            };
            breakers.check("dead", probe).await
        };
        let begin = Instant::now();
        let (one, other) = futures::join!(dead(), dead());
        assert_eq!((one, begin.elapsed()), (other, ANSWER), "both wait for the same question");
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        let end = begin + Duration::from_secs(3600);
        while Instant::now() < end {
            let before = Instant::now();
            assert!(dead().await.is_err_and(|error| error.contains("no answer within 5 s")));
            assert!(before.elapsed() <= ANSWER);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let asked = asked.load(Ordering::Relaxed);
        assert!((14..=20).contains(&asked), "{asked} questions in an hour");
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_that_answers_again_is_used_at_once() {
        let breakers = Breakers::default();
        let refused = || std::future::ready(Err("refused".to_owned()));
        let answers = || std::future::ready(Ok(()));
        for _ in 0..5 {
            assert!(breakers.check("a", refused()).await.is_err());
            tokio::time::sleep(Duration::from_secs(301)).await;
        }
        assert_eq!(breakers.check("a", answers()).await, Ok(()));
        assert_eq!(breakers.check("a", refused()).await, Ok(()), "it has just answered");
        tokio::time::sleep(FRESH).await;
        let error = breakers.check("a", refused()).await.expect_err("it is asked");
        assert_eq!(error, "the cluster does not answer: refused", "failures are counted anew");
        assert_eq!(breakers.check("a with another kubeconfig", answers()).await, Ok(()));
    }
}
