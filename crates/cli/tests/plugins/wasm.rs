//! Plugins of the runtime `extism/v1`, as modules that the tests write.

use insta::assert_snapshot;

use crate::support::TestEnv;

const PLUGINS: &str = ".local/share/helm/plugins";

/// What all modules begin with: functions of Extism and of WASI, and a page of memory.
const HEAD: &str = r#"
(import "extism:host/env" "input_offset" (func $input_offset (result i64)))
(import "extism:host/env" "input_length" (func $input_length (result i64)))
(import "extism:host/env" "load_u8" (func $load (param i64) (result i32)))
(import "extism:host/env" "store_u8" (func $store (param i64 i32)))
(import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
(import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
(import "extism:host/env" "error_set" (func $error_set (param i64)))
(import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
(memory (export "memory") 1)
;; Copies bytes of the memory to a block of Extism's.
(func $block (param $at i32) (param $length i32) (result i64)
  (local $to i64) (local $index i32)
  (local.set $to (call $alloc (i64.extend_i32_u (local.get $length))))
  (loop $next
    (call $store (i64.add (local.get $to) (i64.extend_i32_u (local.get $index)))
                 (i32.load8_u (i32.add (local.get $at) (local.get $index))))
    (local.set $index (i32.add (local.get $index) (i32.const 1)))
    (br_if $next (i32.lt_u (local.get $index) (local.get $length))))
  (local.get $to))
"#;

/// Replaces `@` by `X` in the message, and returns it.
const REPLACE: &str = r#"
(func (export "helm_plugin_main") (result i32)
  (local $at i64) (local $end i64)
  (local.set $at (call $input_offset))
  (local.set $end (i64.add (local.get $at) (call $input_length)))
  (loop $next
    (if (i32.eq (call $load (local.get $at)) (i32.const 64))
      (then (call $store (local.get $at) (i32.const 88))))
    (local.set $at (i64.add (local.get $at) (i64.const 1)))
    (br_if $next (i64.lt_u (local.get $at) (local.get $end))))
  (call $output_set (call $input_offset) (call $input_length))
  (i32.const 0))
"#;

/// A module that returns a message, which must have no quotes or backslashes that are not escaped.
fn returns(message: &str) -> String {
    let length = message.replace("\\22", "\"").len();
    format!(
        r#"(data (i32.const 0) "{message}")
        (func (export "helm_plugin_main") (result i32)
          (call $output_set (call $block (i32.const 0) (i32.const {length})) (i64.const {length}))
          (i32.const 0))"#
    )
}

fn plugin(env: &TestEnv, name: &str, kind: &str, config: &str, module: &str) {
    env.write(
        &format!("{PLUGINS}/{name}/plugin.yaml"),
        &format!(
            "apiVersion: v1\nname: {name}\nversion: 0.1.0\ntype: {kind}/v1\nruntime: extism/v1\n{config}"
        ),
    );
    let module = wat::parse_str(format!("(module {HEAD} {module})")).unwrap();
    std::fs::write(env.path().join(format!("{PLUGINS}/{name}/plugin.wasm")), module).unwrap();
}

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n")
        .write("web/values.yaml", "name: plain\n")
        .write(
            "web/templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.name }}\ndata:\n  mail: me@example.com\n  quote: \"a\\\"b\"\n",
        );
    env
}

#[test]
fn a_post_renderer_in_webassembly_gets_its_input() {
    let env = env();
    plugin(&env, "replace", "postrenderer", "", REPLACE);
    let rendered = env.pintle("template web --post-renderer replace");
    assert_snapshot!(rendered, @r#"
    exit 0
    --- stdout
    ---
    # Source: web/templates/a.yaml
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: plain
    data:
      mail: meXexample.com
      quote: "a\"b"
    "#);
    assert_eq!(env.helm("template web --post-renderer replace"), rendered);
    // Base64 is accepted, too, and empty output is an error.
    let message = r"{\22manifests\22:\22YXBpVmVyc2lvbjogdjEKa2luZDogU2VjcmV0Cm1ldGFkYXRhOiB7bmFtZTogeH0K\22}";
    plugin(&env, "base", "postrenderer", "", &returns(message));
    assert!(env.pintle("template web --post-renderer base").contains("kind: Secret"));
    plugin(&env, "empty", "postrenderer", "", &returns("{}"));
    let empty = env.pintle("template web --post-renderer empty");
    assert!(empty.contains("post-renderer \"empty\" produced empty output"), "{empty}");
}

#[test]
fn a_getter_in_webassembly_fetches_values() {
    let env = env();
    let message = r"{\22data\22:\22bmFtZTogZnJvbS13YXNtCg==\22}";
    plugin(&env, "get", "getter", "config:\n  protocols: [demo]\n", &returns(message));
    let rendered = env.helm("template web -f demo://host/values.yaml");
    assert!(rendered.contains("name: from-wasm"), "{rendered}");
    plugin(&env, "get", "getter", "config:\n  protocols: [demo]\n", &returns(r"{\22data\22:\22a b\22}"));
    let wrong = env.pintle("template web -f demo://host/values.yaml");
    assert!(wrong.contains("whose field `data` is not base64"), "{wrong}");
}

#[test]
fn a_command_in_webassembly_has_arguments_streams_and_an_exit_code() {
    let env = env();
    let module = r#"
    (func (export "helm_plugin_main") (result i32)
      (local $index i32)
      (loop $next
        (i32.store8 (i32.add (i32.const 100) (local.get $index))
          (call $load (i64.add (call $input_offset) (i64.extend_i32_u (local.get $index)))))
        (local.set $index (i32.add (local.get $index) (i32.const 1)))
        (br_if $next (i64.lt_u (i64.extend_i32_u (local.get $index)) (call $input_length))))
      (i32.store (i32.const 0) (i32.const 100))
      (i32.store (i32.const 4) (local.get $index))
      (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
      (i32.const 3))
    "#;
    plugin(&env, "say", "cli", "", module);
    assert_snapshot!(env.pintle("say a -n ns 'b c'"), @r#"
    exit 3
    --- stdout
    {"extraArgs":["a","b c"]}<no line break>
    --- stderr
    error: the plugin `say` failed with exit code 3
    "#);
}

#[test]
fn modules_that_misbehave_are_told() {
    let env = env();
    let spin = "(func (export \"helm_plugin_main\") (loop $l (br $l)))";
    plugin(&env, "spin", "cli", "runtimeConfig:\n  timeout: 100\n", spin);
    let stopped = env.pintle("spin");
    assert!(stopped.starts_with("exit 1") && stopped.contains("did not end within 100ms"), "{stopped}");
    plugin(
        &env,
        "report",
        "cli",
        "",
        "(data (i32.const 0) \"bad day\") (func (export \"helm_plugin_main\") (call $error_set (call $block (i32.const 0) (i32.const 7))))",
    );
    assert_snapshot!(env.helm("report"), @"
    exit 1
    --- stderr
    Error: plugin error: bad day
    ");
    env.write(&format!("{PLUGINS}/spin/plugin.wasm"), "#!/bin/sh\n");
    let none = env.pintle("spin");
    assert!(none.contains("the module cannot be loaded"), "{none}");
    plugin(&env, "magic", "cli", "runtimeConfig:\n  hostFunctions: [magic]\n", &returns("{}"));
    let magic = env.helm("magic");
    assert!(magic.contains("plugin requested host function \"magic\" not found"), "{magic}");
}
