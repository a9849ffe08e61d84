//! Modules that use what they are given, and modules that misbehave.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on is to stop")]

use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pintle_wasm::{Error, Host, HttpRequest, HttpResponse, Level, Returned, Settings, Stream, call};

/// What a module wrote.
#[derive(Clone, Default)]
struct Recorder {
    out: Arc<Mutex<Vec<u8>>>,
    logged: Arc<Mutex<Vec<(Level, String)>>>,
    asked: Arc<Mutex<Vec<HttpRequest>>>,
}

impl Host for Recorder {
    fn variables(&self) -> Vec<(String, String)> {
        vec![("NAME".to_owned(), "value".to_owned())]
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer[..5].copy_from_slice(b"stdin");
        Ok(5)
    }

    fn write(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        assert_eq!(stream, Stream::Out);
        self.out.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }

    fn fetch(&mut self, request: &HttpRequest) -> Result<HttpResponse, String> {
        self.asked.lock().unwrap().push(request.clone());
        Ok(HttpResponse { status: 203, body: b"answer".to_vec(), ..HttpResponse::default() })
    }

    fn log_level(&self) -> Option<Level> {
        Some(Level::Info)
    }

    fn log(&mut self, level: Level, text: &str) {
        self.logged.lock().unwrap().push((level, text.to_owned()));
    }
}

