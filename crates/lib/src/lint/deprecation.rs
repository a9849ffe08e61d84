//! API versions that Kubernetes has deprecated or removed, with Helm's messages.

use pintle_render::KubeVersion;

/// Returns the deprecation message for a kind in a Kubernetes version.
pub(crate) fn check(api_version: &str, kind: &str, version: &KubeVersion) -> Result<(), String> {
    let current = (number(&version.major)?, number(&version.minor)?);
    let Some(found) = pintle_check::deprecation(api_version, kind) else { return Ok(()) };
    if found.deprecated > current {
        return Ok(());
    }
    let (major, minor) = found.deprecated;
    let mut text = format!("{api_version} {kind} is deprecated in v{major}.{minor}+");
    if let Some((major, minor)) = found.removed {
        text.push_str(&format!(", unavailable in v{major}.{minor}+"));
    }
    if let Some((api_version, kind)) = found.replacement {
        text.push_str(&format!("; use {api_version} {kind}"));
    }
    Err(text)
}

fn number(part: &str) -> Result<u32, String> {
    let quoted = pintle_tree::quote::quote(part.as_bytes());
    part.parse().map_err(|_| format!("strconv.Atoi: parsing {quoted}: invalid syntax"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_deprecated_from_its_version_on() {
        let ingress = |minor| check("networking.k8s.io/v1beta1", "Ingress", &KubeVersion::new(1, minor));
        assert_eq!(ingress(18), Ok(()));
        assert_eq!(
            ingress(19).unwrap_err(),
            "networking.k8s.io/v1beta1 Ingress is deprecated in v1.19+, unavailable in v1.22+; use networking.k8s.io/v1 Ingress"
        );
        assert_eq!(check("apps/v1", "Deployment", &KubeVersion::new(1, 37)), Ok(()));
        let default = pintle_render::Capabilities::default().kube_version;
        assert_eq!(
            check("storagemigration.k8s.io/v1beta1", "StorageVersionMigration", &default).unwrap_err(),
            "storagemigration.k8s.io/v1beta1 StorageVersionMigration is deprecated in v1.37+, unavailable in v1.40+; use storagemigration.k8s.io/v1 StorageVersionMigration"
        );
        assert_eq!(check("scheduling.k8s.io/v1beta1", "PodGroup", &default), Ok(()));
        assert!(check("scheduling.k8s.io/v1beta1", "PodGroup", &KubeVersion::new(1, 40)).is_err());
    }
}
