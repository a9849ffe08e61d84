//! Charts and repositories that are not found.

use pintle::repo::Repositories;

use super::names::near_file;
use crate::failure::Failure;
use crate::flag::names;
use crate::invocation::Invocation;
use crate::read;
use crate::suggest::{NameOf, likeliest};

/// Repositories that guides on the web refer to by these names.
const KNOWN: &[(&str, &str)] = &[
    ("argo", "https://argoproj.github.io/argo-helm"),
    ("autoscaler", "https://kubernetes.github.io/autoscaler"),
    ("bitnami", "https://charts.bitnami.com/bitnami"),
    ("cilium", "https://helm.cilium.io"),
    ("cloudnative-pg", "https://cloudnative-pg.github.io/charts"),
    ("cnpg", "https://cloudnative-pg.github.io/charts"),
    ("elastic", "https://helm.elastic.co"),
    ("external-dns", "https://kubernetes-sigs.github.io/external-dns"),
    ("external-secrets", "https://charts.external-secrets.io"),
    ("fluent", "https://fluent.github.io/helm-charts"),
    ("gitlab", "https://charts.gitlab.io"),
    ("grafana", "https://grafana.github.io/helm-charts"),
    ("harbor", "https://helm.goharbor.io"),
    ("hashicorp", "https://helm.releases.hashicorp.com"),
    ("ingress-nginx", "https://kubernetes.github.io/ingress-nginx"),
    ("istio", "https://istio-release.storage.googleapis.com/charts"),
    ("jenkins", "https://charts.jenkins.io"),
    ("jetstack", "https://charts.jetstack.io"),
    ("kyverno", "https://kyverno.github.io/kyverno"),
    ("longhorn", "https://charts.longhorn.io"),
    ("metallb", "https://metallb.github.io/metallb"),
    ("metrics-server", "https://kubernetes-sigs.github.io/metrics-server"),
    ("minio", "https://charts.min.io"),
    ("nats", "https://nats-io.github.io/k8s/helm/charts"),
    ("open-telemetry", "https://open-telemetry.github.io/opentelemetry-helm-charts"),
    ("prometheus-community", "https://prometheus-community.github.io/helm-charts"),
    ("rook-release", "https://charts.rook.io/release"),
    ("sealed-secrets", "https://bitnami-labs.github.io/sealed-secrets"),
    ("stable", "https://charts.helm.sh/stable"),
    ("strimzi", "https://strimzi.io/charts"),
    ("traefik", "https://traefik.github.io/charts"),
    ("velero", "https://vmware-tanzu.github.io/helm-charts"),
];

/// A repository whose index is not here.
pub(crate) fn without_index(failure: Failure, reference: &str) -> Failure {
    if !failure.text.starts_with("no cached repo found") {
        return failure;
    }
    let name = reference.split('/').next().unwrap_or_default();
    failure
        .with_pintle_text(format!("the index of the repository `{name}` was not downloaded yet"))
        .hint(format!("`pintle repo update {name}` downloads it"))
}

/// A path at which there is no chart.
pub(crate) fn no_chart(failure: Failure, invocation: &Invocation<'_>, reference: &str) -> Failure {
    let operands = &invocation.flags.operands;
    let failure = failure.with_pintle_text(format!("there is no chart at `{reference}`"));
    if let Some(flag) = super::flags::with_one_dash(&invocation.command_path) {
        return failure.hint(format!("did you mean `--{flag}`, with two dashes?"));
    }
    let is_chart = |path: &str| std::path::Path::new(path).join("Chart.yaml").is_file();
    // `install CHART NAME` instead of `install NAME CHART`.
    if let [first, second, ..] = operands.as_slice()
        && second == reference
        && is_chart(first)
        && !reference.contains(['/', '.'])
    {
        let command = &invocation.command_path.path;
        return failure.hint(format!("the name comes first: `{command} {second} {first}`"));
    }
    let charts = charts_here();
    let known: Vec<&str> = charts.iter().map(String::as_str).collect();
    let typed = reference.trim_start_matches("./").trim_end_matches('/');
    let dots = if reference.starts_with("./") { "./" } else { "" };
    if let Some(near) = likeliest(NameOf::Other, typed, &known) {
        return failure.hint(format!("did you mean `{dots}{near}`?"));
    }
    if let Some(near) = near_file(reference).filter(|near| is_chart(near) || near.ends_with(".tgz")) {
        return failure.hint(format!("did you mean `{near}`?"));
    }
    failure.hint(match known.as_slice() {
        [] => "give the path of a folder or an archive, or repo/name of a repository".to_owned(),
        [only] => format!(
            "the only chart here is `{only}`; a chart can also be an archive, or repo/name of a repository"
        ),
        some => format!("charts here are {}", some.join(", ")),
    })
}

/// The folders and archives here that are charts.
fn charts_here() -> Vec<String> {
    let entries = std::fs::read_dir(".").into_iter().flatten().take(10_000).flatten();
    let is_chart = |path: &std::path::Path| {
        path.join("Chart.yaml").is_file() || path.extension().is_some_and(|extension| extension == "tgz")
    };
    let found = entries.map(|entry| entry.path()).filter(|path| is_chart(path));
    let mut names: Vec<String> =
        found.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect();
    names.sort();
    names.truncate(8);
    names
}

/// The names of the repositories that were added.
pub(super) fn added(invocation: &Invocation<'_>) -> Vec<String> {
    let path = invocation.flags.text_or_setting(names::REPOSITORY_CONFIG, invocation.environment);
    let text = read::file(path, read::MAX_SETTINGS).unwrap_or_default();
    let Ok(repositories) = Repositories::parse(&text) else { return Vec::new() };
    repositories.entries.iter().map(|entry| entry.name.clone()).collect()
}

/// A repository that was not added.
pub(crate) fn unknown(failure: Failure, invocation: &Invocation<'_>, name: &str, reference: &str) -> Failure {
    let failure =
        failure.with_pintle_text(format!("there is no repository `{name}`, and no chart at `{reference}`"));
    let added = added(invocation);
    let known: Vec<&str> = added.iter().map(String::as_str).collect();
    if let Some(near) = likeliest(NameOf::Other, name, &known) {
        return failure.hint(format!(
            "did you mean the repository `{near}`? `pintle repo list` shows those that were added"
        ));
    }
    let address = KNOWN.iter().find(|(known, _)| *known == name).map(|(_, address)| *address);
    failure.hint(match address {
        Some(address) => format!("add it: `pintle repo add {name} {address}`"),
        None => format!(
            "add it: `pintle repo add {name} URL`; `pintle search hub NAME` finds addresses of charts"
        ),
    })
}
