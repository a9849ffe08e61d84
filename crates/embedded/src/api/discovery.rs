//! Discovery: `/version`, `/api`, `/apis`, aggregated discovery, and the health endpoints.

use pintle_tree::{Node, Str};

use super::meta::{map, set};
use super::negotiation::{Negotiated, View};
use super::reply::Reply;
use super::route::Route;
use super::{Api, custom_resources, no_such_resource, page_not_found};
use crate::schema::{Resource, Subresource};
use crate::status::Status;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

struct Group {
    name: Str,
    versions: Vec<Str>,
}

impl Api {
    /// Answers requests that are not about resources.
    pub(super) fn discovery(&self, route: &Route, negotiated: Negotiated) -> Result<Reply, Status> {
        let aggregated = negotiated.view == View::Discovery;
        match route {
            Route::Version => Ok(Reply::tree(200, self.version())),
            Route::Health => Ok(Reply::text(200, "ok", "text/plain; charset=utf-8")),
            Route::Root => Ok(Reply::tree(200, map([("paths", self.paths().into())]))),
            Route::Core if aggregated => Ok(self.aggregated(&self.groups()[..1])),
            Route::Groups if aggregated => Ok(self.aggregated(&self.groups()[1..])),
            Route::Core => Ok(Reply::tree(200, core())),
            Route::Groups => {
                let groups: Vec<Node> =
                    self.groups()[1..].iter().map(|group| group_entry(group, false)).collect();
                let list = map([
                    ("apiVersion", "v1".into()),
                    ("kind", "APIGroupList".into()),
                    ("groups", groups.into()),
                ]);
                Ok(Reply::tree(200, list))
            }
            Route::Group(name) => {
                let groups = self.groups();
                let group =
                    groups.iter().skip(1).find(|group| group.name == **name).ok_or_else(page_not_found)?;
                Ok(Reply::tree(200, group_entry(group, true)))
            }
            Route::GroupVersion(group, version) => self.resource_list(group, version),
            Route::OpenApi2 => Ok(self.openapi_v2()),
            Route::OpenApi3 => {
                // The real server leaves the content type to Go's `http.ServeContent`, which does not recognise JSON.
                let index = Reply::tree(200, self.openapi_v3_index());
                Ok(index.with_content_type("text/plain; charset=utf-8"))
            }
            Route::OpenApi3Of(path) => {
                let document = self.openapi_v3(path).map(|document| Reply::tree(200, document));
                Ok(document.unwrap_or_else(|| Reply::text(404, "", "")))
            }
            Route::Objects(_) | Route::Nowhere => Err(page_not_found()),
        }
    }

