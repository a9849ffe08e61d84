//! URL paths.

use super::query::percent_decode;

/// The resource that a URL names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Target {
    /// Empty for the core group.
    pub(super) group: String,
    pub(super) version: String,
    /// `None` for cluster-scoped resources, and for requests across all namespaces.
    pub(super) namespace: Option<String>,
    pub(super) plural: String,
    pub(super) name: Option<String>,
    /// `status`, `scale` …
    pub(super) subresource: Option<String>,
    /// Whether the path has the deprecated prefix `watch/`.
    pub(super) watch: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// `/version`.
    Version,
    /// `/healthz`, `/livez`, `/readyz` and what is below them.
    Health,
    /// `/`.
    Root,
    /// `/api`.
    Core,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/v1`, `/apis/GROUP/VERSION`.
    GroupVersion(String, String),
    /// `/openapi/v2`.
    OpenApi2,
    /// `/openapi/v3`.
    OpenApi3,
    /// `/openapi/v3/…`.
    OpenApi3Of(String),
    /// Everything below a group version.
    Objects(Target),
    /// 404.
    Nowhere,
}

impl Route {
    pub(super) fn parse(path: &str) -> Route {
        let segments: Vec<String> =
            path.split('/').filter(|part| !part.is_empty()).map(percent_decode).collect();
        let words: Vec<&str> = segments.iter().map(String::as_str).collect();
        match words[..] {
            [] => Route::Root,
            ["version"] => Route::Version,
            ["healthz" | "livez" | "readyz", ..] => Route::Health,
            ["api"] => Route::Core,
            ["apis"] => Route::Groups,
            ["apis", group] => Route::Group(group.to_owned()),
            ["api", version] => Route::GroupVersion(String::new(), version.to_owned()),
            ["apis", group, version] => Route::GroupVersion(group.to_owned(), version.to_owned()),
            ["api", version, ref rest @ ..] => objects("", version, rest),
            ["apis", group, version, ref rest @ ..] => objects(group, version, rest),
            ["openapi", "v2"] => Route::OpenApi2,
            ["openapi", "v3"] => Route::OpenApi3,
            ["openapi", "v3", ref rest @ ..] => Route::OpenApi3Of(rest.join("/")),
            _ => Route::Nowhere,
        }
    }
}

fn objects(group: &str, version: &str, rest: &[&str]) -> Route {
    let (watch, rest) = match rest {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        rest => (false, rest),
    };
    let mut target =
        Target { group: group.to_owned(), version: version.to_owned(), watch, ..Target::default() };
    let mut put = |namespace: Option<&str>, plural: &str, name: Option<&str>, part: Option<&str>| {
        target.namespace = namespace.map(str::to_owned);
        target.plural = plural.to_owned();
        target.name = name.map(str::to_owned);
        target.subresource = part.map(str::to_owned);
    };
    match rest {
        ["namespaces", name, part @ ("status" | "finalize")] => {
            put(None, "namespaces", Some(name), Some(part))
        }
        ["namespaces", namespace, plural] => put(Some(namespace), plural, None, None),
        ["namespaces", namespace, plural, name] => put(Some(namespace), plural, Some(name), None),
        ["namespaces", namespace, plural, name, part @ ..] => {
            put(Some(namespace), plural, Some(name), Some(&part.join("/")));
        }
        [plural] => put(None, plural, None, None),
        [plural, name] => put(None, plural, Some(name), None),
        [plural, name, part @ ..] => put(None, plural, Some(name), Some(&part.join("/"))),
        [] => return Route::Nowhere,
    }
    Route::Objects(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(path: &str) -> Target {
        match Route::parse(path) {
            Route::Objects(target) => target,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn namespaces_are_resources_and_contain_resources() {
        let one = target("/api/v1/namespaces/a");
        assert_eq!(
            (one.plural.as_str(), one.name.as_deref(), one.namespace),
            ("namespaces", Some("a"), None)
        );
        let part = target("/api/v1/namespaces/a/status");
        assert_eq!((part.plural.as_str(), part.subresource.as_deref()), ("namespaces", Some("status")));
        let pods = target("/api/v1/watch/namespaces/a/pods");
        assert_eq!((pods.namespace.as_deref(), pods.plural.as_str(), pods.watch), (Some("a"), "pods", true));
        let scale = target("/apis/apps/v1/namespaces/a/deployments/b/scale");
        assert_eq!((scale.group.as_str(), scale.subresource.as_deref()), ("apps", Some("scale")));
    }

    #[test]
    fn invalid_paths_have_no_route() {
        for path in ["/nothing", "/apiss/x", "//openapi/v4"] {
            assert_eq!(Route::parse(path), Route::Nowhere, "{path}");
        }
        assert_eq!(Route::parse("/"), Route::Root);
        assert_eq!(Route::parse("/readyz/etcd"), Route::Health);
    }
}
