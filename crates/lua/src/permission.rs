//! Permissions: what charts request, and what the user grants.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use pintle_chart::{Chart, ext};
use pintle_events::ChartPath;
use pintle_tree::Node;

use crate::error::{Error, Result};
use crate::require;

/// Something that scripts may do only with the user's consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// The `http` module.
    Network,
    /// The `fs` module.
    Filesystem,
    /// The `os` module.
    Os,
}

impl Permission {
    /// All permissions.
    pub const ALL: [Permission; 3] = [Permission::Network, Permission::Filesystem, Permission::Os];

    /// The name in `ext/permissions.yaml` and in flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Permission::Network => "network",
            Permission::Filesystem => "filesystem",
            Permission::Os => "os",
        }
    }

    /// What it allows, as shown in the prompt.
    pub fn description(self) -> &'static str {
        match self {
            Permission::Network => "Access the network",
            Permission::Filesystem => "Access the local filesystem",
            Permission::Os => "Read the environment and the clock",
        }
    }

    /// The module that it enables.
    pub(crate) fn module(self) -> &'static str {
        match self {
            Permission::Network => "http",
            Permission::Filesystem => "fs",
            Permission::Os => "os",
        }
    }
}

impl FromStr for Permission {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "network" => Ok(Permission::Network),
            // A later version of the Helm 3 proposal calls it `io`.
            "filesystem" | "io" => Ok(Permission::Filesystem),
            "os" => Ok(Permission::Os),
            _ => Err(Error::UnknownPermission { name: name.to_owned() }),
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A set of permissions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions(BTreeSet<Permission>);

impl Permissions {
    /// The empty set.
    pub fn none() -> Self {
        Permissions::default()
    }

    /// The full set.
    pub fn all() -> Self {
        Permission::ALL.into_iter().collect()
    }

    /// Parses a comma-separated list, as in flags.
    ///
    /// # Errors
    /// When a name is unknown.
    pub fn parse(list: &str) -> Result<Self> {
        list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::parse).collect()
    }

    /// Whether the set contains a permission.
    pub fn contains(&self, permission: Permission) -> bool {
        self.0.contains(&permission)
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The permissions, in order.
    pub fn iter(&self) -> impl Iterator<Item = Permission> + '_ {
        self.0.iter().copied()
    }

    /// The difference: permissions that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Permissions) -> Permissions {
        self.iter().filter(|permission| !other.contains(*permission)).collect()
    }

    /// The intersection of both sets.
    #[must_use]
    pub fn and(&self, other: &Permissions) -> Permissions {
        self.iter().filter(|permission| other.contains(*permission)).collect()
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Permissions(permissions.into_iter().collect())
    }
}

impl fmt::Display for Permissions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Permission::as_str).collect();
        formatter.write_str(&names.join(","))
    }
}

/// The permissions that the charts of a tree request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PermissionRequests {
    /// Each chart that requests something, parents first.
    pub charts: Vec<(ChartPath, Permissions)>,
}

impl PermissionRequests {
    /// The union of all requests.
    pub fn all(&self) -> Permissions {
        self.charts.iter().flat_map(|(_, permissions)| permissions.iter()).collect()
    }

    /// The paths of subcharts that request a permission, for display.
    pub fn subcharts_requesting(&self, permission: Permission) -> Vec<String> {
        let asks = |(path, permissions): &&(ChartPath, Permissions)| {
            permissions.contains(permission) && !path.below_top().is_empty()
        };
        self.charts.iter().filter(asks).map(|(path, _)| path.to_string()).collect()
    }
}

/// Returns what a chart and its subcharts request. A subchart's request counts even if its handlers are turned off.
///
/// # Errors
/// When an `ext/permissions.yaml` is invalid.
pub fn requested_permissions(chart: &Chart) -> Result<PermissionRequests> {
    let mut requested = PermissionRequests::default();
    add(chart, ChartPath::top(chart.name()), &require::chosen_libraries(chart), &mut requested)?;
    Ok(requested)
}

fn add(chart: &Chart, path: ChartPath, chosen: &[&Chart], requested: &mut PermissionRequests) -> Result<()> {
    let permissions = requested_by(chart, &path)?;
    if !permissions.is_empty() {
        requested.charts.push((path.clone(), permissions));
    }
    for below in require::below(chart, chosen) {
        add(below, path.child(below.name()), chosen, requested)?;
    }
    Ok(())
}

