//! `schema`

use crate::support;

use insta::assert_snapshot;
use support::{TestEnv, chart};

#[test]
fn a_derived_schema_matches_its_values() {
    let env = TestEnv::new();
    chart::write(&env);
    assert_snapshot!(env.pintle("schema derive web"), @r#"
    exit 0
    --- stdout
    {
      "$schema": "http://json-schema.org/draft-07/schema#",
      "properties": {
        "greeting": {
          "default": "hello",
          "type": "string"
        },
        "list": {
          "items": {
            "type": "string"
          },
          "type": "array"
        },
        "nested": {
          "properties": {
            "port": {
              "default": 80,
              "type": "integer"
            }
          },
          "type": "object"
        }
      },
      "type": "object"
    }
    "#);
    assert_snapshot!(env.pintle("schema derive web -o yaml"), @"
    exit 0
    --- stdout
    $schema: http://json-schema.org/draft-07/schema#
    properties:
      greeting:
        default: hello
        type: string
      list:
        items:
          type: string
        type: array
      nested:
        properties:
          port:
            default: 80
            type: integer
        type: object
    type: object
    ");
    assert_snapshot!(env.pintle("schema derive web --output xml"), @"
    exit 2
    --- stderr
    error: invalid format `xml`: must be one of json, yaml
    ");
}

#[test]
fn a_schema_reads_no_file_outside_the_chart() {
    let env = TestEnv::new();
    chart::write(&env);
    env.write("secret.json", "{\"type\": \"integer\"}");
    let outside = env.path().join("secret.json").display().to_string();
    for name in ["pintle", "helm"] {
        for (reference, printed) in [
            (format!("file://{outside}"), "schemas do not read files outside the chart"),
            ("file:///etc/passwd".to_owned(), "schemas do not read files outside the chart"),
            // A relative reference is resolved against the root of the file system, as in Helm.
            ("part.json".to_owned(), "open /part.json: no such file or directory"),
        ] {
            let schema = format!("{{\"properties\": {{\"greeting\": {{\"$ref\": \"{reference}\"}}}}}}");
            env.write("web/values.schema.json", &schema);
            for command in ["template a web", "lint web"] {
                let shown = env.called(name, command, &[]);
                assert!(shown.contains(printed) && !shown.contains("exit 0"), "{name} {command}: {shown}");
                assert!(!shown.contains("want integer") && !shown.contains("root:"), "{shown}");
            }
        }
        let inside = "{\"properties\": {\"greeting\": {\"$ref\": \"#/definitions/t\"}}, \
                      \"definitions\": {\"t\": {\"type\": \"string\"}}}";
        env.write("web/values.schema.json", inside);
        assert!(env.called(name, "template a web", &[]).contains("exit 0"));
    }
}

#[test]
fn values_that_violate_the_schema_are_reported() {
    let env = TestEnv::new();
    chart::write(&env);
    env.write("web/values.schema.json", "{\"properties\": {\"greeting\": {\"type\": \"string\"}}}");
    assert_snapshot!(env.pintle("schema check web"), @"
    exit 0
    --- stdout
    The values match the schema.
    ");
    assert_snapshot!(env.pintle("schema check web --set greeting=1"), @"
    exit 2
    --- stderr
    error: the values do not fit the chart's `values.schema.json`
      `greeting`: got number, want string
        set by --set greeting=1

    hint: change them there; `--skip-schema-validation` does not check
    ");
}

#[test]
fn schema_comments_count_and_a_schema_can_be_checked() {
    let env = TestEnv::new();
    env.write("a/Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n");
    env.write("a/values.yaml", "tag: x # @schema type:[string, null]; required\n");
    env.write("a/templates/a.yaml", "{{ .Values.image.name }}{{ range .Values.list }}{{ .x }}{{ end }}");
    let derived = env.pintle("schema derive a --from-templates");
    assert_snapshot!(derived, @r#"
    exit 0
    --- stdout
    {
      "$schema": "http://json-schema.org/draft-07/schema#",
      "properties": {
        "image": {
          "properties": {
            "name": {}
          }
        },
        "list": {},
        "tag": {
          "default": "x",
          "type": [
            "string",
            "null"
          ]
        }
      },
      "required": [
        "tag"
      ],
      "type": "object"
    }
    "#);
    assert!(env.pintle("schema derive a --check").contains("a/values.schema.json is not up to date"));
    let (_, text) = derived.split_once("--- stdout\n").expect("a schema");
    env.write("a/values.schema.json", text);
    assert_eq!(env.pintle("schema derive a --check --from-templates"), "exit 0\n");
}
