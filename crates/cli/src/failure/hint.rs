//! Advice for users of the command line: what to do about an error of the library, in terms of commands and flags.

use pintle::release::driver_word;
use pintle::{Error, events, images, provenance, registry, repo};

/// Returns the advice for an error, if there is any.
pub(crate) fn hint(error: &Error) -> Option<String> {
    if error.is_forbidden_store() {
        return Some(rbac_hint(&error.to_string()).to_owned());
    }
    Some(match error {
        Error::Registry(error) => return registry_hint(error),
        Error::Images(error) => return image_hint(error),
        // The flag replaces earlier grants, so it has to list all permissions.
        Error::PermissionsRefused { asked, .. } => format!(
            "review its scripts in `ext/lua`, then grant it with `--accept-perms {}` or `--yes`",
            asked.all()
        ),
        Error::StalePlan { .. } => "make the plan again, and review it".to_owned(),
        Error::SealedPlan => "name the key that it was saved with by `--plan-key`".to_owned(),
        Error::UnsafeCrds { .. } => {
            "change these objects first, or set `--crds=force` if the loss is intended".to_owned()
        }
        Error::EmbeddedCorrupt { .. } => {
            "restore the file from a backup, or delete it to start with an empty cluster".to_owned()
        }
        Error::RecordObject { .. } => {
            "such an object could forge a release; if that is intended, set `--allow-release-records`"
                .to_owned()
        }
        Error::EmbeddedInUse { .. } => {
            "while `pintle cluster serve` has it open, use the kubeconfig that it prints".to_owned()
        }
        Error::RemoteChart { .. } => {
            "this command takes a local chart; download it with `pintle pull`, then pass the archive or folder".to_owned()
        }
        Error::MissingDependencies(_) => {
            "run `pintle dependency build CHART`, or put the missing charts into its `charts` folder"
                .to_owned()
        }
        Error::IncompatibleKubernetes { .. } => {
            "set the version to render for with `--kube-version`".to_owned()
        }
        Error::NotInstallable { .. } => {
            "list it under `dependencies` of an application chart and use its templates there".to_owned()
        }
        Error::ExperimentalChart => {
            "`apiVersion: v3` is experimental in Helm and cannot be installed yet; `v2` has the same fields"
                .to_owned()
        }
        Error::ChartNotFound { .. } => "pass the path of a chart folder or archive".to_owned(),
        Error::NoSuchTemplate { .. } => {
            "pass a path inside the chart, such as `templates/service.yaml`; it must render to something"
                .to_owned()
        }
        Error::NameInUse { kept: Some(_), .. } => {
            "choose another name; `pintle upgrade` upgrades that release where it is, `pintle adopt` moves it".to_owned()
        }
        Error::NameInUse { interrupted: true, .. } => {
            "an install of that name was interrupted: `pintle upgrade --install` continues it, and \
             `pintle uninstall` removes it"
                .to_owned()
        }
        Error::NameInUse { interrupted: false, .. } => {
            "choose another name, or use `pintle upgrade --install`".to_owned()
        }
        Error::Pending { lease: Some(lease) } => format!(
            "{} started at {} and last renewed its lease at {}; `pintle unlock` unlocks the release when \
             nobody is working on it",
            lease.holder, lease.since, lease.renewed
        ),
        Error::Pending { lease: None } => {
            "if nobody is working on the release, `pintle unlock NAME --free` unlocks it".to_owned()
        }
        Error::NoSuchRelease { .. } | Error::UninstallNotFound { .. } | Error::NoDeployedReleases { .. } => {
            "`pintle list --all-namespaces` shows all releases".to_owned()
        }
        Error::NoReadableVersion { name } | Error::NothingToUninstall { name } => format!(
            "release {name} has records, but none of them can be decoded; restore them from a backup, or delete \
             them: `kubectl delete secrets,configmaps -l owner=helm,name={name}`"
        ),
        Error::NoSuchVersion { known, .. } | Error::VersionNotFound { known, .. } => {
            let known: Vec<String> = known.iter().map(u64::to_string).collect();
            format!("existing versions: {}", known.join(", "))
        }
        Error::Event(error) if is_pre_delete_handler(error) => {
            "`--skip-scripts` uninstalls the release without its scripts".to_owned()
        }
        Error::BadVersion { candidates, .. } if !candidates.is_empty() => {
            format!("candidates: {}", candidates.join(", "))
        }
        Error::BadVersion { .. } => "`pintle history NAME` shows all versions".to_owned(),
        Error::CannotContinue { cause: source, .. }
            if matches!(**source, pintle::plan::Error::NotOwned { .. }) =>
        {
            "`--take-ownership` makes existing objects part of the release".to_owned()
        }
        Error::Store(pintle::release::StoreError::TooLarge { size, kind, .. }) => format!(
            "the release record takes {size} bytes, and a {kind} holds 1048576: without HELM_DRIVER \
             releases can have any size, and `pintle adopt` moves one there; or exclude large files from the \
             chart with .helmignore"
        ),
        Error::Cluster(error) if error.is_forbidden() && error.to_string().contains("helm.sh") => {
            "installing CRDs requires administrator rights; HELM_DRIVER=secret stores releases in Secrets, \
             as Helm does, and needs no CRDs"
                .to_owned()
        }
        Error::HooksFailed { cause: source, .. }
        | Error::ReleaseFailed { cause: source, .. }
        | Error::RolledBack { cause: source, .. } => return hint(source),
        _ => return None,
    })
}

