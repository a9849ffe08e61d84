//! The checklist of the original filter, row by row, and what it leaves open. Every manifest is also split as trees, and
//! the filtered text must parse to the same objects.

#![expect(clippy::unwrap_used, reason = "all of this is a test")]

use pintle_hooks::{
    EnvRule, Filter, Hook, Source, in_order, is_hook_by_weights, object_for, read, split, split_name,
};
use pintle_objects::{HookEvent, Object, Order, sort};
use pintle_tree::Node;
use pintle_yaml::outline::documents;

/// The objects of a manifest, by documents.
fn objects(text: &str) -> Vec<Object> {
    documents(text.as_bytes())
        .filter_map(|document| match pintle_yaml::read_exact(&text.as_bytes()[document.range]).unwrap() {
            Node::Map(body) => Some(Object::new(body)),
            _ => None,
        })
        .collect()
}

/// Filters a manifest, and compares with what splitting its objects gives.
fn filtered(text: &str) -> String {
    let filter = Filter::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let out = String::from_utf8(filter.to_vec()).unwrap();
    let expected: Vec<Object> = split(&objects(text)).unwrap().into_iter().flatten().collect();
    assert_eq!(objects(&out), expected, "{text}\nbecame\n{out}");
    out
}

fn error(text: &str) -> String {
    let error = Filter::read(text.as_bytes()).err().unwrap_or_else(|| panic!("{text}"));
    if !error.to_string().starts_with("parsing YAML") {
        assert!(split(&objects(text)).is_err());
    }
    error.to_string()
}

/// A Job with annotations, one to a line.
fn job(annotations: &str) -> String {
    let annotations: String =
        annotations.lines().map(|line| format!("    helm.sh/{}\n", line.trim())).collect();
    format!(
        "---\n# Source: web/templates/job.yaml\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations:\n\
         {annotations}spec:\n  template:\n    spec:\n      containers:\n      - name: main\n        image: busybox\n"
    )
}

/// The same without containers.
fn config(annotations: &str) -> String {
    let annotations: String =
        annotations.lines().map(|line| format!("    helm.sh/{}\n", line.trim())).collect();
    format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  annotations:\n{annotations}data: {{a: b}}\n"
    )
}

/// What the parts are: name, events and weight.
fn parts(text: &str) -> Vec<String> {
    let part = |object: &Object| {
        let annotation = |key: &str| object.annotation(key).unwrap_or("-").to_owned();
        format!("{} {} {}", object.name(), annotation("helm.sh/hook"), annotation("helm.sh/hook-weight"))
    };
    objects(&filtered(text)).iter().map(part).collect()
}

const ENV: &str = "        env:\n        - name: HELM_HOOK_EVENT\n          value: pre-install\n        - name: \
                   HELM_HOOK_WEIGHT\n          value: \"4\"\n";

#[test]
fn hh_01_nothing_stays_nothing() {
    assert_eq!(filtered(""), "");
}

#[test]
fn hh_02_objects_that_are_no_hooks_pass_through() {
    let text = "# c\napiVersion: v1\nkind:   ConfigMap\nmetadata: {name: a}\ndata:\n    a:  |\n        b\n";
    assert_eq!(filtered(text), text);
}

#[test]
fn hh_03_one_event_with_a_weight_gets_variables_and_nothing_else() {
    let text = job("hook: pre-install\nhook-weight: '4'");
    assert_eq!(filtered(&text), text.clone() + ENV);
}

#[test]
fn hh_04_one_event_without_a_weight_has_0_and_no_annotation_for_it() {
    let text = job("hook: pre-install");
    assert_eq!(filtered(&text), text.clone() + &ENV.replace("\"4\"", "\"0\""));
}

#[test]
fn hh_05_one_event_with_its_weight_by_name_keeps_its_name() {
    let text = filtered(&job("hook: pre-install\nhook-weights: \"pre-install=-3\""));
    assert_eq!(
        parts(&job("hook: pre-install\nhook-weights: \"pre-install=-3\"")),
        ["migrate pre-install -3"]
    );
    assert!(text.contains("    helm.sh/hook: pre-install\n    helm.sh/hook-weight: \"-3\"\nspec:"), "{text}");
}

