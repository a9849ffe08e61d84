//! Credentials that cannot be used, and credentials that must not be shown.

use crate::support;

use support::TestEnv;

/// An environment with a kubeconfig of a server that refuses connections.
fn env(user: &str) -> TestEnv {
    let env = TestEnv::new();
    let config = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
         contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\n\
         clusters: [{{name: a, cluster: {{server: 'https://127.0.0.1:1'}}}}]\n\
         users: [{{name: a, user: {user}}}]\n"
    );
    env.write("config.yaml", &config);
    env
}

#[test]
fn a_token_that_is_not_a_valid_header_gives_helms_error() {
    let exec = "{exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, args: [login.sh], \
                interactiveMode: Never}}";
    for user in ["{token: \"ses\\u0007ame\"}", "{token: \"ses\\name\"}", exec] {
        let env = env(user);
        let login = r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"ses\u0007ame"}}'"#;
        env.write("login.sh", login);
        let wanted =
            "Get \"https://127.0.0.1:1/version\": net/http: invalid header field value for \"Authorization\"";
        for name in ["pintle", "helm"] {
            let shown = env.called(name, "list --kubeconfig config.yaml", &[]);
            assert!(shown.starts_with("exit 1") && shown.contains(wanted), "{user}: {shown}");
            assert!(!shown.contains("internal error") && !shown.contains("ame"), "{user}: {shown}");
            assert_eq!(shown.contains("control characters"), name == "pintle", "{shown}");
        }
    }
}

#[test]
fn a_password_in_an_address_is_not_shown() {
    let env = env("{}");
    for name in ["pintle", "helm"] {
        for (line, printed) in [
            ("list --kube-apiserver https://me:secret@127.0.0.1:1", "https://me:***@127.0.0.1:1/version"),
            (
                "list --debug --kube-apiserver http://me:secret@127.0.0.1:1",
                "http://me:***@127.0.0.1:1/version",
            ),
            ("list --kube-apiserver ftp://me:secret@host", "***@host"),
            ("template https://me:secret@host/chart.tgz", "https://me:***@host/chart.tgz"),
            ("template web -f https://me:secret@host/values.yaml", "https://me:***@host/values.yaml"),
        ] {
            env.write("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
            let shown = env.called(name, line, &[]);
            assert!(!shown.contains("secret") && shown.contains(printed), "{name} {line}: {shown}");
        }
    }
}
