//! Strategic merge patches on rendered objects. There is no cluster to ask for schemas, so the lists that merge by a key are
//! those of the built-in kinds, as in kustomize; all other lists are replaced.

use serde_json::{Map, Value};

use super::budget::Budget;

/// What a patch does instead of merging.
const DIRECTIVE: &str = "$patch";

/// Lists that merge by a key, by the name of their field. A list with several keys merges by the first that its items have.
const MERGE_KEYS: [(&str, &[&str]); 12] = [
    ("containers", &["name"]),
    ("initContainers", &["name"]),
    ("ephemeralContainers", &["name"]),
    ("env", &["name"]),
    ("ports", &["containerPort", "port"]),
    ("volumes", &["name"]),
    ("volumeMounts", &["mountPath"]),
    ("volumeDevices", &["devicePath"]),
    ("imagePullSecrets", &["name"]),
    ("hostAliases", &["ip"]),
    ("topologySpreadConstraints", &["topologyKey"]),
    ("ownerReferences", &["uid"]),
];

/// Whether a patch deletes what it is applied to.
pub(super) fn is_deletion(patch: &Map<String, Value>) -> bool {
    patch.get(DIRECTIVE).and_then(Value::as_str) == Some("delete")
}

/// Merges a patch into a value.
///
/// # Errors
/// When that takes too much work.
pub(super) fn merge(value: &mut Value, patch: &Map<String, Value>, budget: &Budget) -> Result<(), String> {
    let replaces = patch.get(DIRECTIVE).and_then(Value::as_str) == Some("replace");
    if replaces || !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let Some(map) = value.as_object_mut() else { return Ok(()) };
    for (key, change) in patch.iter().filter(|(key, _)| *key != DIRECTIVE) {
        budget.charge(32)?;
        match change {
            Value::Null => drop(map.remove(key)),
            Value::Object(change) if is_deletion(change) => drop(map.remove(key)),
            Value::Object(change) => merge(map.entry(key).or_insert(Value::Null), change, budget)?,
            Value::Array(change) => {
                let list = map.entry(key).or_insert_with(|| Value::Array(Vec::new()));
                merge_list(key, list, change, budget)?;
            }
            scalar => drop(map.insert(key.clone(), scalar.clone())),
        }
    }
    Ok(())
}

fn merge_list(field: &str, list: &mut Value, patch: &[Value], budget: &Budget) -> Result<(), String> {
    let key = merge_key(field, patch);
    let (Some(key), Some(items)) = (key, list.as_array_mut()) else {
        *list = Value::Array(patch.to_vec());
        return Ok(());
    };
    for change in patch.iter().filter_map(Value::as_object) {
        // Each item is compared with all that are there.
        budget.charge(items.len().saturating_mul(32))?;
        let at = items.iter().position(|item| item.get(key).is_some() && item.get(key) == change.get(key));
        match at {
            Some(at) if is_deletion(change) => drop(items.remove(at)),
            Some(at) => merge(&mut items[at], change, budget)?,
            None if is_deletion(change) => {}
            None => {
                let mut item = Value::Null;
                merge(&mut item, change, budget)?;
                items.push(item);
            }
        }
    }
    Ok(())
}

/// The key by which the items of a list merge, if all items of the patch have it.
fn merge_key(field: &str, patch: &[Value]) -> Option<&'static str> {
    let (_, keys) = MERGE_KEYS.iter().find(|(name, _)| *name == field)?;
    keys.iter().copied().find(|key| patch.iter().all(|item| item.get(key).is_some()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn merged(mut value: Value, patch: Value) -> Value {
        merge(&mut value, patch.as_object().expect("a map"), &Budget::default()).expect("little work");
        value
    }

    #[test]
    fn maps_merge_nulls_remove_and_unknown_lists_are_replaced() {
        let value = json!({"a": {"b": 1, "c": 2}, "args": ["x"], "gone": 1});
        let patch = json!({"a": {"b": 3}, "args": ["y", "z"], "gone": null});
        assert_eq!(merged(value, patch), json!({"a": {"b": 3, "c": 2}, "args": ["y", "z"]}));
    }

    #[test]
    fn lists_merge_by_their_key_and_new_items_are_appended() {
        let value = json!({"ports": [{"containerPort": 80, "name": "http"}]});
        let patch = json!({"ports": [{"containerPort": 80, "name": "web"}, {"containerPort": 81}]});
        let expected = json!({"ports": [{"containerPort": 80, "name": "web"}, {"containerPort": 81}]});
        assert_eq!(merged(value, patch), expected);
    }

    #[test]
    fn a_map_can_be_replaced_or_deleted() {
        let value = json!({"a": {"b": 1}, "c": {"d": 1}});
        let patch = json!({"a": {"$patch": "replace", "x": 1}, "c": {"$patch": "delete"}});
        assert_eq!(merged(value, patch), json!({"a": {"x": 1}}));
    }
}
