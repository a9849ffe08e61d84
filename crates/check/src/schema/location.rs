//! Where schemas of other kinds are: folders and catalogues in the forms that kubeconform accepts.

use pintle_gotmpl::{Exec, Functions, Limits, Set, Value};
use pintle_tree::{Map, Str};

use super::Gvk;

/// The layout of `kubernetes-json-schema`, below a folder.
const LAYOUT: &str = "/{{ .NormalizedKubernetesVersion }}-standalone{{ .StrictSuffix }}/{{ .ResourceKind }}{{ .KindSuffix }}.json";

/// The path of the schema of a kind at a location: a template that ends in `json`, or a folder.
///
/// # Errors
/// When the location is not a valid template.
pub(super) fn path(location: &str, kind: &Gvk, kubernetes: &str, strict: bool) -> Result<String, String> {
    let template =
        if location.ends_with("json") { location.to_owned() } else { format!("{location}{LAYOUT}") };
    let group = if kind.group.is_empty() { &kind.version } else { &kind.group };
    let mut suffix = format!("-{}", group.split('.').next().unwrap_or_default().to_lowercase());
    if !kind.group.is_empty() {
        suffix.push_str(&format!("-{}", kind.version.to_lowercase()));
    }
    let fields = [
        ("NormalizedKubernetesVersion", format!("v{kubernetes}")),
        ("StrictSuffix", if strict { "-strict".to_owned() } else { String::new() }),
        ("ResourceKind", kind.kind.to_lowercase()),
        ("ResourceAPIVersion", kind.version.clone()),
        ("Group", group.clone()),
        ("KindSuffix", suffix),
    ];
    let data: Map<Value> =
        fields.into_iter().map(|(name, text)| (Str::from(name), Value::from(text))).collect();
    let mut set = Set::new(Functions::new());
    set.parse("location", template.as_str()).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    Exec::new(&set, Limits::default())
        .execute("location", &Value::map(data), &mut out)
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_templates_are_those_of_kubeconform() {
        let kind = Gvk::new("monitoring.coreos.com/v1", "ServiceMonitor");
        assert_eq!(
            path("schemas", &kind, "1.36.1", true).unwrap(),
            "schemas/v1.36.1-standalone-strict/servicemonitor-monitoring-v1.json"
        );
        let catalogue = "crds/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json";
        assert_eq!(
            path(catalogue, &kind, "1.36.1", false).unwrap(),
            "crds/monitoring.coreos.com/servicemonitor_v1.json"
        );
        let pod = path("s", &Gvk::new("v1", "Pod"), "1.36.1", false).unwrap();
        assert_eq!(pod, "s/v1.36.1-standalone/pod-v1.json");
        assert!(path("{{ .Nothing", &kind, "1", false).is_err());
    }
}
