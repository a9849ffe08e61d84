//! `schema`

use crate::support;

use insta::assert_snapshot;
use support::{Place, chart};

#[test]
fn a_derived_schema_fits_its_values() {
    let place = Place::new();
    chart::write(&place);
    assert_snapshot!(place.pintle("schema derive web"), @r#"
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
    assert_snapshot!(place.pintle("schema derive web -o yaml"), @"
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
    assert_snapshot!(place.pintle("schema derive web --output xml"), @"
    exit 2
    --- stderr
    error: invalid format `xml`: must be one of json, yaml
    ");
}

#[test]
fn values_that_do_not_fit_are_named() {
    let place = Place::new();
    chart::write(&place);
    place.write("web/values.schema.json", "{\"properties\": {\"greeting\": {\"type\": \"string\"}}}");
    assert_snapshot!(place.pintle("schema check web"), @"
    exit 0
    --- stdout
    The values fit the schema.
    ");
    assert_snapshot!(place.pintle("schema check web --set greeting=1"), @"
    exit 2
    --- stderr
    error: values don't meet the specifications of the schema(s) in the following chart(s):
    web:
    - at '/greeting': got number, want string
    ");
}
