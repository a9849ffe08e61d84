//! Looking for charts in a hub.

use pintle_tree::{Node, json};

use crate::address::{Address, query_escape};
use crate::error::{Error, Result};
use crate::get::{Getter, Request};

/// One chart of a hub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubChart {
    /// The page about it.
    pub url: String,
    /// The newest version.
    pub version: String,
    /// The version of the application.
    pub app_version: String,
    /// The description.
    pub description: String,
    /// The name of its repository.
    pub repository_name: String,
    /// The URL of its repository.
    pub repository_url: String,
}

/// Asks a hub.
///
/// # Errors
/// An endpoint that is no URL, and when the hub does not answer.
pub fn search(getter: &Getter, endpoint: &str, words: &str) -> Result<Vec<HubChart>> {
    let shown = pintle_tree::quote::quote(endpoint.as_bytes());
    let unusable = |reason: &str| Error::Input(format!("unable to create connection to {shown}: {reason}"));
    let mut address = Address::parse(endpoint).map_err(|error| unusable(&error))?;
    let host = address.host.rsplit_once(':').map_or(address.host.as_str(), |(host, _)| host);
    if host.is_empty() {
        return Err(unusable("no hostname provided"));
    }
    let path = pintle_chart::path::clean(&format!("{}/api/chartsvc/v1/charts/search", address.path));
    address.path = path;
    address.query = Some(format!("q={}", query_escape(words)));
    let url = address.to_string();
    let request = Request { url: &url, home: &url, compressed: true, limit: 64 << 20, ..Request::default() };
    let mut text = Vec::new();
    let outcome = getter.get(&request, &mut text);
    // A response that is not JSON, or is cut off, counts as no results.
    if outcome.is_err() && text.is_empty() {
        return Err(Error::Fetch(format!("unable to perform search against {shown}")));
    }
    let tree = json::read(&text).unwrap_or(Node::Nil);
    let data = tree.get("data").and_then(Node::as_list).unwrap_or_default();
    Ok(data.iter().map(|item| chart(item, endpoint)).collect())
}

fn chart(item: &Node, endpoint: &str) -> HubChart {
    let text = |path: &[&str]| {
        let found = path.iter().try_fold(item, |node, key| node.get(key));
        found.and_then(Node::as_str).unwrap_or_default().to_owned()
    };
    let page = text(&["artifactHub", "packageUrl"]);
    let latest = |field: &str| text(&["relationships", "latestChartVersion", "data", field]);
    HubChart {
        url: if page.is_empty() { format!("{endpoint}/charts/{}", text(&["id"])) } else { page },
        version: latest("version"),
        app_version: latest("app_version"),
        description: text(&["attributes", "description"]),
        repository_name: text(&["attributes", "repo", "name"]),
        repository_url: text(&["attributes", "repo", "url"]),
    }
}