#[test]
fn hh_06_one_event_with_its_weight_by_place() {
    assert_eq!(parts(&job("hook: pre-install\nhook-weights: \"5\"")), ["migrate pre-install 5"]);
}

#[test]
fn hh_07_two_events_without_weights_make_two_documents() {
    assert_eq!(
        parts(&job("hook: post-install,pre-install")),
        ["migrate-post-install post-install 0", "migrate-pre-install pre-install 0"]
    );
}

#[test]
fn hh_08_one_weight_is_for_all_events() {
    assert_eq!(
        parts(&job("hook: pre-install,test\nhook-weight: \"7\"")),
        ["migrate-pre-install pre-install 7", "migrate-test test 7"]
    );
}

#[test]
fn hh_09_a_list_of_weights_is_by_place() {
    assert_eq!(
        parts(&job("hook: pre-install,test\nhook-weight: \"-9,30\"")),
        ["migrate-pre-install pre-install -9", "migrate-test test 30"]
    );
}

#[test]
fn hh_10_hook_weights_may_be_by_place_too() {
    assert_eq!(
        parts(&job("hook: pre-install,test\nhook-weights: \"1,2\"")),
        ["migrate-pre-install pre-install 1", "migrate-test test 2"]
    );
}

#[test]
fn hh_11_an_event_that_is_not_named_has_weight_0() {
    assert_eq!(
        parts(&job("hook: pre-install,post-install\nhook-weights: post-install=9")),
        ["migrate-pre-install pre-install 0", "migrate-post-install post-install 9"]
    );
}

#[test]
fn hh_12_hook_weights_win_over_hook_weight() {
    assert_eq!(
        parts(&job("hook: pre-install,test\nhook-weight: \"50\"\nhook-weights: \"1,2\"")),
        ["migrate-pre-install pre-install 1", "migrate-test test 2"]
    );
}

#[test]
fn hh_13_hook_weights_alone_name_the_events() {
    let text = job("hook-weights: \"pre-delete=-2,post-delete=2\"");
    assert_eq!(parts(&text), ["migrate-pre-delete pre-delete -2", "migrate-post-delete post-delete 2"]);
    assert!(
        filtered(&text)
            .contains("annotations:\n    helm.sh/hook: pre-delete\n    helm.sh/hook-weight: \"-2\"\nspec")
    );
}

#[test]
fn hh_14_hook_weights_alone_with_one_event_keep_the_name() {
    assert_eq!(parts(&job("hook-weights: \"post-delete=4\"")), ["migrate post-delete 4"]);
}

#[test]
fn hh_15_hook_weights_alone_must_name_events() {
    assert_eq!(
        error(&job("hook-weights: \"1,2\"")),
        "processing hooks: resource \"migrate\" (Job) on line 8 (from web/templates/job.yaml): \
         `helm.sh/hook-weights` without `helm.sh/hook` must name events, as in `pre-install=5`"
    );
}

#[test]
fn hh_16_hook_weights_alone_must_not_be_empty() {
    assert!(error(&job("hook-weights: \"\"")).contains("must name events"));
}

#[test]
fn hh_17_empty_hook_weights_are_one_weight_too_few() {
    assert!(
        error(&job("hook: pre-install,test\nhook-weights: \"\""))
            .ends_with("`helm.sh/hook-weights` has 1 weights for 2 events")
    );
}

#[test]
fn hh_18_a_blank_weight_is_0() {
    assert_eq!(
        parts(&job("hook: pre-install,test\nhook-weights: \"1,\"")),
        ["migrate-pre-install pre-install 1", "migrate-test test 0"]
    );
}

#[test]
fn hh_19_names_and_places_do_not_mix() {
    assert!(error(&job("hook: pre-install,test\nhook-weights: \"pre-install=1,2\"")).contains("mixes"));
}

#[test]
fn hh_20_a_weight_for_an_event_that_is_not_the_hooks_is_refused() {
    let error = error(&job("hook: pre-install\nhook-weights: test=1"));
    assert!(error.contains("on line 9") && error.contains("has a weight for `test`"), "{error}");
}

