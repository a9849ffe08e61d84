//! Claims and volumes: a claim whose class is there gets a volume of its own, and takes it along when it goes.

use pintle_tree::Node;

use super::engine::{Look, Wake};
use super::hand::VOLUMES;
use crate::api::meta::{
    at, finalizers, has_finalizer, is_deleted, list_at, map, set, set_finalizers, take_over, text_at,
};
use crate::status::Status;
use crate::store::key;

const SOURCE: &str = "persistentvolume-controller";
const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";
const VOLUME_PROTECTION: &str = "kubernetes.io/pv-protection";

pub(super) async fn look(look: &Look<'_>) -> Result<Option<Wake>, Status> {
    if is_deleted(&look.object) {
        return let_go(look).await;
    }
    if look.text(&["status", "phase"]) == "Bound" {
        return Ok(None);
    }
    let given = look.text(&["spec", "volumeName"]).to_owned();
    let name = if given.is_empty() {
        let class = look.text(&["spec", "storageClassName"]);
        if look.hand.get(&key("storageclasses.storage.k8s.io", "", class)).is_none() {
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
            look.hand.tell(&look.object, SOURCE, reason, &text).await?;
            return Ok(None);
        }
        provision(look, class).await?
    } else if look.hand.get(&key("persistentvolumes", "", &given)).is_some() {
        given
    } else {
        return Ok(None);
    };
    bind(look, &name).await?;
    Ok(None)
}

async fn provision(look: &Look<'_>, class: &str) -> Result<String, Status> {
    let name = format!("pvc-{}", look.uid());
    let mut volume = map([("apiVersion", "v1".into()), ("kind", "PersistentVolume".into())]);
    set(&mut volume, &["metadata", "name"], name.as_str());
    set(&mut volume, &["metadata", "annotations", "pv.kubernetes.io/provisioned-by"], "pintle.dev/embedded");
    take_over(&mut volume, &look.object, &["spec", "accessModes"]);
    if let Some(room) = at(&look.object, &["spec", "resources", "requests"]) {
        set(&mut volume, &["spec", "capacity"], room.clone());
    }
    let claim = map([
        ("apiVersion", "v1".into()),
        ("kind", "PersistentVolumeClaim".into()),
        ("name", look.name().into()),
        ("namespace", look.namespace().into()),
        ("uid", look.uid().into()),
    ]);
    set(&mut volume, &["spec", "claimRef"], claim);
    set(&mut volume, &["spec", "hostPath", "path"], format!("/var/lib/pintle/{name}"));
    set(&mut volume, &["spec", "persistentVolumeReclaimPolicy"], "Delete");
    set(&mut volume, &["spec", "storageClassName"], class);
    if at(&look.object, &["spec", "volumeMode"]).is_some() {
        take_over(&mut volume, &look.object, &["spec", "volumeMode"]);
    }
    match look.hand.make(VOLUMES, "", &volume).await {
        Ok(_) => {
            let text = format!("Successfully provisioned volume {name}");
            look.hand
                .tell(&look.object, "pintle.dev/embedded", ("Normal", "ProvisioningSucceeded"), &text)
                .await?;
        }
        Err(refused) if refused.code == 409 => {}
        Err(refused) => return Err(refused.into()),
    }
    Ok(name)
}

async fn bind(look: &Look<'_>, name: &str) -> Result<(), Status> {
    let act = |claim: &mut Node| {
        set(claim, &["spec", "volumeName"], name);
        set(claim, &["metadata", "annotations", "pv.kubernetes.io/bind-completed"], "yes");
        set(claim, &["metadata", "annotations", "pv.kubernetes.io/bound-by-controller"], "yes");
        set(claim, &["status", "phase"], "Bound");
        if let Some(modes) = at(claim, &["spec", "accessModes"]).cloned() {
            set(claim, &["status", "accessModes"], modes);
        }
        if let Some(room) = at(claim, &["spec", "resources", "requests"]).cloned() {
            set(claim, &["status", "capacity"], room);
        }
    };
    look.hand.edit(look.key, act).await?;
    let volume = key("persistentvolumes", "", name);
    look.hand.edit(&volume, |volume| set(volume, &["status", "phase"], "Bound")).await
}

/// A claim that was deleted stays until no pod uses it any longer.
async fn let_go(look: &Look<'_>) -> Result<Option<Wake>, Status> {
    if !has_finalizer(&look.object, CLAIM_PROTECTION) {
        return Ok(None);
    }
    let uses = |pod: &Node| {
        list_at(pod, &["spec", "volumes"])
            .iter()
            .any(|volume| text_at(volume, &["persistentVolumeClaim", "claimName"]) == look.name())
            && !super::template::has_ended(pod)
    };
    if look.hand.all("pods", look.namespace()).iter().any(uses) {
        return Ok(None);
    }
    let volume = key("persistentvolumes", "", look.text(&["spec", "volumeName"]));
    look.hand.edit(look.key, |claim| release(claim, CLAIM_PROTECTION)).await?;
    if let Some(volume) = look.hand.get(&volume)
        && text_at(&volume, &["spec", "persistentVolumeReclaimPolicy"]) == "Delete"
    {
        look.hand.delete(VOLUMES, &volume, false).await?;
    }
    Ok(None)
}

fn release(object: &mut Node, finalizer: &str) {
    let left: Vec<Node> =
        finalizers(object).iter().filter(|it| it.as_str() != Some(finalizer)).cloned().collect();
    set_finalizers(object, left);
}

/// A volume is available until it is bound, and goes when its claim has gone.
pub(super) async fn look_at_volume(look: &Look<'_>) -> Result<Option<Wake>, Status> {
    if is_deleted(&look.object) {
        let claim = key(
            "persistentvolumeclaims",
            look.text(&["spec", "claimRef", "namespace"]),
            look.text(&["spec", "claimRef", "name"]),
        );
        let bound = look.hand.get(&claim).is_some_and(|claim| {
            text_at(&claim, &["metadata", "uid"]) == look.text(&["spec", "claimRef", "uid"])
        });
        if !bound {
            look.hand.edit(look.key, |volume| release(volume, VOLUME_PROTECTION)).await?;
        }
    } else if look.text(&["status", "phase"]) == "Pending" {
        look.hand.edit(look.key, |volume| set(volume, &["status", "phase"], "Available")).await?;
    }
    Ok(None)
}
