//! `kubernetes`: read-only access to the cluster, if there is one.

use mlua::Value;
use pintle_tree::Node;

use crate::call::{Answer, Body, Call, CallError};
use crate::services::ClusterReader;

/// The functions of `kubernetes`.
pub(super) const FUNCTIONS: &[(&str, Body)] =
    &[("connected", connected), ("has", has), ("get", get), ("storage_classes", storage_classes)];

/// The steps charged per call, so that a loop of calls terminates.
const STEPS: u64 = 50_000;

/// Whether there is a cluster.
fn connected(call: &Call<'_>) -> Answer {
    Ok(Value::Boolean(call.host.services.cluster.is_some()))
}

/// Whether the cluster serves a kind.
fn has(call: &Call<'_>) -> Answer {
    let (api_version, kind) = (call.text(0)?, call.text(1)?);
    let found = cluster(call)?.has_kind(&api_version, &kind).or_else(|reason| call.fail(reason))?;
    Ok(Value::Boolean(found))
}

/// Reads an object, or nil: `kubernetes.get(apiVersion, kind, name, namespace)`.
fn get(call: &Call<'_>) -> Answer {
    let (api_version, kind, name) = (call.text(0)?, call.text(1)?, call.text(2)?);
    let namespace = call.text_or_none(3)?.unwrap_or_default();
    let found = cluster(call)?.read(&api_version, &kind, &namespace, &name);
    match found.or_else(|reason| call.fail(reason))? {
        Some(object) => call.answer(&object),
        None => Ok(Value::Nil),
    }
}

/// The storage classes.
fn storage_classes(call: &Call<'_>) -> Answer {
    let classes = cluster(call)?.storage_classes().or_else(|reason| call.fail(reason))?;
    call.answer(&Node::List(classes))
}

fn cluster<'a>(call: &'a Call<'_>) -> Result<&'a dyn ClusterReader, CallError> {
    call.charge(STEPS)?;
    match &call.host.services.cluster {
        Some(cluster) => Ok(cluster.as_ref()),
        None => call.fail("there is no cluster here; ask kubernetes.connected() first"),
    }
}