    fn version(&self) -> Node {
        let version = self.0.catalog.version().to_string();
        let mut numbers = version.split('.');
        let mut number = || Node::from(numbers.next().unwrap_or_default());
        let (major, minor) = (number(), number());
        map([
            ("major", major),
            ("minor", minor),
            ("gitVersion", format!("v{version}").into()),
            ("gitCommit", "".into()),
            ("gitTreeState", "archive".into()),
            // Fixed, so that recorded answers and golden files do not depend on the build.
            ("buildDate", "1970-01-01T00:00:00Z".into()),
            ("goVersion", "".into()),
            ("compiler", "gc".into()),
            (
                "platform",
                format!("linux/{}", if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }).into(),
            ),
        ])
    }

    fn paths(&self) -> Vec<Node> {
        let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
        for group in &self.groups()[1..] {
            paths.push(format!("/apis/{}", group.name));
            paths.extend(group.versions.iter().map(|version| format!("/apis/{}/{version}", group.name)));
        }
        paths.extend(
            ["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"].map(str::to_owned),
        );
        paths.into_iter().map(Node::from).collect()
    }

    /// All groups: core, built-in, then custom.
    fn groups(&self) -> Vec<Group> {
        let built_in = self.0.catalog.groups().iter();
        let mut groups: Vec<Group> = built_in
            .map(|group| Group { name: group.name.clone(), versions: group.versions.clone() })
            .collect();
        let mut custom_groups: Vec<Group> = Vec::new();
        for kind in self.custom_resources().served() {
            let (name, version) = (&kind.resource.group, &kind.resource.version);
            match custom_groups.iter_mut().find(|group| group.name == *name) {
                // Several definitions may share a group and a version.
                Some(group) if group.versions.contains(version) => {}
                Some(group) => group.versions.push(version.clone()),
                None => custom_groups.push(Group { name: name.clone(), versions: vec![version.clone()] }),
            }
        }
        for group in &mut custom_groups {
            group
                .versions
                .sort_by(|a, b| custom_resources::compare_versions(&a.to_str_lossy(), &b.to_str_lossy()));
        }
        custom_groups.sort_by(|a, b| a.name.cmp(&b.name));
        groups.extend(custom_groups);
        groups
    }

    /// The resources of a group version, in the order of the real server.
    pub(super) fn resources_of(&self, group: &str, version: &str) -> Vec<Resource> {
        let is_it = |resource: &&Resource| resource.group == *group && resource.version == *version;
        let mut found: Vec<Resource> = self.0.catalog.resources().iter().filter(is_it).cloned().collect();
        let custom_resources = self.custom_resources();
        let mut custom: Vec<Resource> =
            custom_resources.served().map(|kind| &kind.resource).filter(is_it).cloned().collect();
        custom.sort_by(|a, b| a.plural.cmp(&b.plural));
        found.extend(custom);
        found
    }

    fn resource_list(&self, group: &str, version: &str) -> Result<Reply, Status> {
        let resources = self.resources_of(group, version);
        if resources.is_empty() {
            let group_exists = self.0.catalog.groups().iter().any(|it| it.name == *group);
            return Err(if group_exists { no_such_resource() } else { page_not_found() });
        }
        let mut entries = Vec::new();
        for resource in &resources {
            entries.push(kind_entry(resource));
            entries.extend(resource.subresources.iter().map(|part| subresource_entry(resource, part)));
        }
        let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        let mut list = map([
            ("kind", "APIResourceList".into()),
            ("groupVersion", api_version.into()),
            ("resources", entries.into()),
        ]);
        // The real server leaves it out for the core group.
        if !group.is_empty() || version != "v1" {
            set(&mut list, &["apiVersion"], "v1");
        }
        Ok(Reply::tree(200, list))
    }

    fn aggregated(&self, groups: &[Group]) -> Reply {
        let items: Vec<Node> = groups.iter().map(|group| self.aggregated_group(group)).collect();
        let list = map([
            ("apiVersion", "apidiscovery.k8s.io/v2".into()),
            ("kind", "APIGroupDiscoveryList".into()),
            ("metadata", Node::empty_map()),
            ("items", items.into()),
        ]);
        Reply::tree(200, list).with_content_type(AGGREGATED)
    }

    fn aggregated_group(&self, group: &Group) -> Node {
        let version = |version: &Str| {
            let resources = self.resources_of(&group.name.to_str_lossy(), &version.to_str_lossy());
            let resources: Vec<Node> = resources.iter().map(aggregated_kind).collect();
            map([
                ("version", version.clone().into()),
                ("resources", resources.into()),
                ("freshness", "Current".into()),
            ])
        };
        let versions: Vec<Node> = group.versions.iter().map(version).collect();
        let mut metadata = Node::empty_map();
        if !group.name.is_empty() {
            set(&mut metadata, &["name"], group.name.clone());
        }
        map([("metadata", metadata), ("versions", versions.into())])
    }
}

fn core() -> Node {
    let address = map([("clientCIDR", "0.0.0.0/0".into()), ("serverAddress", "".into())]);
    map([
        ("kind", "APIVersions".into()),
        ("versions", vec!["v1".into()].into()),
        ("serverAddressByClientCIDRs", vec![address].into()),
    ])
}

