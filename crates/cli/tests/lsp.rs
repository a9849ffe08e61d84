//! `lsp`

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use crate::support::TestEnv;

/// Messages as the protocol frames them.
fn framed(messages: &[&str]) -> String {
    messages.iter().map(|text| format!("Content-Length: {}\r\n\r\n{text}", text.len())).collect()
}

#[test]
fn a_session_on_standard_input_and_output() {
    let env = TestEnv::new();
    env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
    env.write("web/values.yaml", "image: nginx\n");
    env.write("web/templates/a.yaml", "");
    let folder = std::fs::canonicalize(env.path()).expect("the folder is there");
    let uri = format!("file://{}/web/templates/a.yaml", folder.display());
    let mut server = Command::new(env.linked("pintle"))
        .arg("lsp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let initialize = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"capabilities":{{}},"rootUri":"file://{}"}}}}"#,
        folder.display()
    );
    let open = format!(
        r#"{{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{{"textDocument":{{"uri":"{uri}","languageId":"helm","version":1,"text":"{{{{ .Values.i }}}}"}}}}}}"#
    );
    let complete = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"textDocument/completion","params":{{"textDocument":{{"uri":"{uri}"}},"position":{{"line":0,"character":12}}}}}}"#
    );
    let messages = framed(&[
        &initialize,
        r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#,
        &open,
        &complete,
        r#"{"jsonrpc":"2.0","id":3,"method":"shutdown"}"#,
        r#"{"jsonrpc":"2.0","method":"exit"}"#,
    ]);
    server.stdin.take().expect("a pipe").write_all(messages.as_bytes()).expect("the program reads");
    let mut output = String::new();
    server.stdout.take().expect("a pipe").read_to_string(&mut output).expect("text");
    assert!(server.wait().expect("the program ends").success());
    assert!(output.contains(r#""completionProvider""#), "{output}");
    assert!(output.contains(r#""label":"image""#), "{output}");
}

#[test]
fn operands_are_refused() {
    let refused = TestEnv::new().pintle("lsp web");
    assert!(refused.starts_with("exit 2"), "{refused}");
}
