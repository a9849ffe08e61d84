//! The API: requests in, answers out, as the real server gives them.
//!
//! [`Api`] needs no network: [`Api::call`] takes a request and gives the answer. The same goes over a port with
//! [`crate::serve`].

mod access_review;
mod body;
mod clock;
mod conversion;
mod create;
mod custom_resources;
mod delete;
mod discovery;
mod garbage_collector;
mod inline_controllers;
mod limit_ranger;
mod log;
pub(crate) mod meta;
mod namespaces;
mod negotiation;
mod openapi;
mod pod_security;
mod prepare;
mod print;
mod query;
mod read;
mod receive;
mod reply;
mod request_body;
mod resource_quota;
mod route;
mod selector;
mod served_kind;
mod server_side_apply;
mod service_allocator;
mod subresource;
mod table;
mod update;
mod watch;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use pintle_tree::Str;

pub use body::Body;
pub use clock::{Clock, SystemClock};
pub use query::FieldValidation;

use crate::controllers::{ControllerManager, Pace, SimulatedClock};
use crate::schema::ApiCatalog;
use crate::status::{Status, StatusDetails};
use crate::store::Store;
use custom_resources::CustomResources;
use negotiation::Negotiated;
use query::Query;
use receive::MAX_BODY_BYTES;
pub(crate) use receive::{IncompleteBody, receive};
use reply::Reply;
use route::{Route, Target};
use served_kind::ServedKind;

/// A Kubernetes API. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Api(Arc<Inner>);

struct Inner {
    catalog: &'static ApiCatalog,
    store: Store,
    clock: Arc<dyn Clock>,
    names: clock::NameGenerator,
    service_allocator: service_allocator::ServiceAllocator,
    custom_resources: RwLock<Arc<CustomResources>>,
    /// Who moves pods and what makes them, if anybody does.
    controllers: Option<ControllerManager>,
    /// Held by whoever makes what a quota counts.
    quotas: tokio::sync::Mutex<()>,
}

/// What an API is made with.
pub struct Options {
    /// The Kubernetes that it is like.
    pub catalog: &'static ApiCatalog,
    /// Where its objects are.
    pub store: Store,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What uids and made-up names come from: the same seed gives the same.
    pub seed: u64,
}

/// A request as it came.
struct IncomingRequest<'r> {
    method: &'r Method,
    path: &'r str,
    query: &'r Query,
    headers: &'r HeaderMap,
    body: &'r Bytes,
}

/// A request about objects of a kind.
struct Call<'r> {
    target: &'r Target,
    served: ServedKind,
    query: &'r Query,
    headers: &'r HeaderMap,
    body: &'r Bytes,
    negotiated: Negotiated,
    /// What is told beside the answer, whatever that is.
    warnings: &'r Mutex<Vec<String>>,
}

impl Api {
    /// An API over a store, with the objects that every cluster has from the start.
    ///
    /// # Errors
    /// If these cannot be written.
    pub async fn start(options: Options) -> Result<Api, Status> {
        Api::assemble(options, None).await
    }

    /// The same with a node on which workloads move: pods run, become ready and end, and what makes pods makes them.
    /// The annotations `pintle.dev/simulate-…` of a pod steer it.
    ///
    /// With [`Pace::Fast`] everything that follows from a request has happened when its answer is there. With
    /// [`Pace::Real`] things take their time, for as long as somebody runs [`Api::run_controllers`].
    ///
    /// # Errors
    /// If the first objects cannot be written.
    pub async fn start_with_controllers(options: Options, pace: Pace) -> Result<Api, Status> {
        let clock = Arc::new(SimulatedClock::new(options.clock));
        let controllers = ControllerManager::new(Arc::clone(&clock), pace);
        let api = Api::assemble(Options { clock, ..options }, Some(controllers)).await?;
        if let Some(controllers) = &api.0.controllers {
            controllers.start(&api).await?;
        }
        Ok(api)
    }

    async fn assemble(options: Options, controllers: Option<ControllerManager>) -> Result<Api, Status> {
        let Options { catalog, store, clock, seed } = options;
        let names = clock::NameGenerator::new(seed, store.revision());
        let custom_resources = RwLock::new(Arc::new(CustomResources::read(&store)));
        let service_allocator = service_allocator::ServiceAllocator::default();
        let quotas = tokio::sync::Mutex::default();
        let api = Api(Arc::new(Inner {
            catalog,
            store,
            clock,
            names,
            service_allocator,
            custom_resources,
            controllers,
            quotas,
        }));
        api.create_bootstrap_objects().await?;
        Ok(api)
    }

    /// Answers one request whose body is still to come, as clients in the same process have them.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body,
    {
        let (head, body) = request.into_parts();
        match receive(body).await {
            Ok(body) => self.call(Request::from_parts(head, body)).await,
            Err(IncompleteBody) => {
                error_response(&Status::bad_request("the body of the request is incomplete"))
            }
        }
    }

    /// Answers one request.
    pub async fn call(&self, request: Request<Bytes>) -> Response<Body> {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
        let response = self.call_without_controllers(request).await;
        if let Some(controllers) = &self.0.controllers
            && (!reads || controllers.has_pending_work())
        {
            controllers.run_until_idle(self).await;
        }
        response
    }