/// What one chart requests.
pub(crate) fn requested_by(chart: &Chart, path: &ChartPath) -> Result<Permissions> {
    let invalid = |reason: String| Error::Permissions { chart: path.clone(), reason };
    let Some(file) = ext::permissions(chart) else { return Ok(Permissions::none()) };
    let tree = pintle_yaml::read(&file.data).map_err(|error| invalid(error.to_string()))?;
    let names = match &tree {
        Node::Nil => return Ok(Permissions::none()),
        Node::Map(map) => {
            // An error, because a request that is misspelled would silently not be made.
            if let Some(key) = map.keys().find(|key| **key != "lua") {
                return Err(invalid(format!("there is no key `{key}`; the only key is `lua`")));
            }
            map.get("lua").unwrap_or(&Node::Nil)
        }
        _ => return Err(invalid("it must be a map with the key `lua`".to_owned())),
    };
    let list = match names {
        Node::Nil => &[][..],
        Node::List(list) => list,
        _ => return Err(invalid("`lua` must be a list of permissions".to_owned())),
    };
    let read = |name: &Node| match name.as_str() {
        Some(name) => name.parse().map_err(|error: Error| invalid(error.to_string())),
        None => Err(invalid("`lua` must be a list of names".to_owned())),
    };
    list.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_chart::File;
    use pintle_chart::metadata::Dependency;

    fn chart(name: &str, permissions: &str) -> Chart {
        let mut chart = Chart::default();
        chart.metadata.name = name.to_owned();
        chart.files.push(File::new("ext/permissions.yaml", permissions.as_bytes()));
        chart
    }

    #[test]
    fn l_051_names_are_read_and_io_means_filesystem() {
        let chart = chart("web", "lua:\n- network\n- io\n");
        assert_eq!(requested_permissions(&chart).expect("good").all().to_string(), "network,filesystem");
        assert!(requested_permissions(&self::chart("web", "")).expect("empty").charts.is_empty());
    }

    #[test]
    fn l_054_requests_of_subcharts_count() {
        let mut parent = chart("web", "lua: [os]");
        let mut child = chart("db", "lua: [network]");
        let mut library = chart("lib", "lua: [filesystem]");
        library.metadata.version = "1.0.0".to_owned();
        child.libraries.push(library);
        parent.subcharts.push(child);
        assert_eq!(
            requested_permissions(&parent).expect("good").all().to_string(),
            "network,os",
            "nobody asks for the library"
        );
        parent.metadata.libraries.push(Dependency { name: "lib".to_owned(), ..Dependency::default() });
        let requested = requested_permissions(&parent).expect("good");
        let reported: Vec<String> =
            requested.charts.iter().map(|(path, permissions)| format!("{path}: {permissions}")).collect();
        assert_eq!(reported, ["chart web: os", "chart web/db: network", "chart web/db/lib: filesystem"]);
        assert_eq!(requested.all(), Permissions::all());
    }

    #[test]
    fn mistakes_are_reported_with_what_is_known() {
        for (text, part) in [
            ("lua: [netwrok]", "there is no permission `netwrok`; the permissions are network, filesystem"),
            ("lua: network", "`lua` must be a list of permissions"),
            ("lua: [[network]]", "`lua` must be a list of names"),
            ("luau: [network]", "there is no key `luau`; the only key is `lua`"),
            ("[network]", "it must be a map"),
            ("lua: [", "yaml"),
        ] {
            let error = requested_permissions(&chart("web", text)).expect_err(text).to_string();
            assert!(
                error.starts_with("chart web: ext/permissions.yaml: ") && error.contains(part),
                "{error}"
            );
        }
    }

    #[test]
    fn l_053_sets_are_compared() {
        let accepted = Permissions::parse("network, os").expect("known");
        let requested = Permissions::parse("network,io").expect("known");
        assert_eq!(requested.without(&accepted).to_string(), "filesystem");
        assert_eq!(requested.and(&accepted).to_string(), "network");
        assert!(Permissions::parse("netz").is_err());
    }
}
