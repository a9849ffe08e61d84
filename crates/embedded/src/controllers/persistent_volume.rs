//! Controllers of PersistentVolumeClaims and PersistentVolumes: a dynamic provisioner for every storage class,
//! binding, and the protection finalizers.

use pintle_tree::Node;

use super::client::VOLUMES;
use super::reconcile::{Request, Requeue};
use crate::api::meta::{
    at, copy_field, finalizers, has_finalizer, is_deleted, list_at, map, set, set_finalizers, text_at,
};
use crate::status::Status;
use crate::store::key;

const SOURCE: &str = "persistentvolume-controller";
const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";
const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";

pub(super) async fn reconcile(request: &Request<'_>) -> Result<Option<Requeue>, Status> {
    if is_deleted(&request.object) {
        return release_deleted_claim(request).await;
    }
    if request.text(&["status", "phase"]) == "Bound" {
        return Ok(None);
    }
    let requested_volume = request.text(&["spec", "volumeName"]).to_owned();
    let name = if requested_volume.is_empty() {
        let class = request.text(&["spec", "storageClassName"]);
        if request.client.get(&key("storageclasses.storage.k8s.io", "", class)).is_none() {
            let (reason, text) = match class {
                "" => (
                    ("Normal", "FailedBinding"),
                    "no persistent volumes available for this claim and no storage class is set".to_owned(),
                ),
                class => (
                    ("Warning", "ProvisioningFailed"),
                    format!("storageclass.storage.k8s.io {class:?} not found"),
                ),
            };
            request.client.record_event(&request.object, SOURCE, reason, &text).await?;
            return Ok(None);
        }
        provision(request, class).await?
    } else if request.client.get(&key("persistentvolumes", "", &requested_volume)).is_some() {
        requested_volume
    } else {
        return Ok(None);
    };
    bind(request, &name).await?;
    Ok(None)
}

async fn provision(request: &Request<'_>, class: &str) -> Result<String, Status> {
    // The name of the real provisioner. Derived from the uid, it makes provisioning repeatable after a crash.
    let name = format!("pvc-{}", request.uid());
    let mut volume = map([("apiVersion", "v1".into()), ("kind", "PersistentVolume".into())]);
    set(&mut volume, &["metadata", "name"], name.as_str());
    set(&mut volume, &["metadata", "annotations", "pv.kubernetes.io/provisioned-by"], "pintle.dev/embedded");
    copy_field(&mut volume, &request.object, &["spec", "accessModes"]);
    if let Some(requests) = at(&request.object, &["spec", "resources", "requests"]) {
        set(&mut volume, &["spec", "capacity"], requests.clone());
    }
    let claim = map([
        ("apiVersion", "v1".into()),
        ("kind", "PersistentVolumeClaim".into()),
        ("name", request.name().into()),
        ("namespace", request.namespace().into()),
        ("uid", request.uid().into()),
    ]);
    set(&mut volume, &["spec", "claimRef"], claim);
    set(&mut volume, &["spec", "hostPath", "path"], format!("/var/lib/pintle/{name}"));
    set(&mut volume, &["spec", "persistentVolumeReclaimPolicy"], "Delete");
    set(&mut volume, &["spec", "storageClassName"], class);
    if at(&request.object, &["spec", "volumeMode"]).is_some() {
        copy_field(&mut volume, &request.object, &["spec", "volumeMode"]);
    }
    match request.client.create(VOLUMES, "", &volume).await {
        Ok(_) => {
            let text = format!("Successfully provisioned volume {name}");
            request
                .client
                .record_event(
                    &request.object,
                    "pintle.dev/embedded",
                    ("Normal", "ProvisioningSucceeded"),
                    &text,
                )
                .await?;
        }
        // Created by an earlier reconcile that did not get as far as binding it.
        Err(error) if error.code == 409 => {}
        Err(error) => return Err(error.into()),
    }
    Ok(name)
}

async fn bind(request: &Request<'_>, name: &str) -> Result<(), Status> {
    let act = |claim: &mut Node| {
        set(claim, &["spec", "volumeName"], name);
        set(claim, &["metadata", "annotations", "pv.kubernetes.io/bind-completed"], "yes");
        set(claim, &["metadata", "annotations", "pv.kubernetes.io/bound-by-controller"], "yes");
        set(claim, &["status", "phase"], "Bound");
        if let Some(modes) = at(claim, &["spec", "accessModes"]).cloned() {
            set(claim, &["status", "accessModes"], modes);
        }
        if let Some(capacity) = at(claim, &["spec", "resources", "requests"]).cloned() {
            set(claim, &["status", "capacity"], capacity);
        }
    };
    request.client.update(request.key, act).await?;
    let volume = key("persistentvolumes", "", name);
    request.client.update(&volume, |volume| set(volume, &["status", "phase"], "Bound")).await
}

/// Removes the protection finalizer of a deleted claim once no pod uses it.
async fn release_deleted_claim(request: &Request<'_>) -> Result<Option<Requeue>, Status> {
    if !has_finalizer(&request.object, CLAIM_PROTECTION) {
        return Ok(None);
    }
    let uses = |pod: &Node| {
        list_at(pod, &["spec", "volumes"])
            .iter()
            .any(|volume| text_at(volume, &["persistentVolumeClaim", "claimName"]) == request.name())
            && !super::template::is_finished(pod)
    };
    if request.client.list("pods", request.namespace()).iter().any(uses) {
        return Ok(None);
    }
    let volume = key("persistentvolumes", "", request.text(&["spec", "volumeName"]));
    request.client.update(request.key, |claim| remove_finalizer(claim, CLAIM_PROTECTION)).await?;
    if let Some(volume) = request.client.get(&volume)
        && text_at(&volume, &["spec", "persistentVolumeReclaimPolicy"]) == "Delete"
    {
        request.client.delete(VOLUMES, &volume, false).await?;
    }
    Ok(None)
}

fn remove_finalizer(object: &mut Node, finalizer: &str) {
    let left: Vec<Node> =
        finalizers(object).iter().filter(|it| it.as_str() != Some(finalizer)).cloned().collect();
    set_finalizers(object, left);
}

/// A volume is `Available` until it is bound, and is deleted with its claim.
pub(super) async fn reconcile_volume(request: &Request<'_>) -> Result<Option<Requeue>, Status> {
    if is_deleted(&request.object) {
        let claim = key(
            "persistentvolumeclaims",
            request.text(&["spec", "claimRef", "namespace"]),
            request.text(&["spec", "claimRef", "name"]),
        );
        let bound = request.client.get(&claim).is_some_and(|claim| {
            text_at(&claim, &["metadata", "uid"]) == request.text(&["spec", "claimRef", "uid"])
        });
        if !bound {
            request.client.update(request.key, |volume| remove_finalizer(volume, VOLUME_PROTECTION)).await?;
        }
    } else if request.text(&["status", "phase"]) == "Pending" {
        request.client.update(request.key, |volume| set(volume, &["status", "phase"], "Available")).await?;
    }
    Ok(None)
}
