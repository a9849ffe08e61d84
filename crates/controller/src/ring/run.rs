//! The controller as a replica of a ring: it joins, works while it holds its Lease, and gives its requests away when it stops.

use std::sync::Arc;

use futures::future::Shared;
use pintle::cluster::Cluster;
use pintle::{Cancel, LeaseHolder};
use pintle_tree::LogLine;

use super::driver::Driver;
use crate::Result;
use crate::leader::LeaderElection;
use crate::reconcile::Log;
use crate::run::{Options, RELEASE_TIMEOUT, reconciler, run_workers};
use crate::serve::Health;

/// Runs until `stop` completes or the Lease is lost. Then running operations have time to end, while what is idle goes to
/// other replicas at once.
///
/// # Errors
/// When the requests cannot be read.
pub(crate) async fn run(
    cluster: Cluster,
    options: Options,
    ring: LeaderElection,
    health: Health,
    log: Log,
    stop: Shared<impl Future<Output = ()>>,
) -> Result<()> {
    let retry = ring.retry_period;
    let join = async {
        loop {
            let joined =
                Driver::join(cluster.clone(), ring.clone(), Arc::clone(&health.metrics), Arc::clone(&log));
            match joined.await {
                Ok(joined) => return joined,
                Err(error) => log(&LogLine::warn(format!("cannot join the ring: {error}"), Vec::new())),
            }
            tokio::time::sleep(retry).await;
        }
    };
    let (mut driver, share, gains) = tokio::select! {
        joined = join => joined,
        () = stop.clone() => return Ok(()),
    };
    log(&LogLine::info("sharing the requests with other replicas"));
    let cancel = Cancel::default();
    // Each reconciliation has a holder of its own, which names its slot.
    let holder = LeaseHolder::new(options.identity.clone());
    let reconciler = Arc::new(reconciler(&cluster, &options, holder, &health.metrics, &log, &cancel));
    let (end, ended) = tokio::sync::watch::channel(false);
    let shared = Some((Arc::clone(&share), gains));
    let work = run_workers(cluster, options.clone(), reconciler, health.clone(), ended, shared);
    let outcome = {
        let work = async {
            tokio::select! {
                outcome = work => Some(outcome),
                // What ran is revoked by then.
                () = driver.run() => None,
            }
        };
        let mut work = std::pin::pin!(work);
        tokio::select! {
            outcome = &mut work => outcome,
            () = stop => {
                log(&LogLine::info("stopping"));
                share.leave();
                let _ = end.send(true);
                match tokio::time::timeout(options.graceful_shutdown, &mut work).await {
                    Ok(outcome) => outcome,
                    Err(_) => {
                        cancel.cancel();
                        let ended = tokio::time::timeout(options.cancel_timeout, &mut work).await;
                        ended.unwrap_or_else(|_| {
                            log(&LogLine::warn("some operations did not end in time", Vec::new()));
                            None
                        })
                    }
                }
            }
        }
    };
    match outcome {
        Some(outcome) => {
            // Without an answer, the Lease expires by itself.
            let _ = tokio::time::timeout(RELEASE_TIMEOUT, driver.release()).await;
            outcome
        }
        // The Lease was taken, or stays until others take it, because something may still run.
        None => {
            log(&LogLine::info("the lease of this replica was lost"));
            Ok(())
        }
    }
}
