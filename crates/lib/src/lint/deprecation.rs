//! API versions that Kubernetes has deprecated or removed.

use pintle_render::KubeVersion;

/// One row per kind, generated from the lifecycle markers of the Kubernetes API types.
const TABLE: &str = include_str!("deprecations.tsv");

/// Returns the deprecation message for a kind in a Kubernetes version.
pub(crate) fn check(api_version: &str, kind: &str, version: &KubeVersion) -> Result<(), String> {
    let current = number_pair(&format!("{}.{}", version.major, version.minor))?;
    let row = TABLE
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .find(|row| row[..2] == [api_version, kind]);
    let Some(row) = row else { return Ok(()) };
    let [_, _, deprecated, removed, replacement] = row[..] else { return Ok(()) };
    if number_pair(deprecated)? > current {
        return Ok(());
    }
    let mut text = format!("{api_version} {kind} is deprecated in v{deprecated}+");
    if removed != "-" {
        text.push_str(&format!(", unavailable in v{removed}+"));
    }
    if replacement != "-" {
        text.push_str(&format!("; use {replacement}"));
    }
    Err(text)
}

fn number_pair(version: &str) -> Result<(u32, u32), String> {
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    let number = |part: &str| {
        let quoted = pintle_tree::quote::quote(part.as_bytes());
        part.parse().map_err(|_| format!("strconv.Atoi: parsing {quoted}: invalid syntax"))
    };
    Ok((number(major)?, number(minor)?))
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
        assert_eq!(check("apps/v1", "Deployment", &KubeVersion::new(1, 36)), Ok(()));
    }
}
