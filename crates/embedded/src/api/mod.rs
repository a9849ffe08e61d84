//! The API server: routing, then per verb the pipeline of the real one: decoding, defaulting, admission, validation,
//! storage.
//!
//! [`Api`] needs no network: [`Api::call`] takes a request and returns the response. [`crate::serve`] puts it on a
//! port.

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
mod offline;
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
pub use offline::validate_new_object;
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

/// A Kubernetes API server. Clones share their state.
#[derive(Clone)]
pub struct Api(Arc<Inner>);

struct Inner {
    catalog: &'static ApiCatalog,
    store: Store,
    clock: Arc<dyn Clock>,
    names: clock::NameGenerator,
    service_allocator: service_allocator::ServiceAllocator,
    custom_resources: RwLock<Arc<CustomResources>>,
    /// `None` for an API without a node, such as in the contract tests.
    controllers: Option<ControllerManager>,
    /// Held from the check of a quota until the object is stored, so that two requests cannot both take the last free
    /// slot.
    quotas: tokio::sync::Mutex<()>,
}

/// How to start an [`Api`].
pub struct Options {
    /// The built-in kinds of the Kubernetes version to emulate.
    pub catalog: &'static ApiCatalog,
    /// The storage.
    pub store: Store,
    /// The source of timestamps.
    pub clock: Arc<dyn Clock>,
    /// The seed of uids and generated names; the same seed and requests give the same names.
    pub seed: u64,
}

/// The parts of an HTTP request.
struct IncomingRequest<'r> {
    method: &'r Method,
    path: &'r str,
    query: &'r Query,
    headers: &'r HeaderMap,
    body: &'r Bytes,
}

/// A request to a resource, a collection or a subresource.
struct Call<'r> {
    target: &'r Target,
    served: ServedKind,
    query: &'r Query,
    headers: &'r HeaderMap,
    body: &'r Bytes,
    negotiated: Negotiated,
    /// `Warning` headers, which are sent with errors too.
    warnings: &'r Mutex<Vec<String>>,
}

