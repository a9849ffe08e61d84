//! Manifests with random mistakes in them: the filter refuses them or splits them as trees are split, and never fails in
//! another way.

#![expect(clippy::disallowed_methods, reason = "all of this is a test")]

use pintle_hooks::{Filter, split};
use pintle_objects::Object;
use pintle_testkit::{Random, mutate};
use pintle_tree::Node;
use pintle_yaml::outline::documents;

const TEXTS: &[&str] = &[
    "---\n# Source: a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c # n\n  annotations:\n    helm.sh/hook: pre-install,test\n    helm.sh/hook-weights: \"1,2\" # w\ndata:\n  a: |\n    x\n     y\n",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {\"helm.sh/hook\": \"test,pre-install\"}}\nspec:\n  volumes:\n  - configMap: {name: c}\n  containers:\n  - name: m\n    env:\n    - {name: HELM_HOOK_EVENT, value: x}\n    - name: B\n      valueFrom: {secretKeyRef: {name: s, key: k}}\n  - {name: n}\n",
    "---\nkind: List\nitems:\n- kind: Job\n  metadata:\n    name: &n j\n    annotations:\n      helm.sh/hook-weights: test=1,pre-install=2\n  spec: &s\n    template:\n      spec:\n        containers: [{name: *n}]\n- kind: Job\n  metadata: {name: k}\n  spec: *s\n",
    "{\"kind\": \"Pod\", \"metadata\": {\"generateName\": \"p-\", \"annotations\": {\"helm.sh/hook\": \"test,pre-install\", \"helm.sh/hook-weight\": \"1,2\"}}, \"spec\": {\"containers\": [{\"name\": \"c\"}]}}\n",
    "base: &b\n  helm.sh/hook: test,pre-install\nkind: Secret\nmetadata:\n  name: s\n  annotations:\n    <<: *b\n    other: x\ndata: {a: >-\n  b}\r\n",
];

const PIECES: &[&str] = &[
    " ",
    "  ",
    "\n",
    "\n\n",
    ":",
    ": ",
    "- ",
    "#",
    " #",
    "\"",
    "'",
    "|",
    ">",
    "{",
    "}",
    "[",
    "]",
    ",",
    "&a ",
    "*a",
    "*b",
    "!!str ",
    "? ",
    "<<: ",
    "---\n",
    "\r\n",
    "a",
    "key: v\n",
    "  k: v\n",
    "- x\n",
    "name: ",
    "env: ",
    "null",
    "''",
    "|-\n",
    "test,",
    "helm.sh/hook: test\n",
    "é",
    "items: ",
    "metadata: ",
];

fn objects(text: &[u8]) -> Option<Vec<Object>> {
    let mut objects = Vec::new();
    for document in documents(text) {
        if let Node::Map(body) = pintle_yaml::read_exact(&text[document.range]).ok()? {
            objects.push(Object::new(body));
        }
    }
    Some(objects)
}

#[test]
fn whatever_is_accepted_comes_out_as_trees_do() {
    let rounds = std::env::var("PINTLE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(2000);
    let mut random = Random(0x5bd1_e995_9e37_79b9);
    let (mut split_up, mut refused) = (0, 0);
    for round in 0..rounds {
        let text = mutate(TEXTS[round % TEXTS.len()].as_bytes(), PIECES, &mut random);
        let shown = String::from_utf8_lossy(&text);
        let Ok(filter) = Filter::read(&text) else {
            refused += 1;
            continue;
        };
        let out = filter.to_vec();
        let before =
            objects(&text).unwrap_or_else(|| panic!("the filter takes what nobody reads: {shown:?}"));
        let expected: Vec<Object> = split(&before).unwrap().into_iter().flatten().collect();
        let result = objects(&out);
        assert_eq!(result.as_ref(), Some(&expected), "{shown:?} became {:?}", String::from_utf8_lossy(&out));
        split_up += usize::from(expected != before);
    }
    println!("{split_up} were split, {refused} refused");
    assert!(split_up * 20 > rounds && refused > 0);
}