    /// Goes on with what was too much for the last request, if anything was; says whether there was.
    async fn resume_controllers(&self) -> bool {
        match &self.0.controllers {
            Some(controllers) if controllers.has_pending_work() => controllers.run_until_idle(self).await,
            _ => return false,
        }
        true
    }

    /// Moves what moves by itself as time goes by. Never ends.
    pub async fn run_controllers(&self) {
        match &self.0.controllers {
            Some(controllers) => controllers.run(self).await,
            None => std::future::pending().await,
        }
    }

    /// Answers one request; nothing moves because of it yet.
    pub(crate) async fn call_without_controllers(&self, request: Request<Bytes>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let query = Query::read(head.uri.query().unwrap_or_default());
        let negotiated = Negotiated::read(&head.headers);
        let format = negotiated.as_ref().map_or(Negotiated::PLAIN, |negotiated| *negotiated);
        let warnings = Mutex::new(Vec::new());
        let path = head.uri.path();
        let incoming = IncomingRequest {
            method: &head.method,
            path,
            query: &query,
            headers: &head.headers,
            body: &body,
        };
        let answered = match negotiated {
            Ok(negotiated) => self.dispatch(&incoming, negotiated, &warnings).await,
            Err(_) if path == "/openapi/v2" && openapi::accepts_protobuf(&head.headers) => {
                Ok(self.openapi_v2_protobuf())
            }
            Err(status) => Err(status),
        };
        let reply = answered.unwrap_or_else(|status| Reply::error(&status));
        let warnings = warnings.into_inner().unwrap_or_else(PoisonError::into_inner);
        reply.with_warnings(warnings).respond(format)
    }

    async fn dispatch(
        &self,
        incoming: &IncomingRequest<'_>,
        negotiated: Negotiated,
        warnings: &Mutex<Vec<String>>,
    ) -> Result<Reply, Status> {
        let IncomingRequest { method, path, query, headers, body } = *incoming;
        if body.len() > MAX_BODY_BYTES {
            let message = format!("Request entity too large: limit is {MAX_BODY_BYTES}");
            return Err(
                Status::new(413, "RequestEntityTooLarge", message).with_details(StatusDetails::default())
            );
        }
        let route = Route::read(path);
        let Route::Objects(target) = &route else { return self.describe(&route, negotiated) };
        let served = self.find(target)?;
        let call = Call { target, served, query, headers, body, negotiated, warnings };
        call.warn_deprecated_kinds();
        if target.subresource.is_some() {
            return self.subresource(method, &call).await;
        }
        if let Some(reply) = self.review(method, &call) {
            return reply;
        }
        if target.watch && *method != Method::GET {
            return Err(method_not_allowed());
        }
        let watching = target.watch || query.is_set("watch");
        let resource = call.served.resource();
        let named = target.name.is_some();
        let scope_matches = target.namespace.is_some() == resource.namespaced;
        match *method {
            Method::GET if watching && (!named || target.watch) && resource.can("watch") => self.watch(&call),
            Method::GET if named && scope_matches && resource.can("get") => self.get(&call),
            Method::GET if !named && resource.can("list") => self.list(&call),
            Method::POST if !named && scope_matches && resource.can("create") => self.create(&call).await,
            Method::PUT if named && scope_matches && resource.can("update") => self.replace(&call).await,
            Method::PATCH if named && scope_matches && resource.can("patch") => self.patch(&call).await,
            Method::DELETE if named && scope_matches && resource.can("delete") => self.delete(&call).await,
            Method::DELETE if !named && scope_matches && resource.can("deletecollection") => {
                self.delete_collection(&call).await
            }
            _ => Err(method_not_allowed()),
        }
    }

    /// The kind that a path names.
    fn find(&self, target: &Target) -> Result<ServedKind, Status> {
        let custom_resources = self.custom_resources();
        let matches_target = |resource: &crate::schema::Resource| {
            resource.group == *target.group
                && resource.version == *target.version
                && resource.plural == *target.plural
        };
        let built_in = self
            .0
            .catalog
            .resources()
            .iter()
            .find(|resource| matches_target(resource))
            .map(ServedKind::BuiltIn);
        let custom = || {
            custom_resources
                .served()
                .find(|kind| matches_target(&kind.resource))
                .map(|kind| ServedKind::Custom(Arc::clone(kind)))
        };
        let served = built_in.or_else(custom);
        match served {
            Some(served) if served.resource().namespaced || target.namespace.is_none() => Ok(served),
            None if !self.has_group(&target.group) => Err(page_not_found()),
            _ => Err(no_such_resource()),
        }
    }

    fn has_group(&self, group: &str) -> bool {
        self.0.catalog.groups().iter().any(|it| it.name == *group)
            || self.custom_resources().served().any(|kind| kind.resource.group == *group)
    }