impl Api {
    /// Starts an API over a store and creates the objects that every cluster has.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    pub async fn start(options: Options) -> Result<Api, Status> {
        Api::assemble(options, None).await
    }

    /// The same with a simulated node and the workload controllers: pods are scheduled, become ready and exit. The
    /// annotations `pintle.dev/simulate-…` of a pod control what happens to it.
    ///
    /// With [`Pace::Fast`] all controllers have run when a response is returned. With [`Pace::Real`] they run in the
    /// background, in [`Api::run_controllers`].
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
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
        // The revision makes the names of a reopened file differ from those that are already in it.
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

    /// Answers a request with a streaming body, as clients in the same process send it.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body,
    {
        let (head, body) = request.into_parts();
        match receive(body).await {
            Ok(body) => self.call(Request::from_parts(head, body)).await,
            Err(IncompleteBody) => error_response(&Status::bad_request("the request body is incomplete")),
        }
    }

    /// Answers a request.
    pub async fn call(&self, request: Request<Bytes>) -> Response<Body> {
        // A read changes nothing that controllers could react to. It only continues what the last write has left
        // over.
        let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
        let response = self.call_without_controllers(request).await;
        if let Some(controllers) = &self.0.controllers
            && (!reads || controllers.has_pending_work())
        {
            controllers.run_until_idle(self).await;
        }
        response
    }

    /// Continues to reconcile if the last request has hit its limit; returns whether there was anything to do.
    async fn resume_controllers(&self) -> bool {
        match &self.0.controllers {
            Some(controllers) if controllers.has_pending_work() => controllers.run_until_idle(self).await,
            _ => return false,
        }
        true
    }

    /// Runs the controllers at [`Pace::Real`]. Never returns, so that it can be one branch of a `select!`.
    pub async fn run_controllers(&self) {
        match &self.0.controllers {
            Some(controllers) => controllers.run(self).await,
            None => std::future::pending().await,
        }
    }

    /// Answers a request without running the workload controllers. The controllers' own requests come here: they
    /// would otherwise run recursively.
    pub(crate) async fn call_without_controllers(&self, request: Request<Bytes>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let query = Query::parse(head.uri.query().unwrap_or_default());
        let negotiated = Negotiated::parse(&head.headers);
        // An error about the `Accept` header itself is sent as JSON.
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
            // The only resource that clients request as protobuf without an alternative.
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
        let route = Route::parse(path);
        let Route::Objects(target) = &route else { return self.discovery(&route, negotiated) };
        let served = self.find(target)?;
        let call = Call { target, served, query, headers, body, negotiated, warnings };
        call.warn_deprecated_kinds();
        if target.subresource.is_some() {
            return self.subresource(method, &call).await;
        }
        // Reviews look like creates of an object, but are not stored.
        if let Some(reply) = self.review(method, &call) {
            return reply;
        }
        if target.watch && *method != Method::GET {
            return Err(method_not_allowed());
        }
        let watching = target.watch || query.is_set("watch");
        let resource = call.served.resource();
        let named = target.name.is_some();
        // Only lists and watches of namespaced kinds work without a namespace.
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

    /// Looks up the kind that a URL names.
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
        // Built-in kinds win: a CustomResourceDefinition in a built-in group cannot replace them.
        let served = built_in.or_else(custom);
        match served {
            Some(served) if served.resource().namespaced || target.namespace.is_none() => Ok(served),
            // The real server has a handler for each known group. Paths outside all of them end in the
            // default handler of its mux, which does not answer with a `Status`.
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

    /// All kinds whose objects can be created and deleted, each in one version.
    fn all_kinds(&self) -> Vec<ServedKind> {
        let built_in = self.0.catalog.resources().iter().filter(|it| it.can("create") && it.can("delete"));
        let mut names = BTreeSet::new();
        let built_in =
            built_in.map(ServedKind::BuiltIn).filter(|served| names.insert(served.storage_prefix()));
        let mut kinds: Vec<ServedKind> = built_in.collect();
        let custom_resources = self.custom_resources();
        kinds.extend(custom_resources.stored().map(|kind| ServedKind::Custom(Arc::clone(kind))));
        kinds
    }

    /// The current time as `metav1.Time`.
    pub(crate) fn timestamp(&self) -> String {
        clock::format_time(self.0.clock.now())
    }

    /// The current time since 1970.
    pub(crate) fn now(&self) -> std::time::Duration {
        self.0.clock.now()
    }

    /// The pace of the controllers.
    pub(crate) fn pace(&self) -> Pace {
        self.0.controllers.as_ref().map_or(Pace::Fast, ControllerManager::pace)
    }

    pub(crate) fn new_uid(&self) -> String {
        self.0.names.uid()
    }

    /// The storage, for code that bypasses the API as etcd clients do.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// The built-in kinds.
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
        crate::store::key(&self.served.storage_prefix(), self.namespace(), self.name())
    }

    /// The prefix of keys, and the namespace if the request is limited to one.
    fn scope(&self) -> (String, Option<&str>) {
        let namespaced = self.served.resource().namespaced;
        let namespace = if namespaced { self.target.namespace.as_deref() } else { Some("") };
        // The empty namespace of cluster-scoped kinds, unlike `None`, says that the key of an object is known from its name.
        (self.served.storage_prefix(), namespace)
    }

    /// Adds a `Warning` header, once per text.
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

    /// The field manager: the query's `fieldManager`, or the product of the user agent.
    fn manager(&self, requested: &str) -> String {
        if !requested.is_empty() {
            return requested.to_owned();
        }
        let agent = self.headers.get(http::header::USER_AGENT).and_then(|value| value.to_str().ok());
        let name = agent.unwrap_or("unknown").split('/').next().unwrap_or_default();
        // 128 is the limit of a field manager (`FieldManagerMaxLength`).
        name.chars().filter(|letter| !letter.is_control()).take(128).collect()
    }
}

/// The response to a request that is rejected before it reaches the API.
pub(crate) fn error_response(status: &Status) -> Response<Body> {
    Reply::error(status).respond(Negotiated::PLAIN)
}

fn no_such_resource() -> Status {
    Status::new(404, "NotFound", "the server could not find the requested resource")
        .with_details(StatusDetails::default())
}

/// 404 for paths outside all groups, which [`Reply`] sends as plain text like the real server.
fn page_not_found() -> Status {
    Status::new(404, "", "404 page not found")
}

fn method_not_allowed() -> Status {
    let message = "the server does not allow this method on the requested resource";
    Status::new(405, "MethodNotAllowed", message).with_details(StatusDetails::default())
}

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

/// 403 by an admission plugin.
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

/// 409: a resourceVersion or another precondition does not match.
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
