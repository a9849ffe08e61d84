//! Server-side apply: the HTTP side; the merge is in [`crate::apply`].

use pintle_tree::{Node, json};

use super::meta::{copy_field, meta};
use super::query::{FieldValidation, WriteOptions};
use super::reply::Reply;
use super::update::{UpdateSource, check_name, check_same_namespace};
use super::{Api, Call, conflict, not_found};
use crate::apply::{self, FieldManager};
use crate::status::{Status, StatusCause};

impl Api {
    /// Applies a configuration; creates the object if it does not exist.
    pub(super) async fn apply(&self, call: &Call<'_>, options: &WriteOptions) -> Result<Reply, Status> {
        if options.manager.is_empty() {
            let cause = StatusCause::required("fieldManager", "is required for apply patch");
            return Err(Status::invalid("meta.k8s.io", "PatchOptions", "", vec![cause]));
        }
        let applied = applied(call, options.validation, self.0.catalog.minor())?;
        if self.0.store.get(&call.key()).is_some() {
            return self.update(call, options, &UpdateSource::Apply(&applied)).await;
        }
        let resource = call.served.resource();
        if call.target.subresource.is_some() {
            return Err(not_found(resource, call.name()));
        }
        let uid = meta(&applied, "uid");
        if !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(conflict(resource, call.name(), &why));
        }
        let applied_object = self.apply_to_empty(call, options, &applied)?;
        let (version, kind) = (resource.api_version(), resource.kind.to_string());
        let text =
            json::write_raw(&applied_object).map_err(|error| Status::bad_request(error.to_string()))?;
        let mut object = self.decode(call, &text, FieldValidation::Ignore, &version, &kind)?;
        copy_field(&mut object, &applied_object, &["metadata", "managedFields"]);
        check_name(call, &applied, true)?;
        match self.create_object(call, object, options, true).await {
            Ok(created) => Ok(self.object_reply(call, 201, created)),
            // Another request has created it in the meantime; the real server retries as an update, too.
            Err(status) if status.reason == "AlreadyExists" => {
                self.update(call, options, &UpdateSource::Apply(&applied)).await
            }
            Err(status) => Err(status),
        }
    }

    /// Applies to an object that does not exist.
    pub(super) fn apply_to_empty(
        &self,
        call: &Call<'_>,
        options: &WriteOptions,
        applied: &Node,
    ) -> Result<Node, Status> {
        let (manager, now) = (call.manager(&options.manager), self.timestamp());
        let version = call.served.resource().api_version();
        let reset_fields = self.reset_fields(call, "");
        let field_manager = FieldManager {
            name: &manager,
            api_version: &version,
            subresource: "",
            now: &now,
            reset_fields: &reset_fields,
        };
        let mut empty = self.empty(call);
        copy_field(&mut empty, applied, &["metadata", "name"]);
        copy_field(&mut empty, applied, &["metadata", "namespace"]);
        let schema = call.served.schema(self.0.catalog);
        apply::apply(schema, &empty, applied, &field_manager, options.force, true)
            .map(|applied_object| applied_object.object)
    }
}

/// Parses the applied configuration, which must set `apiVersion` and `kind`.
fn applied(call: &Call<'_>, validation: FieldValidation, minor: u16) -> Result<Node, Status> {
    // Since 1.37 configurations may be CBOR, too.
    let format = if minor < 37 { "YAML" } else { "patch" };
    let tree = pintle_yaml::read_exact(call.body).map_err(|error| {
        let text = error.to_string();
        // Since 1.37 YAML is first converted to JSON for the audit log, unless it begins like JSON.
        let converts = minor >= 37 && !call.body.trim_ascii_start().starts_with(b"{");
        Status::bad_request(match text.strip_prefix("error converting YAML to JSON: ") {
            Some(problem) if converts => format!("error encoding patch: {problem}"),
            _ => format!("error decoding {format}: {text}"),
        })
    })?;
    if tree.as_map().is_none() {
        let problem = format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            tree.json_type()
        );
        let message =
            format!("error decoding {format}: error unmarshaling JSON: while decoding JSON: {problem}");
        return Err(Status::bad_request(message));
    }
    if let (true, Err(error)) = (validation != FieldValidation::Ignore, pintle_yaml::read_strict(call.body)) {
        let text = error.to_string();
        if validation == FieldValidation::Strict {
            return Err(Status::bad_request(format!("error strict decoding {format}: {text}")));
        }
        text.lines().skip(1).for_each(|line| call.warn(line.trim().to_owned()));
    }
    let resource = call.served.resource();
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
