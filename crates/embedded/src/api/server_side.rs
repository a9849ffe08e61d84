//! Server-side apply: what one manager wants, laid over what is there or over nothing.

use pintle_tree::{Node, json};

use super::change::{Edit, check_name, check_same_namespace};
use super::meta::{meta, take_over};
use super::query::{FieldValidation, WriteOptions};
use super::reply::Reply;
use super::{Api, Call, conflict, not_found};
use crate::apply::{self, Writer};
use crate::status::{Cause, Status};

impl Api {
    /// Server-side apply, which makes what is not there.
    pub(super) async fn apply(&self, call: &Call<'_>, options: &WriteOptions) -> Result<Reply, Status> {
        if options.manager.is_empty() {
            let cause = Cause::required("fieldManager", "is required for apply patch");
            return Err(Status::invalid("meta.k8s.io", "PatchOptions", "", vec![cause]));
        }
        let applied = applied(call, options.validation)?;
        if self.0.store.get(&call.key()).is_some() {
            return self.change(call, options, &Edit::Apply(&applied)).await;
        }
        let resource = call.known.resource();
        if call.target.part.is_some() {
            return Err(not_found(resource, call.name()));
        }
        let uid = meta(&applied, "uid");
        if !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(conflict(resource, call.name(), &why));
        }
        let laid = self.laid_new(call, options, &applied)?;
        let (version, kind) = (resource.api_version(), resource.kind.to_string());
        let text = json::write_raw(&laid).map_err(|error| Status::bad_request(error.to_string()))?;
        let mut object = self.read_text(call, &text, FieldValidation::Ignore, &version, &kind)?;
        take_over(&mut object, &laid, &["metadata", "managedFields"]);
        check_name(call, &applied, true)?;
        match self.make(call, object, options, true).await {
            Ok(made) => Ok(self.show(call, 201, made)),
            // Somebody else was faster, so that it is there now; the real server starts over, too.
            Err(status) if status.reason == "AlreadyExists" => {
                self.change(call, options, &Edit::Apply(&applied)).await
            }
            Err(status) => Err(status),
        }
    }

    /// What is applied, laid over nothing.
    pub(super) fn laid_new(
        &self,
        call: &Call<'_>,
        options: &WriteOptions,
        applied: &Node,
    ) -> Result<Node, Status> {
        let (manager, now) = (call.manager(&options.manager), self.timestamp());
        let version = call.known.resource().api_version();
        let reset = self.untouched(call, "");
        let writer =
            Writer { manager: &manager, api_version: &version, subresource: "", now: &now, reset: &reset };
        let mut empty = self.empty(call);
        take_over(&mut empty, applied, &["metadata", "name"]);
        take_over(&mut empty, applied, &["metadata", "namespace"]);
        let schema = call.known.schema(self.0.table);
        apply::apply(schema, &empty, applied, &writer, options.force, true).map(|laid| laid.object)
    }
}

/// Reads what is applied, which says of what kind it is.
fn applied(call: &Call<'_>, validation: FieldValidation) -> Result<Node, Status> {
    let tree = pintle_yaml::read_exact(call.body)
        .map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))?;
    if tree.as_map().is_none() {
        let fault = format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            tree.json_type()
        );
        let message = format!("error decoding YAML: error unmarshaling JSON: while decoding JSON: {fault}");
        return Err(Status::bad_request(message));
    }
    if let (true, Err(error)) = (validation != FieldValidation::Ignore, pintle_yaml::read_strict(call.body)) {
        let text = error.to_string();
        if validation == FieldValidation::Strict {
            return Err(Status::bad_request(format!("error strict decoding YAML: {text}")));
        }
        text.lines().skip(1).for_each(|line| call.warn(line.trim().to_owned()));
    }
    let resource = call.known.resource();
    let word = |key: &str| super::meta::text_at(&tree, &[key]).to_owned();
    let (version, kind) = (word("apiVersion"), word("kind"));
    if version != resource.api_version() || resource.kind != *kind {
        let version = if version.contains('/') { version } else { format!("/{version}") };
        return Err(Status::bad_request(format!("invalid object type: {version}, Kind={kind}")));
    }
    if !meta(&tree, "name").is_empty() {
        check_name(call, &tree, false)?;
    }
    check_same_namespace(call, &tree)?;
    Ok(tree)
}