/// A module with one page of memory, functions of Extism and WASI, and a function `helm_plugin_main` with this body.
fn module(body: &str) -> Vec<u8> {
    let extism = [
        ("input_offset", "(result i64)"),
        ("input_length", "(result i64)"),
        ("alloc", "(param i64) (result i64)"),
        ("free", "(param i64)"),
        ("length", "(param i64) (result i64)"),
        ("load_u8", "(param i64) (result i32)"),
        ("store_u8", "(param i64 i32)"),
        ("store_u64", "(param i64 i64)"),
        ("output_set", "(param i64 i64)"),
        ("error_set", "(param i64)"),
        ("config_get", "(param i64) (result i64)"),
        ("var_get", "(param i64) (result i64)"),
        ("var_set", "(param i64 i64)"),
        ("http_request", "(param i64 i64) (result i64)"),
        ("http_status_code", "(result i32)"),
        ("log_info", "(param i64)"),
        ("log_debug", "(param i64)"),
    ];
    let wasi = [
        ("fd_write", "(param i32 i32 i32 i32) (result i32)"),
        ("fd_read", "(param i32 i32 i32 i32) (result i32)"),
        ("environ_sizes_get", "(param i32 i32) (result i32)"),
        ("environ_get", "(param i32 i32) (result i32)"),
        ("fd_prestat_get", "(param i32 i32) (result i32)"),
        ("path_open", "(param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)"),
        ("proc_exit", "(param i32)"),
    ];
    let import = |module: &str, (name, signature): &(&str, &str)| {
        format!("(import \"{module}\" \"{name}\" (func ${name} {signature}))\n")
    };
    let imports: String = extism.iter().map(|function| import("extism:host/env", function)).collect();
    let more: String = wasi.iter().map(|function| import("wasi_snapshot_preview1", function)).collect();
    let text = format!(
        "(module {imports} {more} (memory (export \"memory\") 1)
           (data (i32.const 100) \"hello\")
           (data (i32.const 200) \"{{\\22url\\22:\\22http://allowed.example/x\\22,\\22method\\22:\\22post\\22}}\")
           ;; A block of Extism's with bytes of the memory.
           (func $block (param $at i32) (param $length i32) (result i64)
             (local $to i64) (local $index i32)
             (local.set $to (call $alloc (i64.extend_i32_u (local.get $length))))
             (loop $next
               (call $store_u8
                 (i64.add (local.get $to) (i64.extend_i32_u (local.get $index)))
                 (i32.load8_u (i32.add (local.get $at) (local.get $index))))
               (local.set $index (i32.add (local.get $index) (i32.const 1)))
               (br_if $next (i32.lt_u (local.get $index) (local.get $length))))
             (local.get $to))
           (func (export \"helm_plugin_main\") (result i32) (local $a i64) {body}))"
    );
    wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run_with(body: &str, settings: &Settings) -> (Result<Returned, Error>, Recorder) {
    let recorder = Recorder::default();
    let returned = call(&module(body), settings, Box::new(recorder.clone()), b"{\"a\":1}");
    (returned, recorder)
}

fn run(body: &str) -> (Result<Returned, Error>, Recorder) {
    run_with(body, &Settings::default())
}

#[test]
fn messages_come_in_and_go_out() {
    let (returned, _) = run("(call $output_set (call $input_offset) (call $input_length)) (i32.const 7)");
    assert_eq!(returned, Ok(Returned { code: 7, output: b"{\"a\":1}".to_vec() }));
    let (returned, _) = run("(call $error_set (call $block (i32.const 100) (i32.const 5))) (i32.const 1)");
    assert_eq!(returned, Err(Error::Reported("hello".to_owned())));
    let (returned, _) = run("(call $proc_exit (i32.const 3)) (i32.const 0)");
    assert_eq!(returned, Ok(Returned { code: 3, output: Vec::new() }));
}

#[test]
fn settings_variables_and_logs_work() {
    let config = [("hello".to_owned(), "world".to_owned())].into();
    let settings = Settings { config, ..Settings::default() };
    let (returned, recorder) = run_with(
        "(local.set $a (call $config_get (call $block (i32.const 100) (i32.const 5))))
         (call $var_set (call $block (i32.const 100) (i32.const 1)) (local.get $a))
         (local.set $a (call $var_get (call $block (i32.const 100) (i32.const 1))))
         (call $output_set (local.get $a) (call $length (local.get $a)))
         (call $log_debug (call $block (i32.const 100) (i32.const 4)))
         (call $log_info (call $block (i32.const 100) (i32.const 5)))
         (i32.wrap_i64 (call $config_get (call $block (i32.const 100) (i32.const 4))))",
        &settings,
    );
    assert_eq!(returned, Ok(Returned { code: 0, output: b"world".to_vec() }));
    assert_eq!(*recorder.logged.lock().unwrap(), [(Level::Info, "hello".to_owned())]);
    let small = Settings { max_variable_bytes: 10, ..settings };
    let body = "(call $var_set (call $block (i32.const 100) (i32.const 1)) (call $block (i32.const 100) (i32.const 5)))
                (i32.const 0)";
    assert_eq!(run_with(body, &small).0, Err(Error::Trap("Variable store is full".to_owned())));
}

#[test]
fn streams_and_the_environment_are_those_of_the_host() {
    let (returned, recorder) = run("(i32.store (i32.const 0) (i32.const 100))
         (i32.store (i32.const 4) (i32.const 5))
         (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
         (drop (call $environ_sizes_get (i32.const 16) (i32.const 20)))
         (drop (call $environ_get (i32.const 300) (i32.const 400)))
         (i32.store (i32.const 0) (i32.const 400))
         (i32.store (i32.const 4) (i32.sub (i32.load (i32.const 20)) (i32.const 1)))
         (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
         (i32.store (i32.const 4) (i32.const 50))
         (drop (call $fd_read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
         (i32.store (i32.const 4) (i32.load (i32.const 8)))
         (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))
         (i32.load (i32.const 16))");
    assert_eq!(returned, Ok(Returned { code: 1, output: Vec::new() }));
    assert_eq!(String::from_utf8_lossy(&recorder.out.lock().unwrap()), "helloNAME=valuestdin");
}

#[test]
fn files_exist_only_if_the_manifest_asks_for_them() {
    let body = "(call $path_open (i32.const 3) (i32.const 0) (i32.const 100) (i32.const 5) (i32.const 1)
                (i64.const 0) (i64.const 0) (i32.const 0) (i32.const 0))";
    assert_eq!(run(body).0.unwrap().code, 8, "a bad descriptor");
    let settings = Settings { temporary_files: true, ..Settings::default() };
    assert_eq!(run_with(body, &settings).0.unwrap().code, 0);
    assert_eq!(run("(call $fd_prestat_get (i32.const 3) (i32.const 0))").0.unwrap().code, 8);
}

#[test]
fn http_goes_to_hosts_of_the_manifest_only() {
    let body =
        "(local.set $a (call $http_request (call $block (i32.const 200) (i32.const 50)) (i64.const 0)))
                (call $output_set (local.get $a) (call $length (local.get $a)))
                (call $http_status_code)";
    let (returned, recorder) = run(body);
    let text = "HTTP request to 'http://allowed.example/x' is not allowed";
    assert_eq!(returned, Err(Error::Trap(text.to_owned())));
    assert!(recorder.asked.lock().unwrap().is_empty());
    let settings = Settings { allowed_hosts: vec!["*.example".to_owned()], ..Settings::default() };
    let (returned, recorder) = run_with(body, &settings);
    assert_eq!(returned, Ok(Returned { code: 203, output: b"answer".to_vec() }));
    assert_eq!(recorder.asked.lock().unwrap()[0].method, "POST");
}

#[test]
fn modules_that_misbehave_are_stopped() {
    let settings = Settings { timeout: Duration::from_millis(200), ..Settings::default() };
    let start = Instant::now();
    assert_eq!(
        run_with("(loop $l (br $l)) (i32.const 0)", &settings).0,
        Err(Error::Timeout(settings.timeout))
    );
    assert!(start.elapsed() < Duration::from_secs(60));
    let trap = |body: &str| match run(body).0 {
        Err(Error::Trap(text)) => text,
        other => panic!("{body}: {other:?}"),
    };
    assert!(trap("unreachable").contains("unreachable"));
    assert!(trap("(i32.load (i32.const 70000))").contains("out of bounds"));
    assert_eq!(trap("(drop (call $alloc (i64.const -1))) (i32.const 0)"), "out of memory");
    assert_eq!(
        trap("(call $output_set (i64.const 1) (i64.const -1)) (i32.const 0)"),
        "its output is not in memory"
    );
    assert!(trap("(call $store_u64 (i64.const -3) (i64.const 0)) (i32.const 0)").contains("no memory at"));
    // `memory.grow` beyond the limit returns -1 and has no other effect.
    let small = Settings { max_pages: 2, ..Settings::default() };
    assert_eq!(run_with("(memory.grow (i32.const 100))", &small).0.unwrap().code, u32::MAX);
    // Out-of-bounds pointers are errors of the call, not of the host.
    assert_eq!(
        run("(call $fd_write (i32.const 1) (i32.const -8) (i32.const 1) (i32.const 0))").0.unwrap().code,
        21
    );
    assert_eq!(
        run("(call $fd_write (i32.const 1) (i32.const 0) (i32.const -1) (i32.const 0))").0.unwrap().code,
        28
    );
}

#[test]
fn what_is_no_plugin_is_refused_with_the_reason() {
    let load = |bytes: &[u8]| {
        let settings = Settings { entry: "main".to_owned(), ..Settings::default() };
        call(bytes, &settings, Box::new(Recorder::default()), b"").unwrap_err().to_string()
    };
    let wat = |text: &str| load(&wat::parse_str(text).unwrap());
    assert!(load(b"#!/bin/sh\n").starts_with("the module cannot be loaded: "));
    assert!(load(b"").starts_with("the module cannot be loaded: "));
    assert_eq!(wat("(module)"), "unknown function: main");
    assert_eq!(
        wat("(module (func (export \"main\") (param i32)))"),
        "function main has 1 parameters, expected none"
    );
    assert_eq!(
        wat("(module (func (export \"main\") (result i32 i32) (i32.const 0) (i32.const 0)))"),
        "function main has 2 results, expected 0 or 1"
    );
    let missing = wat("(module (import \"helm\" \"magic\" (func)) (func (export \"main\")))");
    assert!(missing.ends_with("it asks for (helm,magic), which does not exist here"), "{missing}");
    // Without memory, WASI has nowhere to write to.
    let text =
        "(module (import \"wasi_snapshot_preview1\" \"random_get\" (func $r (param i32 i32) (result i32)))
                (func (export \"main\") (result i32) (call $r (i32.const 0) (i32.const 8))))";
    let settings = Settings { entry: "main".to_owned(), ..Settings::default() };
    let returned = call(&wat::parse_str(text).unwrap(), &settings, Box::new(Recorder::default()), b"");
    assert_eq!(returned.unwrap().code, 21);
}