fn group_entry(group: &Group, alone: bool) -> Node {
    let version = |version: &Str| {
        map([
            ("groupVersion", format!("{}/{version}", group.name).into()),
            ("version", version.clone().into()),
        ])
    };
    let versions: Vec<Node> = group.versions.iter().map(version).collect();
    let preferred = versions.first().cloned().unwrap_or_default();
    let mut entry = map([
        ("name", group.name.clone().into()),
        ("versions", versions.into()),
        ("preferredVersion", preferred),
    ]);
    if alone {
        set(&mut entry, &["apiVersion"], "v1");
        set(&mut entry, &["kind"], "APIGroup");
    }
    entry
}

fn string_list(words: &[Str]) -> Node {
    Node::List(words.iter().map(|word| word.clone().into()).collect())
}

fn kind_entry(resource: &Resource) -> Node {
    let mut entry = map([
        ("name", resource.plural.clone().into()),
        ("singularName", resource.singular.clone().into()),
        ("namespaced", resource.namespaced.into()),
        ("kind", resource.kind.clone().into()),
        ("verbs", string_list(&resource.verbs)),
    ]);
    if !resource.short_names.is_empty() {
        set(&mut entry, &["shortNames"], string_list(&resource.short_names));
    }
    if !resource.categories.is_empty() {
        set(&mut entry, &["categories"], string_list(&resource.categories));
    }
    if !resource.storage_hash.is_empty() {
        set(&mut entry, &["storageVersionHash"], resource.storage_hash.clone());
    }
    entry
}

fn subresource_entry(resource: &Resource, part: &Subresource) -> Node {
    let mut entry = map([
        ("name", format!("{}/{}", resource.plural, part.name).into()),
        ("singularName", "".into()),
        ("namespaced", resource.namespaced.into()),
        ("kind", part.kind.clone().into()),
        ("verbs", string_list(&part.verbs)),
    ]);
    for (key, text) in [("group", &part.group), ("version", &part.version)] {
        if !text.is_empty() {
            set(&mut entry, &[key], text.clone());
        }
    }
    entry
}

fn kind_reference(group: &Str, version: &Str, kind: &Str) -> Node {
    map([("group", group.clone().into()), ("version", version.clone().into()), ("kind", kind.clone().into())])
}

/// The `responseKind` of a resource. Built-in ones omit group and version, which the enclosing entry has.
fn own_kind(resource: &Resource, kind: &Str) -> Node {
    let nothing = Str::default();
    match resource.definition.is_empty() {
        true => kind_reference(&resource.group, &resource.version, kind),
        false => kind_reference(&nothing, &nothing, kind),
    }
}

fn aggregated_kind(resource: &Resource) -> Node {
    let mut entry = map([
        ("resource", resource.plural.clone().into()),
        ("responseKind", own_kind(resource, &resource.kind)),
        ("scope", if resource.namespaced { "Namespaced" } else { "Cluster" }.into()),
        ("singularResource", resource.singular.clone().into()),
        ("verbs", string_list(&resource.verbs)),
    ]);
    if !resource.short_names.is_empty() {
        set(&mut entry, &["shortNames"], string_list(&resource.short_names));
    }
    if !resource.categories.is_empty() {
        set(&mut entry, &["categories"], string_list(&resource.categories));
    }
    let part = |part: &Subresource| {
        let is_own = part.version.is_empty();
        let kind = if is_own {
            own_kind(resource, &part.kind)
        } else {
            kind_reference(&part.group, &part.version, &part.kind)
        };
        map([
            ("subresource", part.name.clone().into()),
            ("responseKind", kind),
            ("verbs", string_list(&part.verbs)),
        ])
    };
    if !resource.subresources.is_empty() {
        set(&mut entry, &["subresources"], resource.subresources.iter().map(part).collect::<Vec<_>>());
    }
    entry
}
