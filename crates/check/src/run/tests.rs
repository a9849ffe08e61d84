//! Checks of a whole subject: what depends on several files, and how the files are provided.

use pintle_tree::{Node, json};

use super::*;

/// A Kubernetes with ConfigMaps and CRDs.
struct Small;

impl Catalog for Small {
    fn version(&self) -> String {
        "1.36.0".to_owned()
    }

    fn kinds(&self) -> Vec<Gvk> {
        vec![Gvk::new("v1", "ConfigMap"), Gvk::new("apiextensions.k8s.io/v1", "CustomResourceDefinition")]
    }

    fn definition_of(&self, kind: &Gvk) -> Option<String> {
        self.kinds().contains(kind).then(|| kind.kind.clone())
    }

    fn definition(&self, name: &str) -> Option<Node> {
        let text: &[u8] = match name {
            "ConfigMap" => br#"{"type":"object","properties":{"apiVersion":{},"kind":{},"metadata":{},"data":{"type":"object"}}}"#,
            _ => br#"{"type":"object"}"#,
        };
        json::read(text).ok()
    }

    fn refusals(&self, object: &Node) -> Vec<(String, String)> {
        let size = object.get("data").and_then(|data| data.get("size")).and_then(Node::as_str);
        (size == Some("64MB"))
            .then(|| ("data[size]".to_owned(), "not a quantity".to_owned()))
            .into_iter()
            .collect()
    }

    fn serves_group(&self, group: &str) -> bool {
        group.is_empty()
    }
}

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget}
  versions:
  - name: v1
    schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer}}}}
";

/// Texts with everything that depends on other texts: objects before the CRD of their kind, existing and missing
/// accounts, and problems of documents.
fn texts() -> Vec<String> {
    let number = |number: usize| {
        let filler = "x".repeat(PARALLEL / 3);
        format!(
            "# {filler}\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{number}}}\ndata: {number}\n---\na: [\n---\n\
             apiVersion: example.com/v1\nkind: Widget\nmetadata: {{name: w{number}}}\nsize: big\n---\n\
             apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{serviceAccountName: a{number}}}\n"
        )
    };
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a1}\n".to_owned();
    (0..5).map(number).chain([CRD.to_owned(), account]).collect()
}

fn report_of(texts: &[String], in_memory: bool, strict: bool) -> Report {
    let file = |(number, text): (usize, &String)| RenderedText {
        path: number.to_string(),
        text: in_memory.then(|| text.clone().into_bytes()),
        origins: Vec::new(),
    };
    let files: Vec<RenderedText> = texts.iter().enumerate().map(file).collect();
    let subject =
        Subject { renderings: vec![Rendering { files, ..Rendering::default() }], ..Subject::default() };
    let load = |path: &str| {
        let number: usize = path.parse().map_err(|_| "no number".to_owned())?;
        texts.get(number).map(|text| text.clone().into_bytes()).ok_or_else(|| "no text".to_owned())
    };
    let settings = Settings {
        config: &Config::default(),
        catalogs: &[&Small],
        strict,
        ignore_missing_schemas: false,
        schema_locations: &[],
        read: &|_| Ok(None),
        load: &load,
    };
    check(&subject, &settings)
}

fn report(in_memory: bool, joined: bool) -> (Vec<String>, Vec<String>) {
    let texts = if joined { vec![texts().join("---\n")] } else { texts() };
    let report = report_of(&texts, in_memory, false);
    let of_rule = ["schema", "missing-schema", "invalid-yaml", "non-existent-service-account"];
    let findings = report.findings.iter().filter(|it| of_rule.contains(&it.rule.name));
    let line = |it: &Finding| it.location.as_ref().map_or(0, |location| location.line);
    let findings = findings.map(|it| format!("{} {} {}", line(it), it.rule.name, it.message));
    let verdicts = report.verdicts.iter().map(|it| format!("{} {}", it.object, it.status.name()));
    (findings.collect(), verdicts.collect())
}

