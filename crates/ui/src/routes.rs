//! The routes of the interface: one table.

use std::sync::Arc;

use futures::FutureExt as _;
use http::Method;

use crate::answer::Request;
use crate::app::{Answering, App};
use crate::error::{Failure, Result};
use crate::query::decoded;
use crate::{
    access, charts, compare, explain, logs, objects, operations, plans, records, releases, requests,
};

/// A handler of requests.
pub(crate) type Handler = fn(Arc<App>, Request) -> Answering;

/// A route.
pub(crate) struct Route {
    method: &'static str,
    /// The path; `{}` stands for a part that is open.
    path: &'static str,
    /// Whether it changes something, and needs `--write`.
    pub(crate) writes: bool,
    /// Whether it answers those who are not signed in.
    pub(crate) is_public: bool,
    pub(crate) handler: Handler,
}

const fn read(method: &'static str, path: &'static str, handler: Handler) -> Route {
    Route { method, path, writes: false, is_public: false, handler }
}

const fn write(method: &'static str, path: &'static str, handler: Handler) -> Route {
    Route { method, path, writes: true, is_public: false, handler }
}

const fn public(method: &'static str, path: &'static str, handler: Handler) -> Route {
    Route { method, path, writes: false, is_public: true, handler }
}

/// The future of a handler, in a box.
macro_rules! boxed {
    ($handler:path) => {
        |app, request| $handler(app, request).boxed()
    };
}

static ROUTES: &[Route] = &[
    public("POST", "/api/v1/login", boxed!(access::login)),
    read("POST", "/api/v1/logout", boxed!(access::logout)),
    read("GET", "/api/v1/session", boxed!(access::session)),
    read("GET", "/api/v1/contexts", boxed!(access::contexts)),
    read("GET", "/api/v1/namespaces", boxed!(access::namespaces)),
    read("GET", "/api/v1/permissions", boxed!(access::permissions)),
    read("GET", "/api/v1/openapi.json", boxed!(access::openapi)),
    read("GET", "/api/v1/releases", boxed!(releases::list)),
    read("GET", "/api/v1/releases/watch", boxed!(releases::watch)),
    read("GET", "/api/v1/releases/{}/{}", boxed!(records::detail)),
    read("GET", "/api/v1/releases/{}/{}/revisions", boxed!(records::revisions)),
    read("GET", "/api/v1/releases/{}/{}/objects", boxed!(objects::list)),
    read("GET", "/api/v1/releases/{}/{}/objects/watch", boxed!(objects::watch)),
    read("GET", "/api/v1/releases/{}/{}/object", boxed!(objects::one)),
    read("GET", "/api/v1/releases/{}/{}/hooks", boxed!(records::hooks)),
    read("GET", "/api/v1/releases/{}/{}/logs", boxed!(logs::follow)),
    read("GET", "/api/v1/releases/{}/{}/values", boxed!(records::values)),
    read("GET", "/api/v1/releases/{}/{}/manifest", boxed!(records::manifest)),
    read("GET", "/api/v1/releases/{}/{}/notes", boxed!(records::notes)),
    read("GET", "/api/v1/releases/{}/{}/images", boxed!(records::images)),
    read("GET", "/api/v1/releases/{}/{}/schema", boxed!(records::schema)),
    read("GET", "/api/v1/releases/{}/{}/compare", boxed!(compare::compare)),
    read("GET", "/api/v1/releases/{}/{}/explain", boxed!(explain::release)),
    read("GET", "/api/v1/releases/{}/{}/explain/reaches", boxed!(explain::reaches)),
    read("GET", "/api/v1/releases/{}/{}/explain/files", boxed!(explain::files)),
    read("POST", "/api/v1/explain", boxed!(explain::edited)),
    read("POST", "/api/v1/plans", boxed!(plans::make)),
    read("GET", "/api/v1/operations", boxed!(operations::list)),
    write("POST", "/api/v1/operations", boxed!(operations::start)),
    read("GET", "/api/v1/operations/{}", boxed!(operations::one)),
    read("GET", "/api/v1/operations/{}/events", boxed!(operations::events)),
    read("POST", "/api/v1/operations/{}/cancel", boxed!(operations::cancel)),
    read("POST", "/api/v1/rehearsals", boxed!(operations::rehearse)),
    read("GET", "/api/v1/requests", boxed!(requests::list)),
    read("GET", "/api/v1/requests/{}/{}", boxed!(requests::one)),
    write("POST", "/api/v1/requests/{}/{}/approve", boxed!(requests::approve)),
    read("GET", "/api/v1/outdated", boxed!(charts::outdated)),
    read("GET", "/api/v1/repositories", boxed!(charts::repositories)),
    write("POST", "/api/v1/repositories", boxed!(charts::add_repository)),
    write("POST", "/api/v1/repositories/update", boxed!(charts::update_repositories)),
    write("DELETE", "/api/v1/repositories/{}", boxed!(charts::remove_repository)),
    read("GET", "/api/v1/charts", boxed!(charts::search)),
    read("GET", "/api/v1/charts/versions", boxed!(charts::versions)),
    read("GET", "/api/v1/chart", boxed!(charts::show)),
];

/// A route that a request is for, with the parts of its path.
pub(crate) struct Found {
    pub(crate) route: &'static Route,
    pub(crate) parts: Vec<String>,
}

/// The route of a request. Words of a path go before open parts, so that `releases/watch` is found.
pub(crate) fn find(method: &Method, path: &str) -> Result<Found> {
    let mut others = Vec::new();
    for route in ROUTES {
        let Some(parts) = parts_of(route.path, path) else { continue };
        if route.method == method.as_str() {
            let parts = parts.iter().map(|part| decoded(part)).collect::<Result<Vec<String>>>()?;
            return Ok(Found { route, parts });
        }
        others.push(route.method);
    }
    if others.is_empty() {
        return Err(Failure::not_found("there is no such route").hint("/api/v1/openapi.json lists all"));
    }
    Err(Failure::new(405, "method", format!("this route can be asked by {} only", others.join(" and "))))
}

/// The open parts of a path.
fn parts_of<'p>(pattern: &str, path: &'p str) -> Option<Vec<&'p str>> {
    let (mut wanted, mut given) = (pattern.split('/'), path.split('/'));
    let mut parts = Vec::new();
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(parts),
            (Some("{}"), Some(part)) if !part.is_empty() => parts.push(part),
            (Some(word), Some(part)) if word == part => {}
            _ => return None,
        }
    }
}

/// All routes: method, path with `{}` for open parts, and whether they need `--write`.
pub fn described() -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    ROUTES.iter().map(|route| (route.method, route.path, route.writes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_found_by_method_and_path() {
        let Ok(found) = find(&Method::GET, "/api/v1/releases/shop/we%62") else {
            panic!("there is no route")
        };
        assert_eq!(found.parts, ["shop", "web"]);
        assert!(find(&Method::GET, "/api/v1/releases/watch").is_ok_and(|found| found.parts.is_empty()));
        let status = |method: Method, path: &str| find(&method, path).err().map(|failure| failure.status);
        assert_eq!(status(Method::DELETE, "/api/v1/releases"), Some(405));
        assert_eq!(status(Method::GET, "/api/v1/releases/"), Some(404));
        assert_eq!(status(Method::GET, "/api/v1/releases//web"), Some(404));
        assert_eq!(status(Method::GET, "/api/v1/releases/shop/web%00"), Some(400));
    }
}
