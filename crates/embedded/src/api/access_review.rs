//! Access reviews (`kubectl auth can-i`): there is no authorization, so everything is allowed.

use http::Method;
use pintle_tree::{Node, json};

use super::meta::{map, set, unset};
use super::query::WriteOptions;
use super::reply::Reply;
use super::{Api, Call};
use crate::status::Status;

/// The user of every request.
const USER: &str = "admin";

impl Api {
    /// Answers a review; `None` if the request is not one.
    pub(super) fn review(&self, method: &Method, call: &Call<'_>) -> Option<Result<Reply, Status>> {
        let resource = call.served.resource();
        let group = resource.group.as_str()?;
        let is_review = matches!(group, "authorization.k8s.io" | "authentication.k8s.io");
        if !is_review || call.served.is_custom() || *method != Method::POST {
            return None;
        }
        Some(self.review_response(call))
    }

    fn review_response(&self, call: &Call<'_>) -> Result<Reply, Status> {
        let resource = call.served.resource();
        let options = WriteOptions::parse(call.query, "CreateOptions")?;
        let mut review = self.decode_body(call, options.validation)?;
        unset(&mut review, &["status"]);
        if resource.kind != *"SelfSubjectRulesReview" {
            self.track_create(call, &mut review, &options);
        }
        if review.get("metadata").is_none() {
            set(&mut review, &["metadata"], Node::empty_map());
        }
        match resource.kind.as_str().unwrap_or_default() {
            "SelfSubjectReview" => {
                set(&mut review, &["metadata", "creationTimestamp"], self.timestamp());
                set(&mut review, &["status", "userInfo"], user());
            }
            "TokenReview" => {
                set(&mut review, &["status", "authenticated"], true);
                set(&mut review, &["status", "user"], user());
            }
            "SelfSubjectRulesReview" => {
                set(&mut review, &["status"], rules());
                set(&mut review, &["spec"], Node::empty_map());
            }
            _ => set(&mut review, &["status", "allowed"], true),
        }
        Ok(Reply::tree(201, review))
    }
}

fn user() -> Node {
    let groups: Vec<Node> = vec!["system:masters".into(), "system:authenticated".into()];
    map([("username", USER.into()), ("groups", groups.into())])
}

fn rules() -> Node {
    let text = r#"{"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}],
        "nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}],"incomplete":false}"#;
    json::read_exact(text.as_bytes()).unwrap_or_default()
}