#[test]
fn the_report_is_the_same_however_texts_come() {
    let (mut findings, verdicts) = report(true, false);
    assert_eq!((findings.clone(), verdicts.clone()), report(false, false));
    let (mut joined, joined_verdicts) = report(true, true);
    assert_eq!(joined_verdicts, verdicts);
    // Only lines differ.
    let without_line = |text: &mut String| *text = text.split_once(' ').unwrap().1.to_owned();
    findings.iter_mut().for_each(without_line);
    joined.iter_mut().for_each(without_line);
    findings.sort();
    joined.sort();
    assert_eq!(findings, joined);
    let count = |rule: &str| findings.iter().filter(|it| it.starts_with(rule)).count();
    // Pods and ServiceAccounts have no schema in this Kubernetes.
    assert_eq!((count("schema"), count("invalid-yaml"), count("missing-schema")), (10, 5, 6));
    assert_eq!(count("non-existent-service-account"), 4);
    assert_eq!(verdicts.iter().filter(|it| it.starts_with("Widget") && it.ends_with("Invalid")).count(), 5);
}

/// The verdicts about a text.
fn verdicts(text: &str, strict: bool) -> String {
    let verdicts = report_of(&[text.to_owned()], true, strict).verdicts;
    let names = verdicts.iter().map(|it| format!("{}:{}", it.object.name, it.status.name()));
    names.collect::<Vec<_>>().join(" ").replace("status", "")
}

#[test]
fn what_cannot_be_decoded_is_an_error_before_its_schema_counts() {
    let of = |metadata: &str| {
        verdicts(&format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\ndata: 1\n"), false)
    };
    assert_eq!(of("{name: a}"), "a:Invalid");
    assert_eq!(of("{name: 5}"), "5:Invalid");
    assert_eq!((of("text").as_str(), of("{name: a, namespace: []}").as_str()), (":Error", "a:Error"));
    assert_eq!((of("null").as_str(), of("{namespace: true}").as_str()), (":Invalid", ":Invalid"));
    // Kinds that are not built in, too.
    assert_eq!(
        verdicts(
            &format!("{CRD}---\napiVersion: example.com/v1\nkind: Widget\nmetadata: []\nsize: 1\n"),
            false
        ),
        "widgets.example.com:Valid :Error"
    );
}

#[test]
fn documents_without_an_object_and_items_of_lists_have_the_verdicts_of_kubeconform() {
    assert_eq!(verdicts("{}\n---\nnull\n---\n# nothing\n", false), ":Error");
    let item = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}";
    assert_eq!(
        verdicts(&format!("apiVersion: v1\nkind: List\nitems: [{item}, text, null, {{}}]\n"), false),
        ":Error :Error a:Valid"
    );
    assert_eq!(verdicts("apiVersion: v1\nkind: List\n", false), "");
    assert_eq!(verdicts("apiVersion: v1\nKind: ConfigMap\n", false), ":Error");
    assert_eq!(verdicts("apiVersion: v1\nkind: List\nitems: text\n", false), "");
}

#[test]
fn a_document_with_a_key_twice_is_one_error_in_strict_mode() {
    let twice = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {}\ndata: {}\n";
    assert_eq!((verdicts(twice, false).as_str(), verdicts(twice, true).as_str()), ("a:Valid", "a:Error"));
    assert_eq!(verdicts("a: 1\na: 2\n", true), ":Error");
}

#[test]
fn what_a_server_refuses_is_found_at_its_line_and_changes_no_verdict() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  other: 1\n  size: 64MB\n";
    let report = report_of(&[text.to_owned()], true, false);
    let refused: Vec<_> = report.findings.iter().filter(|it| it.rule.name == "refused-object").collect();
    assert_eq!(refused.len(), 1);
    assert_eq!(refused[0].message, "data[size]: not a quantity");
    assert_eq!(refused[0].location.as_ref().map(|location| location.line), Some(6));
    assert_eq!(verdicts(text, false), "a:Valid");
}