    fn custom_resources(&self) -> Arc<CustomResources> {
        Arc::clone(&self.0.custom_resources.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn reload_custom_resources(&self) {
        let custom_resources = Arc::new(CustomResources::read(&self.0.store));
        *self.0.custom_resources.write().unwrap_or_else(PoisonError::into_inner) = custom_resources;
    }

    /// All kinds that are served, once each.
    fn all_kinds(&self) -> Vec<ServedKind> {
        let built_in = self.0.catalog.resources().iter().filter(|it| it.can("create") && it.can("delete"));
        let mut names = BTreeSet::new();
        let built_in = built_in.map(ServedKind::BuiltIn).filter(|served| names.insert(served.store_name()));
        let mut kinds: Vec<ServedKind> = built_in.collect();
        let custom_resources = self.custom_resources();
        kinds.extend(custom_resources.stored().map(|kind| ServedKind::Custom(Arc::clone(kind))));
        kinds
    }

    /// The time, as objects have it.
    pub(crate) fn timestamp(&self) -> String {
        clock::format_time(self.0.clock.now())
    }

    /// The time.
    pub(crate) fn now(&self) -> std::time::Duration {
        self.0.clock.now()
    }

    /// How fast things move, if anything does.
    pub(crate) fn pace(&self) -> Pace {
        self.0.controllers.as_ref().map_or(Pace::Fast, ControllerManager::pace)
    }

    /// A uid that nobody has yet.
    pub(crate) fn new_uid(&self) -> String {
        self.0.names.uid()
    }

    /// Where objects are kept, for whoever moves them from inside.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// The kinds of the Kubernetes that this is like.
    pub fn catalog(&self) -> &'static ApiCatalog {
        self.0.catalog
    }
}

impl Call<'_> {
    fn namespace(&self) -> &str {
        self.target.namespace.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &str {
        self.target.name.as_deref().unwrap_or_default()
    }

    fn key(&self) -> Str {
        crate::store::key(&self.served.store_name(), self.namespace(), self.name())
    }

    /// The kind, as keys begin with it, and the namespace, where only one is meant.
    fn scope(&self) -> (String, Option<&str>) {
        let namespaced = self.served.resource().namespaced;
        let namespace = if namespaced { self.target.namespace.as_deref() } else { Some("") };
        (self.served.store_name(), namespace)
    }

    /// Tells something beside the answer, once.
    fn warn(&self, text: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    fn warn_deprecated_kinds(&self) {
        if self.served.is("", "Endpoints") {
            self.warn(
                "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".to_owned(),
            );
        }
        if self.served.is("", "ComponentStatus") {
            self.warn("v1 ComponentStatus is deprecated in v1.19+".to_owned());
        }
    }

    /// Who writes: the field manager, or the first word of the user agent.
    fn manager(&self, given: &str) -> String {
        if !given.is_empty() {
            return given.to_owned();
        }
        let agent = self.headers.get(http::header::USER_AGENT).and_then(|value| value.to_str().ok());
        let name = agent.unwrap_or("unknown").split('/').next().unwrap_or_default();
        name.chars().filter(|letter| !letter.is_control()).take(128).collect()
    }
}

/// The answer to a request that is refused before anything is asked of the API.
pub(crate) fn error_response(status: &Status) -> Response<Body> {
    Reply::error(status).respond(Negotiated::PLAIN)
}

fn no_such_resource() -> Status {
    Status::new(404, "NotFound", "the server could not find the requested resource")
        .with_details(StatusDetails::default())
}

/// What paths outside of all groups are answered with; [`Reply`] makes plain text of it.
fn page_not_found() -> Status {
    Status::new(404, "", "404 page not found")
}

fn method_not_allowed() -> Status {
    let message = "the server does not allow this method on the requested resource";
    Status::new(405, "MethodNotAllowed", message).with_details(StatusDetails::default())
}

/// Nothing of that name is there.
fn not_found(resource: &crate::schema::Resource, name: &str) -> Status {
    let details = StatusDetails {
        name: name.to_owned(),
        group: resource.group.to_string(),
        kind: resource.plural.to_string(),
        ..StatusDetails::default()
    };
    Status::new(404, "NotFound", format!("{} {name:?} not found", resource.qualified_name()))
        .with_details(details)
}

/// The cluster does not let it happen, though it makes sense.
fn forbidden(resource: &crate::schema::Resource, name: &str, why: &str) -> Status {
    let details = StatusDetails {
        name: name.to_owned(),
        group: resource.group.to_string(),
        kind: resource.plural.to_string(),
        ..StatusDetails::default()
    };
    let message = format!("{} {name:?} is forbidden: {why}", resource.qualified_name());
    Status::new(403, "Forbidden", message).with_details(details)
}

/// Somebody was quicker, or a precondition does not hold.
fn conflict(resource: &crate::schema::Resource, name: &str, why: &str) -> Status {
    let details = StatusDetails {
        name: name.to_owned(),
        group: resource.group.to_string(),
        kind: resource.plural.to_string(),
        ..StatusDetails::default()
    };
    let message = format!("Operation cannot be fulfilled on {} {name:?}: {why}", resource.qualified_name());
    Status::new(409, "Conflict", message).with_details(details)
}
