//! Values that charts rarely have, in functions that were not made for them: what Helm 4.2.4 made of the same templates.

use pintle_chart::{File, load_files};
use pintle_render::{Capabilities, Release, Target, render};
use pintle_tree::Map;

/// Renders one template in a chart with two files, one of them empty.
fn rendered(template: &str) -> Result<String, String> {
    let files = vec![
        File::new("Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n"),
        File::new("a", b"ab\xff".to_vec()),
        File::new("e", Vec::new()),
        File::new("templates/a.yaml", template.as_bytes().to_vec()),
    ];
    let chart = load_files(files).map_err(|error| error.to_string())?;
    let release = Release { name: "r".into(), namespace: "default".into(), revision: 1, is_upgrade: false };
    let target = Target::offline(release, Capabilities::default());
    let rendered = render(&chart, &Map::new(), &target).map_err(|error| error.to_string())?;
    let text = rendered.files.into_iter().next().map(|file| file.text).unwrap_or_default();
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn all_render(cases: &[(&str, &str)]) {
    for (template, expected) in cases {
        assert_eq!(rendered(template).as_deref(), Ok(*expected), "{template}");
    }
}

#[test]
fn a_file_that_is_not_there_is_a_nil_slice_of_bytes() {
    all_render(&[
        ("{{ .Files.missing }}", "[]"),
        ("{{ toJson .Files.missing }}", "null"),
        ("{{ toYaml .Files.missing }}", "null"),
        (r#"{{ toPrettyJson (dict "a" .Files.missing) }}"#, "{\n  \"a\": null\n}"),
        (r#"{{ toYaml (dict "a" .Files.missing) }}"#, "a: null"),
        ("{{ toYamlPretty .Files.missing }}", "[]"),
        (r#"{{ toToml (dict "a" .Files.missing) }}"#, ""),
        ("{{ eq .Files.missing nil }}", "true"),
        ("{{ ne nil .Files.missing }}", "false"),
        (
            r#"{{ printf "%v %s %x %q %d %#v %T" .Files.missing .Files.missing .Files.missing .Files.missing .Files.missing .Files.missing .Files.missing }}"#,
            r#"[]   "" [] []byte(nil) []uint8"#,
        ),
        (r#"{{ printf "%#v" (list .Files.missing) }}"#, "[]interface {}{[]uint8(nil)}"),
        (r#"{{ default "d" .Files.missing }}"#, "d"),
        ("{{ len .Files.missing }}", "0"),
        ("{{ range .Files.missing }}x{{ else }}none{{ end }}", "none"),
        ("{{ kindOf .Files.missing }} {{ typeOf .Files.missing }}", "slice []uint8"),
        (
            r#"{{ deepEqual .Files.missing (.Files.GetBytes "x") }} {{ deepEqual .Files.missing .Files.other }}"#,
            "false true",
        ),
        (r#"{{ toJson (.Files.GetBytes "x") }}"#, r#""""#),
        ("{{ first .Files.missing }}", ""),
        ("{{ concat (list 1) .Files.missing | toJson }}", "[1]"),
        ("{{ deepCopy .Files.missing | toJson }}", "null"),
        (r#"{{ index .Files "missing" | toJson }}"#, "null"),
        (
            r#"{{ join "," .Files.missing }}|{{ empty .Files.missing }}|{{ not .Files.missing }}"#,
            "|true|true",
        ),
    ]);
}

#[test]
fn times_versions_nil_maps_and_complex_numbers_are_written_as_go_writes_them() {
    all_render(&[
        (r#"{{ toYamlPretty (list (toDate "2006-01-02" "2020-01-02")) }}"#, "- 2020-01-02T00:00:00Z"),
        (r#"{{ fromToml "a = 1979-05-27T07:32:00Z" | toYamlPretty }}"#, "a: 1979-05-27T07:32:00Z"),
        (
            r#"{{ fromToml "a = 1979-05-27T07:32:00Z" | printf "%#v" }}"#,
            r#"map[string]interface {}{"a":time.Date(1979, time.May, 27, 7, 32, 0, 0, time.UTC)}"#,
        ),
        (
            "{{ toToml 1i }}|{{ toToml (list 1i) }}",
            "unsupported type for key '': complex128|unsupported type: complex128",
        ),
        ("{{ toYaml 1i }}|", "|"),
        (r#"{{ deepCopy (list (semver "1.2.3-a+b")) }}"#, "[0.0.0]"),
        (
            r#"{{ merge nil | toJson }} {{ merge nil (dict) | toJson }} {{ mergeOverwrite nil nil | toJson }} {{ merge nil (dict "a" 1) | toJson }}"#,
            r#"null {} null {"a":1}"#,
        ),
        (r#"{{ printf "%#v" .Files }}"#, r#"engine.files{"a":[]uint8{0x61, 0x62, 0xff}, "e":[]uint8{}}"#),
    ]);
}

#[test]
fn what_go_refuses_is_refused_in_its_words() {
    let cases = [
        (
            "{{ toString .Files.missing }}|{{ quote .Files.missing }}|{{ .Files.missing | upper }}",
            "wrong type for value; expected string; got []uint8",
        ),
        ("{{ b64enc .Files.missing }}", "wrong type for value; expected string; got []uint8"),
        ("{{ mustToToml 1i }}", "error calling mustToToml: unsupported type for key '': complex128"),
        (
            "{{ mustToYaml (list 1i) }}",
            "error calling mustToYaml: error marshaling into JSON: json: unsupported type: complex128",
        ),
        ("{{ toYamlPretty 1i }}", "error calling toYamlPretty: cannot marshal type: complex128"),
    ];
    for (template, expected) in cases {
        let error = rendered(template).expect_err(template);
        assert!(error.ends_with(expected), "{template}: {error}");
    }
}

#[test]
fn dates_and_times_of_toml_are_times() {
    let document = r"a = 1979-05-27T07:32:00-07:00\nb = 1979-05-27\nc = 07:32:00.5\nd = 1979-05-27T07:32:00.999999999\ne = 1979-05-27T07:32:00Z";
    let cases = [
        (
            "{{ fromToml $doc }}",
            "map[a:1979-05-27 07:32:00 -0700 -0700 b:1979-05-27 00:00:00 +0000 date-local c:0000-01-01 07:32:00.5 +0000 time-local d:1979-05-27 07:32:00.999999999 +0000 datetime-local e:1979-05-27 07:32:00 +0000 UTC]",
        ),
        (
            "{{ fromToml $doc | toToml }}",
            "a = 1979-05-27T07:32:00-07:00\nb = 1979-05-27\nc = 07:32:00.5\nd = 1979-05-27T07:32:00.999999999\ne = 1979-05-27T07:32:00Z\n",
        ),
        (
            "{{ fromToml $doc | toJson }}",
            "{\"a\":\"1979-05-27T07:32:00-07:00\",\"b\":\"1979-05-27T00:00:00Z\",\"c\":\"0000-01-01T07:32:00.5Z\",\"d\":\"1979-05-27T07:32:00.999999999Z\",\"e\":\"1979-05-27T07:32:00Z\"}",
        ),
        (
            "{{ (fromToml $doc).a.Year }} {{ (fromToml $doc).b.Weekday }} {{ (fromToml $doc).a.UTC.Hour }}",
            "1979 Sunday 14",
        ),
        ("{{ (fromToml $doc).e | date \"2006\" }}", "1979"),
        (
            "{{ fromToml $doc | toYamlPretty }}",
            "a: 1979-05-27T07:32:00-07:00\nb: 1979-05-27T00:00:00Z\nc: 0000-01-01T07:32:00.5Z\nd: 1979-05-27T07:32:00.999999999Z\ne: 1979-05-27T07:32:00Z",
        ),
    ];
    for (template, expected) in cases {
        let template = format!("{{{{ $doc := \"{document}\" }}}}{template}");
        assert_eq!(rendered(&template).as_deref(), Ok(expected), "{template}");
    }
}