#[test]
fn hh_21_the_last_of_equal_names_wins_unless_it_names_the_events() {
    assert_eq!(
        parts(&job("hook: pre-install\nhook-weights: pre-install=1,pre-install=2")),
        ["migrate pre-install 2"]
    );
    assert!(error(&job("hook-weights: test=1,test=2")).contains("the event `test` is named twice"));
}

#[test]
fn hh_22_a_weight_is_a_whole_number_of_32_bits() {
    for weight in ["abc", "1.5", "2147483648", "--1", "0x10"] {
        assert!(
            error(&job(&format!("hook: test\nhook-weight: \"{weight}\"")))
                .contains("is not a 32-bit integer")
        );
    }
    assert_eq!(parts(&job("hook: test,pre-install\nhook-weight: \"+3\""))[0], "migrate-test test 3");
}

#[test]
fn hh_23_there_are_as_many_weights_as_events() {
    assert!(
        error(&job("hook: pre-install,post-install,test\nhook-weight: \"5,10\""))
            .ends_with("`helm.sh/hook-weight` has 2 weights for 3 events")
    );
    assert!(error(&job("hook: test\nhook-weight: \"1,2\"")).ends_with("has 2 weights for 1 events"));
}

#[test]
fn hh_24_events_are_known_words_in_small_letters() {
    for event in ["crd-install", "Pre-Install"] {
        let error = error(&job(&format!("hook: {event}")));
        assert!(
            error.contains(&format!("line 8 (from web/templates/job.yaml): `{event}` is not a hook event")),
            "{error}"
        );
    }
}

#[test]
fn hh_25_an_event_is_named_once() {
    assert!(error(&job("hook: test,pre-install,test")).ends_with("the event `test` is named twice"));
}

#[test]
fn hh_26_an_empty_annotation_is_refused() {
    assert!(error(&job("hook: \"\"")).ends_with("`helm.sh/hook` is empty"));
}

#[test]
fn hh_27_a_last_comma_counts_for_nothing() {
    assert_eq!(parts(&job("hook: \"pre-install,\"")), ["migrate pre-install -"]);
}

#[test]
fn hh_28_anything_but_true_forbids_variables() {
    for word in ["\"false\"", "\"no\"", "False", "off", "\"0\"", "\"\""] {
        let text = job(&format!("hook: test\nhook-env: {word}"));
        assert_eq!(filtered(&text), text);
    }
    for word in ["\"true\"", "\"True\"", "true"] {
        assert!(filtered(&job(&format!("hook: test\nhook-env: {word}"))).contains("HELM_HOOK_EVENT"));
    }
}

#[test]
fn hh_29_names_stay_on_request() {
    assert_eq!(
        parts(&job("hook: pre-install,test\nhook-name-suffix: \"False\"")),
        ["migrate pre-install 0", "migrate test 0"]
    );
}

#[test]
fn hh_30_of_our_annotations_only_hook_weights_goes() {
    let text = filtered(&job(
        "hook: pre-install,test\nhook-env: \"no\"\nhook-weights: \"1,2\"\nhook-name-suffix: \"true\"",
    ));
    assert_eq!(text.matches("helm.sh/hook-env: \"no\"").count(), 2);
    assert_eq!(text.matches("helm.sh/hook-name-suffix: \"true\"").count(), 2);
    assert!(!text.contains("hook-weights"));
}

#[test]
fn hh_31_other_annotations_are_in_every_part() {
    let text = filtered(&job(
        "hook: pre-install,test\nhook-delete-policy: hook-succeeded # soon\nhook-output-log-policy: hook-failed",
    ));
    assert_eq!(text.matches("helm.sh/hook-delete-policy: hook-succeeded # soon\n").count(), 2);
    assert_eq!(text.matches("helm.sh/hook-output-log-policy: hook-failed\n").count(), 2);
}