/// What to do about a release that another store holds, or several. It is part of the error's line, because Helm's users see no
/// hints.
pub(super) fn where_to_work(error: &Error) -> Option<String> {
    match error {
        Error::InOtherStore { kept, .. } => Some(format!("set {} to work on it", driver_setting(kept))),
        Error::DuplicateRelease { name, stores } => {
            let ways: Vec<String> = stores.iter().map(|driver| delete_command(driver, name)).collect();
            Some(format!("delete the records of the other: {}", ways.join(" or ")))
        }
        Error::MoveInterrupted { name, stores } => {
            let [one, other] = stores.map(driver_word);
            Some(format!("choose one with `pintle adopt {name} --to {one}` or `--to {other}`"))
        }
        Error::UninstallNotLoaded { cause, .. } => where_to_work(cause),
        _ => None,
    }
}

/// The setting that selects a store.
fn driver_setting(driver: &str) -> String {
    format!("HELM_DRIVER={}", driver_word(driver))
}

/// The command that deletes the records in a store without deleting the objects of the release.
fn delete_command(driver: &str, name: &str) -> String {
    match driver {
        "native" => format!("`kubectl delete release.helm.sh {name} --cascade=orphan`"),
        "Secret" => format!("`kubectl delete secrets -l owner=helm,name={name}`"),
        "ConfigMap" => format!("`kubectl delete configmaps -l owner=helm,name={name}`"),
        other => format!("those of {}", driver_setting(other)),
    }
}

fn registry_hint(error: &registry::Error) -> Option<String> {
    match error.cause() {
        registry::Error::Conflict { .. } => Some("--overwrite moves the tag".to_owned()),
        registry::Error::Denied { .. } => error.hint().map(|hint| with_credentials(&hint)),
        _ => error.hint(),
    }
}

fn with_credentials(hint: &str) -> String {
    format!("{hint}, or give --creds USER:PASSWORD")
}

/// Returns the advice for an error about images.
pub(crate) fn image_hint(error: &images::Error) -> Option<String> {
    match error {
        images::Error::NoTarget { registry } => Some(format!(
            "give --target-registry, or a mapping for `{registry}` or a `defaultTarget` in --registry-file"
        )),
        error => error.hint(),
    }
}

/// Returns the advice for an error about repositories.
pub(crate) fn repository_hint(error: &repo::Error) -> Option<String> {
    let hint = error.hint()?;
    Some(match error {
        repo::Error::Digest { .. } => format!("{hint}. --insecure-skip-digest takes it as it is"),
        repo::Error::Registry { denied: true, .. } => with_credentials(hint),
        _ => hint.to_owned(),
    })
}

/// Returns the advice for an error about signatures.
pub(crate) fn signature_hint(error: &provenance::Error) -> Option<String> {
    let hint = error.hint()?;
    Some(match error {
        provenance::Error::NotPrivate => format!("{hint}, and give that file as --keyring"),
        _ => hint.to_owned(),
    })
}

/// Returns whether a handler of `pre-delete` failed.
fn is_pre_delete_handler(error: &events::Error) -> bool {
    matches!(error, events::Error::Handler { event: events::Event::PreDelete, .. })
}

/// Returns advice on missing rights. Which store it was is recognized by the API group in the server's message.
fn rbac_hint(refusal: &str) -> &'static str {
    match refusal.contains("helm.sh") {
        true => {
            "releases are stored as `releases` and `releaseversions` of the API group helm.sh, and in Secrets; users \
             need the verbs get, list, watch, create, update, patch and delete on these. An administrator installs \
             the CRDs with `pintle init`; HELM_DRIVER=secret stores releases in Secrets only, as Helm does"
        }
        false => {
            "users need the verbs get, list, create, update, patch and delete on the Secrets or ConfigMaps that \
             releases are stored in"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle::events::ChartPath;
    use pintle::lua::{PermissionRequests, Permissions};

    #[test]
    fn the_flag_for_refused_permissions_lists_all_that_are_asked_for() {
        let all = Permissions::parse("network,os").unwrap();
        let asked = PermissionRequests { charts: vec![(ChartPath::top("web"), all)] };
        let missing = Permissions::parse("os").unwrap();
        let error = Error::PermissionsRefused { chart: "web".to_owned(), asked: Box::new(asked), missing };
        let hint = hint(&error).unwrap();
        assert!(hint.contains("`--accept-perms network,os`"), "{hint}");
    }
}
