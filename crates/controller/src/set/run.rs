//! Watches sets and their requests.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::runtime::controller::{Action, Config, Controller};
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher;
use kube::{Api, Resource as _, ResourceExt as _};
use pintle::SystemClock;
use pintle::cluster::Cluster;
use pintle_tree::{LogLevel, LogLine};

use super::{SET_LABEL, SetHead, SetReconciler};
use crate::Error;
use crate::reconcile::Log;
use crate::request::RequestHead;
use crate::ring::{Refusal, Share, slot_of};
use crate::run::Options;

/// How many sets are reconciled at once.
const CONCURRENT: u16 = 4;
/// How long changes of the requests of a set are collected.
const DEBOUNCE: Duration = Duration::from_millis(500);
/// When a set that cannot be read or whose status cannot be written is tried again.
const RETRY: Duration = Duration::from_secs(15);

struct Context {
    reconciler: SetReconciler,
    share: Option<Arc<Share>>,
    log: Log,
}

/// Reconciles sets until it is dropped.
pub(crate) async fn run_sets(cluster: Cluster, options: Options, share: Option<Arc<Share>>, log: Log) {
    let client = cluster.kube_client().clone();
    let sets: Api<SetHead> = crate::run::scoped(client.clone(), &options.namespace);
    let requests: Api<RequestHead> = crate::run::scoped(client, &options.namespace);
    let default_service_account = options.default_service_account.clone();
    let reconciler = SetReconciler { cluster, clock: Arc::new(SystemClock), default_service_account };
    let context = Arc::new(Context { reconciler, share, log });
    let set_of = |request: RequestHead| {
        let namespace = request.namespace()?;
        let set = request.meta().labels.as_ref()?.get(SET_LABEL)?;
        Some(ObjectRef::<SetHead>::new(set).within(&namespace))
    };
    let controller = Controller::new(sets, watcher::Config::default().labels(&options.selector))
        .with_config(Config::default().concurrency(CONCURRENT).debounce(DEBOUNCE))
        .watches(requests, watcher::Config::default().labels(SET_LABEL), set_of);
    let mut running = std::pin::pin!(controller.run(reconcile, back_off, context));
    while running.next().await.is_some() {}
}

async fn reconcile(head: Arc<SetHead>, context: Arc<Context>) -> Result<Action, Error> {
    let (namespace, name) = (head.namespace().unwrap_or_default(), head.name_any());
    let turn = match context.share.as_ref().map(|share| share.enter(slot_of(&namespace, &name))) {
        None => None,
        Some(Ok(turn)) => Some(turn),
        // Sets are few: whether one is ours by now is simply looked at again.
        Some(Err(Refusal::NotOurs)) => return Ok(Action::requeue(RETRY)),
        Some(Err(Refusal::Unsure(later))) => return Ok(Action::requeue(later)),
    };
    let reconciled = Box::pin(context.reconciler.reconcile(&namespace, &name));
    let after = match &turn {
        None => reconciled.await?,
        Some(turn) => tokio::select! {
            done = reconciled => done?,
            () = turn.revoked() => Some(RETRY),
        },
    };
    Ok(after.map_or_else(Action::await_change, Action::requeue))
}

fn back_off(head: Arc<SetHead>, error: &Error, context: Arc<Context>) -> Action {
    let attributes = vec![("namespace", head.namespace().unwrap_or_default()), ("name", head.name_any())];
    let message = format!("cannot reconcile the set: {error}").into();
    (context.log)(&LogLine { level: LogLevel::Warn, message, attributes });
    Action::requeue(RETRY)
}