#[test]
fn hh_32_all_containers_get_variables_and_keep_their_own() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {helm.sh/hook: test}}\nspec:\n  initContainers:\n  - {name: i}\n  \
                containers:\n  - name: c\n    env:\n    - name: HELM_HOOK_EVENT # mine\n      value: old\n    - {name: A, value: a}\n  \
                - name: d\n    env: []\n  ephemeralContainers:\n  - name: e\n    env:\n";
    assert_eq!(
        filtered(text),
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {helm.sh/hook: test}}\nspec:\n  initContainers:\n  \
         - {name: i, env: [{name: HELM_HOOK_EVENT, value: test}, {name: HELM_HOOK_WEIGHT, value: \"0\"}]}\n  \
         containers:\n  - name: c\n    env:\n    - name: HELM_HOOK_EVENT # mine\n      value: test\n    - {name: A, value: a}\n    \
         - name: HELM_HOOK_WEIGHT\n      value: \"0\"\n  \
         - name: d\n    env: [{name: HELM_HOOK_EVENT, value: test}, {name: HELM_HOOK_WEIGHT, value: \"0\"}]\n  \
         ephemeralContainers:\n  - name: e\n    env: [{name: HELM_HOOK_EVENT, value: test}, {name: HELM_HOOK_WEIGHT, value: \"0\"}]\n"
    );
}

#[test]
fn hh_33_pods_are_found_in_whatever_makes_them() {
    for (kind, before, after) in [
        ("Pod", "{", "}"),
        ("Job", "{template: {spec: {", "}}}"),
        ("Deployment", "{template: {spec: {", "}}}"),
        ("Rollout", "{template: {spec: {", "}}}"),
        ("CronJob", "{jobTemplate: {spec: {template: {spec: {", "}}}}}"),
    ] {
        let text = format!(
            "{{apiVersion: v1, kind: {kind}, metadata: {{name: p, annotations: {{helm.sh/hook: test}}}}, spec: {before}containers: [{{name: c}}]{after}}}\n"
        );
        assert!(filtered(&text).contains("{name: c, env: [{name: HELM_HOOK_EVENT, value: test}"), "{kind}");
    }
}

#[test]
fn hh_34_a_hook_without_containers_is_split_without_variables() {
    let text = filtered(&config("hook: pre-install,test"));
    assert!(
        !text.contains("HELM_HOOK")
            && text.contains("name: c-pre-install\n")
            && text.contains("name: c-test\n")
    );
}

#[test]
fn hh_35_sixty_three_letters_are_a_plain_name() {
    let base = "a".repeat(63 - "-pre-install".len());
    let text = job("hook: pre-install,test").replace("migrate", &base);
    assert!(filtered(&text).contains(&format!("name: {base}-pre-install\n")));
}

#[test]
fn hh_36_longer_names_are_cut_and_carry_a_hash() {
    for length in [52, 60, 63, 90] {
        let base = "a-".repeat(length / 2) + "b";
        for object in objects(&filtered(&job("hook: pre-install,test").replace("migrate", &base))) {
            assert!(object.name().len() <= 63 && !object.name().contains("--"), "{}", object.name());
        }
    }
}

#[test]
fn hh_37_the_hash_is_that_of_the_original() {
    let base = "orders-service-schema-migration-runner-with-long-release-name-01";
    assert_eq!(
        parts(&job("hook: pre-install,post-rollback").replace("migrate", base)),
        [
            "orders-service-schema-migration-runner-wit-pre-install-edb1fe15 pre-install 0",
            "orders-service-schema-migration-runner-w-post-rollback-4c79bbb1 post-rollback 0"
        ]
    );
}

#[test]
fn hh_38_the_same_text_gives_the_same_bytes() {
    let text = job("hook: pre-install,test") + &config("hook: pre-install,test");
    assert_eq!(filtered(&text), filtered(&text));
}

#[test]
fn hh_39_what_is_no_yaml_is_refused_wherever_it_is() {
    let good = config("hook: pre-install,test");
    for bad in ["a: b: c\n", "a: [\n", "a: *x\n", "\ta: 1\n", "'\n"] {
        let text = format!("{good}---\n# Source: x/y.yaml\n{bad}");
        let error = error(&text);
        assert!(
            error.starts_with("parsing YAML: the document that begins on line 9 (from x/y.yaml): error converting YAML to JSON: yaml: "),
            "{error}"
        );
    }
}

#[test]
fn hh_40_anchors_comments_and_blocks_stay() {
    let text = "---\n# Source: a.yaml\n# about\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: \"c\" # the name\n  annotations:\n    \
                'helm.sh/hook': pre-install,test\ndata:\n  script: |-\n    #!/bin/sh\n\n    true\n  x: &x y\n  z: *x\n# tail\n";
    let part = |event: &str| {
        text.replace("\"c\"", &format!("\"c-{event}\""))
            .replace("pre-install,test\n", &format!("{event}\n    helm.sh/hook-weight: \"0\"\n"))
    };
    assert_eq!(filtered(text), part("pre-install") + &part("test"));
}

#[test]
fn hh_41_documents_of_comments_stay() {
    let text = format!("# only this\n---\n---\n# and this\n\n{}---\n# end", config("hook: test"));
    assert_eq!(filtered(&text), text);
}

#[test]
fn text_that_is_not_touched_stays_to_the_byte() {
    let odd = "a:   {b : 1 , 'c': \"\\x41\"}   # x\r\n\r\n\r\nd: >+\r\n  e\r\n\r\n---   \n\n\n# nothing\n--- # c\nf: &g [1,\n 2]\nh: *g";
    assert_eq!(filtered(odd), odd);
    let text = format!("{odd}\n{}--- # c\n{odd}", job("hook: pre-install,test"));
    let out = filtered(&text);
    assert!(
        out.starts_with(&format!("{odd}\n---\n# Source")) && out.ends_with(&format!("--- # c\n{odd}")),
        "{out}"
    );
}

#[test]
fn line_ends_and_the_end_of_the_text_stay() {
    let text = config("hook: pre-install,test").replace('\n', "\r\n");
    let out = filtered(&text);
    assert_eq!(out.matches('\n').count(), out.matches("\r\n").count());
    for tail in ["", "\n", "\n\n# end"] {
        let text = format!("{}{tail}", config("hook: pre-install,test").trim_end());
        assert!(filtered(&text).ends_with(&format!("data: {{a: b}}{tail}")));
    }
}

#[test]
fn the_last_text_of_a_document_stays_the_same_when_more_follows() {
    for block in ["|\n    x", "|-\n    x", ">\n    x\n    y", "|+\n    x\n\n", "|\n    x\n", "|"] {
        let text = "kind: ConfigMap\nmetadata:\n  name: c\n  annotations:\n    helm.sh/hook: pre-install,test\ndata:\n  a: ";
        filtered(&format!("{text}{block}"));
    }
}

#[test]
fn a_value_from_elsewhere_is_replaced_by_the_variable() {
    let text = "kind: Pod\nmetadata:\n  name: p\n  annotations:\n    helm.sh/hook: test\nspec:\n  containers:\n  - name: c\n    env:\n    \
                - name: HELM_HOOK_WEIGHT\n      valueFrom:\n        configMapKeyRef: {name: c, key: k}\n    - name: HELM_HOOK_EVENT\n      value: test\n    \
                - valueFrom: {}\n      name: HELM_HOOK_EVENT\n";
    assert!(filtered(text).ends_with(
        "    env:\n    - name: HELM_HOOK_WEIGHT\n      value: \"0\"\n    - name: HELM_HOOK_EVENT\n      value: test\n"
    ));
}

#[test]
fn references_follow_within_their_event() {
    let both = "hook: pre-install,pre-upgrade";
    let pod = "---\nkind: Pod\nmetadata:\n  name: p\n  annotations:\n    helm.sh/hook: pre-upgrade\nspec:\n  serviceAccountName: 'a'\n  imagePullSecrets: [{name: s}]\n  \
               volumes:\n  - configMap: {name: c} # mounted\n  - projected: {sources: [{secret: {name: s}}, {configMap: {name: c}}]}\n  - persistentVolumeClaim:\n      claimName: v\n  \
               - csi: {driver: d, nodePublishSecretRef: {name: s}}\n  \
               containers:\n  - envFrom: [{configMapRef: {name: c}}, {secretRef: {name: other}}]\n    env:\n    - name: K\n      valueFrom: {secretKeyRef: {name: s, key: k}}\n";
    let mut text = config(both);
    for (kind, name) in
        [("Secret", "s"), ("ServiceAccount", "a"), ("PersistentVolumeClaim", "v"), ("Role", "r")]
    {
        text += &config(both).replace("ConfigMap", kind).replace("name: c", &format!("name: {name}"));
    }
    text += &(config("hook: pre-install").replace("ConfigMap", "RoleBinding")
        + "subjects:\n- kind: ServiceAccount\n  name: a\n- kind: User\n  name: a\nroleRef: {kind: Role, name: r}\n");
    text += pod;
    let out = filtered(&text);
    assert!(out.contains("subjects:\n- kind: ServiceAccount\n  name: a-pre-install\n- kind: User\n  name: a\nroleRef: {kind: Role, name: r-pre-install}\n"));
    let expected = ["{name: s", "configMap: {name: c", "claimName: v", "configMapRef: {name: c"]
        .iter()
        .fold(pod.to_owned(), |pod, name| pod.replace(name, &format!("{name}-pre-upgrade")));
    let expected = expected.replace("'a'", "'a-pre-upgrade'");
    let start = out.find("---\nkind: Pod").unwrap();
    let env = "    - name: HELM_HOOK_EVENT\n      value: pre-upgrade\n    - name: HELM_HOOK_WEIGHT\n      value: \"0\"\n";
    assert_eq!(&out[start..], expected + env);
}

#[test]
fn names_that_the_cluster_makes_get_different_beginnings() {
    let text = job("hook: pre-install,test").replace("name: migrate", "generateName: migrate-");
    let out = filtered(&text);
    assert!(
        out.contains("generateName: migrate-pre-install-\n") && out.contains("generateName: migrate-test-\n"),
        "{out}"
    );
    let long = text.replace("migrate-", &"m".repeat(60));
    for object in objects(&filtered(&long)) {
        assert!(object.text(&["metadata", "generateName"]).len() <= 58);
    }
}

#[test]
fn hooks_leave_the_lists_that_hold_them() {
    let text = "---\n# Source: l.yaml\napiVersion: v1\nkind: List\nitems:\n# first\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: plain\n\
                - apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n    annotations:\n      helm.sh/hook: pre-install,test # both\n  data:\n    # kept\n    a: |\n      one\n       two\n";
    assert_eq!(
        filtered(text),
        "---\n# Source: l.yaml\napiVersion: v1\nkind: List\nitems:\n# first\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: plain\n\
         ---\n# Source: l.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c-pre-install\n  annotations:\n    helm.sh/hook: pre-install # both\n    helm.sh/hook-weight: \"0\"\ndata:\n  # kept\n  a: |\n    one\n     two\n\
         ---\n# Source: l.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c-test\n  annotations:\n    helm.sh/hook: test # both\n    helm.sh/hook-weight: \"0\"\ndata:\n  # kept\n  a: |\n    one\n     two\n"
    );
    // A list that holds only hooks is removed; lists in flow style and with anchors are split, too.
    let hook =
        "{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {helm.sh/hook: test}}, data: *d}";
    for text in [
        format!("kind: List\nx: &d {{a: b}}\nitems: [{hook}]\n"),
        format!("kind: List\nx: &d {{a: b}}\nitems: [{hook}, {{kind: A}}]\n---\na: 1"),
        "{\"kind\": \"List\", \"items\": [{\"kind\": \"A\", \"metadata\": {\"name\": \"n\", \"annotations\": {\"helm.sh/hook\": \"test,pre-install\"}}}]}".to_owned(),
    ] {
        filtered(&text);
    }
}

#[test]
fn a_list_that_is_a_hook_is_split_with_its_members() {
    let text = "apiVersion: v1\nkind: List\nmetadata:\n  annotations:\n    helm.sh/hook: pre-install,test\nitems:\n\
                - kind: ConfigMap\n  metadata: {name: c}\n- kind: Pod\n  metadata:\n    name: p\n  spec:\n    volumes: [{configMap: {name: c}}]\n    containers: [{name: m}]\n";
    let out = filtered(text);
    for expected in
        ["{name: c-pre-install}", "name: p-test", "[{configMap: {name: c-test}}]", "value: pre-install"]
    {
        assert!(out.contains(expected), "{expected} in {out}");
    }
}

#[test]
fn aliases_are_spelled_out_only_where_parts_differ() {
    let text = "apiVersion: v1\nkind: Job\nmetadata:\n  name: &name migrate\n  labels: {app: *name}\n  annotations: &notes\n    helm.sh/hook: pre-install,test\n\
                spec:\n  template:\n    metadata:\n      annotations: *notes\n    spec:\n      containers:\n      - &main\n        name: main\n        env: &env [{name: A, value: a}]\n      - <<: *main\n        name: side\n      - {name: third, env: *env}\n      args: &keep [x]\n      more: *keep\n";
    let out = filtered(text);
    assert!(
        out.contains("args: &keep [x]\n      more: *keep\n") && out.contains("labels: {app: migrate}"),
        "{out}"
    );
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let text = config("hook: pre-install,test") + &config("x: y").replace("name: c", "name: c-test");
    assert_eq!(
        error(&text),
        "processing hooks: resource \"c\" (ConfigMap) on line 1: splitting it would make a second ConfigMap named \"c-test\"; \
         rename one of them, or keep the name with `helm.sh/hook-name-suffix: \"false\"`"
    );
}

#[test]
fn errors_find_the_file_that_helm_4_notes() {
    let text = config("hook: nope").replace(
        "  annotations:\n",
        "  annotations:\n    postrenderer.helm.sh/postrender-filename: 'web/templates/c.yaml'\n",
    );
    assert!(
        error(&text)
            .contains("resource \"c\" (ConfigMap) on line 8 (from web/templates/c.yaml): `nope` is no")
    );
}

#[test]
fn filtering_twice_changes_nothing_more() {
    let once =
        filtered(&(job("hook: pre-install,test\nhook-weight: \"1,2\"") + &config("hook-weights: test=1")));
    assert_eq!(filtered(&once), once);
}

#[test]
fn many_documents_come_out_in_order() {
    let mut text = String::new();
    for number in 0..5000 {
        let hook = if number % 3 == 0 { "hook: pre-install,test" } else { "note: x" };
        text += &job(hook).replace("migrate", &format!("m{number}"));
    }
    assert!(text.len() > 1 << 20);
    filtered(&text);
}

/// The hooks of a manifest as our own operations take them.
fn native(text: &str) -> Vec<Hook> {
    let files = [("t.yaml", text)];
    let sorted = sort(&files, Order::Install).unwrap();
    let mut hooks: Vec<Hook> =
        sorted.hooks.iter().map(|hook| read(&Source::from_sorted(hook)).unwrap()).collect();
    for object in sorted.manifests.iter().filter(|object| is_hook_by_weights(&object.head)) {
        let hook = pintle_objects::Hook::from_head(object.path, object.content, &object.head);
        hooks.push(read(&Source::from_sorted(&hook)).unwrap());
    }
    hooks
}

/// The `env` lists of all containers of an object.
fn variables(object: &Object) -> Vec<Node> {
    let spec = object.at(&["spec", "template", "spec"]).or(object.at(&["spec"]));
    let containers = spec.and_then(|spec| spec.get("containers")).and_then(Node::as_list).unwrap_or_default();
    containers.iter().filter_map(|container| container.get("env").cloned()).collect()
}

#[test]
fn our_own_operations_run_the_same_objects_in_the_same_order() {
    let text = job("hook: pre-install,post-upgrade,test\nhook-weights: pre-install=-5,test=3")
        + &job("hook: test,pre-install\nhook-weight: \"7,-6\"").replace("migrate", "backup")
        + &job("hook: test\nhook-weight: \"3\"").replace("migrate", "check")
        + &job("hook: test,pre-install\nhook-env: \"false\"").replace("migrate", "quiet")
        + &config("hook: pre-install\nhook-weight: \"-5\"")
        + &config("hook-weights: \"pre-install=-5,post-delete=1\"").replace("name: c", "name: d");
    let (own, split) = (native(&text), native(&filtered(&text)));
    for event in HookEvent::ALL {
        let own = in_order(&own, event);
        let parts = in_order(&split, event);
        assert_eq!(own.len(), parts.len(), "{event:?}");
        for (own, part) in own.iter().zip(&parts) {
            assert_eq!((own.weight(event), &own.kind), (part.weight(event), &part.kind));
            let several = own.events.len() > 1;
            let name = if several { split_name(&own.name, event.as_str()) } else { own.name.clone() };
            assert_eq!(part.name, name);
            let object = object_for(own, event, EnvRule::Always);
            assert_eq!(variables(&object), variables(&part.object), "{}", part.name);
        }
    }
}
