//! Two tenants with real RBAC: whatever a request of one names (a namespace, an object, a file, a URL, an expression, a template, a
//! script), nothing of the other is read or written. The controller itself has all rights here, so that anything which is done
//! with its rights instead of those of the request shows.
//!
//! A probe is a request in the namespace of the attacker, who has all rights in that namespace and none outside. After all probes
//! no object there has the victim's secret, and the objects of the victim are as they were. To add a probe, add a line.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pintle_e2e::{Program, TestEnv, needs_real};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Controller, condition, prepare, publish_as, until};

const RBAC: &str = "rbac.authorization.k8s.io/v1";
/// What the attacker must never see. No probe has it.
const MARKER: &str = "tr0ub4dor-and-3";
/// The kinds that are compared and searched.
const KINDS: [(&str, &str); 12] = [
    ("v1", "configmaps"),
    ("v1", "secrets"),
    ("v1", "services"),
    ("v1", "serviceaccounts"),
    ("v1", "pods"),
    ("v1", "events"),
    ("batch/v1", "jobs"),
    (RBAC, "roles"),
    (RBAC, "rolebindings"),
    ("helm.sh/v3", "helmrequests"),
    ("helm.sh/v3", "releases"),
    ("helm.sh/v3", "releaseversions"),
];

/// A request of the attacker.
struct Probe {
    name: String,
    spec: Value,
}

/// A web server that stands where only the controller should reach it. Whatever is asked, the answer has the marker.
struct Internal {
    address: String,
}

impl Internal {
    fn start(secret_file: &Path) -> Internal {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        let index = index(secret_file);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that goes away is no matter.
                let _ = answer(stream, &index);
            }
        });
        Internal { address }
    }
}

fn answer(mut stream: TcpStream, index: &str) -> std::io::Result<()> {
    let mut buffer = [0; 4096];
    let read = stream.read(&mut buffer)?;
    let head = String::from_utf8_lossy(&buffer[..read]).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default();
    let (code, body) = match path {
        "/index.yaml" => (200, index.to_owned()),
        path if path.starts_with("/ok") => (200, internal_answer()),
        path if path.starts_with("/redirect") => (302, String::new()),
        _ => (500, MARKER.to_owned()),
    };
    let location = if code == 302 { "Location: /ok\r\n" } else { "" };
    write!(
        stream,
        "HTTP/1.1 {code} X\r\n{location}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The index of a repository whose charts are files of the controller's machine.
fn index(secret_file: &Path) -> String {
    let file = secret_file.display();
    let urls = [
        ("file", format!("file://{file}")),
        ("path", file.to_string()),
        ("relative", format!("../../../../../../../../../..{file}")),
        ("git", format!("git+file://{file}")),
    ];
    let entry = |(name, url): &(&str, String)| {
        format!("  {name}:\n  - {{apiVersion: v2, name: {name}, version: 1.0.0, urls: ['{url}']}}\n")
    };
    format!("apiVersion: v1\nentries:\n{}", urls.iter().map(entry).collect::<String>())
}

/// What a kubeconfig of the attacker has.
fn kubeconfig(cluster: Value, user: Value) -> String {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": cluster}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "users": [{"name": "a", "user": user}],
    })
    .to_string()
}

fn secret(name: &str, data: &[(&str, &str)]) -> Value {
    let data: BTreeMap<_, _> = data.iter().copied().collect();
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data})
}

/// The namespace of the victim: objects, a release, a request, an account with all rights, and a kubeconfig.
struct Victim<'e> {
    env: &'e TestEnv,
    namespace: String,
}

impl Victim<'_> {
    fn path(&self, version: &str, plural: &str) -> String {
        let root = if version.contains('/') { "apis" } else { "api" };
        format!("/{root}/{version}/namespaces/{}/{plural}", self.namespace)
    }

    fn create(env: &TestEnv) -> Victim<'_> {
        let victim = Victim { env, namespace: format!("{}-v", env.namespace()) };
        let api = env.api();
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": victim.namespace}});
        api.create("/api/v1/namespaces", &object);
        let account = format!("{}/default", victim.path("v1", "serviceaccounts"));
        let authority = format!("{}/kube-root-ca.crt", victim.path("v1", "configmaps"));
        until("the namespace of the victim is ready", || {
            api.read(&account).is_some() && api.read(&authority).is_some()
        });
        let values = format!("text: {MARKER}\n");
        let data = [
            ("password", MARKER),
            ("username", MARKER),
            ("values.yaml", &values),
            (
                "value",
                &kubeconfig(json!({"server": format!("https://{MARKER}.invalid")}), json!({"token": MARKER})),
            ),
        ];
        api.create(&victim.path("v1", "secrets"), &secret("bank-secret", &data));
        let chart = env.object("v1", "configmaps", "chart").expect("it is published");
        let settings = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bank-settings"},
            "data": {"values.yaml": values, "text": MARKER}, "binaryData": chart["binaryData"],
        });
        api.create(&victim.path("v1", "configmaps"), &settings);
        let install = ["install", "bank", "chart/web-1.0.0", "--namespace", &victim.namespace, "--set"];
        env.run(Program::Pintle, &[&install[..], &[&format!("text={MARKER}")]].concat()).succeeded();
        grant_all(env, &victim.namespace);
        let request = json!({
            "apiVersion": "helm.sh/v3", "kind": "HelmRequest", "metadata": {"name": "bank"},
            "spec": {
                "serviceAccountName": "deployer",
                "chart": {"archive": {"kind": "ConfigMap", "name": "bank-settings"}},
                "values": {"text": MARKER, "db": {"password": MARKER}},
            },
        });
        api.create(&victim.path("helm.sh/v3", "helmrequests"), &request);
        let status = json!({"status": {"observedGeneration": 1, "conditions": [{
            "type": "Ready", "status": "False", "reason": "X", "message": MARKER, "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]}});
        api.merge(&format!("{}/bank/status", victim.path("helm.sh/v3", "helmrequests")), &status);
        victim
    }

    /// All objects, with their resource versions.
    fn snapshot(&self) -> Vec<Value> {
        KINDS.iter().flat_map(|(version, plural)| self.env.api().list(&self.path(version, plural))).collect()
    }
}

/// Creates the account `deployer` with all rights in one namespace, as the guide does it.
fn grant_all(env: &TestEnv, namespace: &str) {
    let accounts = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "deployer"}});
    env.api().create(&accounts, &account);
    let binding = json!({
        "apiVersion": RBAC, "kind": "RoleBinding", "metadata": {"name": "deployer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": namespace}],
    });
    env.api().create(&format!("/apis/{RBAC}/namespaces/{namespace}/rolebindings"), &binding);
}

/// Charts of the attacker, by the ConfigMap that holds them.
fn publish_charts(env: &TestEnv, victim: &str, internal: &str, secret_file: &Path) {
    let config_map = |namespace: &str, name: &str, text: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: '{name}', namespace: '{namespace}'}}\ndata: {{text: {text}}}\n"
        )
    };
    let own = |text: &str| config_map("{{ .Release.Namespace }}", "{{ .Release.Name }}", text);
    let file = secret_file.display();
    let lua = |body: &str| {
        format!(
            "events.on(\"post-render\", function(ctx)\n  local text = {body}\n  for _, object in ctx.objects do object.data = {{text = tostring(text)}} end\nend)\n"
        )
    };
    let admin = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: '{{ .Release.Namespace }}'}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: ServiceAccount, name: deployer, namespace: '{{ .Release.Namespace }}'}]\n";
    let local_admin = admin.replace("kind: ClusterRoleBinding", "kind: RoleBinding").replace(
        "metadata: {name: '{{ .Release.Namespace }}'}",
        &format!("metadata: {{name: a, namespace: {victim}}}"),
    );
    let hook = format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: a, namespace: {victim}, annotations: {{helm.sh/hook: pre-install}}}}\nspec:\n  template:\n    spec: {{restartPolicy: Never, serviceAccountName: deployer, containers: [{{name: a, image: test.invalid/busybox:1}}]}}\n"
    );
    let release = format!(
        "apiVersion: helm.sh/v3\nkind: Release\nmetadata: {{name: bank, namespace: {victim}}}\nspec: {{}}\n"
    );
    let request = format!(
        "apiVersion: helm.sh/v3\nkind: HelmRequest\nmetadata: {{name: planted, namespace: {victim}}}\nspec:\n  serviceAccountName: deployer\n  chart: {{archive: {{kind: ConfigMap, name: bank-settings}}}}\n"
    );
    let schema =
        |url: &str| format!(r#"{{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "{url}"}}"#);
    let template = "templates/all.yaml";
    let script = "ext/lua/chart.lua";
    let permissions = ("ext/permissions.yaml", "lua: [network, filesystem, os]\n");
    let plain = own("one");
    for (name, files) in [
        ("lookup-secret", vec![(template, own(&format!("'{{{{ lookup \"v1\" \"Secret\" \"{victim}\" \"bank-secret\" | toJson }}}}'")))]),
        ("lookup-list", vec![(template, own(&format!("'{{{{ lookup \"v1\" \"ConfigMap\" \"{victim}\" \"\" | toJson }}}}'")))]),
        ("lookup-all", vec![(template, own("'{{ lookup \"v1\" \"Secret\" \"\" \"\" | toJson }}'"))]),
        ("lookup-request", vec![(template, own(&format!("'{{{{ lookup \"helm.sh/v3\" \"HelmRequest\" \"{victim}\" \"bank\" | toJson }}}}'")))]),
        ("files", vec![(template, own(&format!("'{{{{ .Files.Get \"../../../../../../../..{file}\" }}}}{{{{ .Files.Get \"{file}\" }}}}'")))]),
        ("schema-url", vec![(template, plain.clone()), ("values.schema.json", schema(&format!("http://{internal}/ok")))]),
        ("schema-file", vec![(template, plain.clone()), ("values.schema.json", schema(&format!("file://{file}")))]),
        ("elsewhere", vec![(template, config_map(victim, "bank-settings", "stolen"))]),
        ("planted", vec![(template, config_map(victim, "planted", "planted"))]),
        ("admin", vec![(template, admin.to_owned())]),
        ("local-admin", vec![(template, local_admin)]),
        ("hook", vec![(template, hook)]),
        ("record", vec![(template, release)]),
        ("request", vec![(template, request)]),
        ("definition", vec![(template, plain.clone()), ("crds/a.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: probes.tenants.example.com}\nspec:\n  group: tenants.example.com\n  scope: Cluster\n  names: {kind: Probe, plural: probes, singular: probe, listKind: ProbeList}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n".to_owned())]),
        ("script-secret", vec![(template, plain.clone()), (script, lua(&format!("json.encode(kubernetes.get(\"v1\", \"Secret\", \"bank-secret\", \"{victim}\"))")))]),
        ("script-config", vec![(template, plain.clone()), (script, lua(&format!("json.encode(kubernetes.get(\"v1\", \"ConfigMap\", \"bank-settings\", \"{victim}\"))")))]),
        ("script-request", vec![(template, plain.clone()), (script, lua(&format!("json.encode(kubernetes.get(\"helm.sh/v3\", \"HelmRequest\", \"bank\", \"{victim}\"))")))]),
        ("script-file", vec![(template, plain.clone()), (script, lua(&format!("fs.read(\"{file}\")"))), (permissions.0, permissions.1.to_owned())]),
        ("script-http", vec![(template, plain.clone()), (script, lua(&format!("http.get(\"http://{internal}/ok\").body"))), (permissions.0, permissions.1.to_owned())]),
        ("script-env", vec![(template, plain), (script, lua("os.getenv(\"HOME\") .. os.getenv(\"TENANTS_MARKER\")")), (permissions.0, permissions.1.to_owned())]),
    ] {
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        publish_as(env, &format!("chart-{name}"), "1.0.0", &files);
    }
}

/// Secrets of the attacker with kubeconfigs.
fn create_kubeconfigs(env: &TestEnv, internal: &str, secret_file: &Path, ran: &Path) {
    let server = |url: &str| json!({"server": url, "insecure-skip-tls-verify": true});
    let local = format!("http://{internal}");
    let file = secret_file.display().to_string();
    let exec =
        json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [ran]}});
    for (name, text) in [
        ("internal", kubeconfig(server(&local), json!({"token": "t"}))),
        (
            "internal-proxy",
            kubeconfig(
                json!({"server": "http://example.invalid", "proxy-url": local}),
                json!({"token": "t"}),
            ),
        ),
        ("exec", kubeconfig(server(&local), exec)),
        ("token-file", kubeconfig(server(&local), json!({"tokenFile": file}))),
        ("key-file", kubeconfig(server(&local), json!({"client-certificate": file, "client-key": file}))),
        (
            "authority-file",
            kubeconfig(json!({"server": local, "certificate-authority": file}), json!({"token": "t"})),
        ),
        (
            "provider",
            kubeconfig(
                server(&local),
                json!({"auth-provider": {"name": "gcp", "config": {"cmd-path": "touch", "cmd-args": ran}}}),
            ),
        ),
        (
            "anonymous",
            kubeconfig(
                server(env.cluster().server()),
                json!({"as": "system:admin", "as-groups": ["system:masters"]}),
            ),
        ),
        ("no-text", "{".to_owned()),
    ] {
        env.api()
            .create(&env.path("v1", "secrets", ""), &secret(&format!("config-{name}"), &[("value", &text)]));
    }
}

/// Every field of a request that can name something of another namespace, a file, a URL or an expression.
fn probes(victim: &str, internal: &str) -> Vec<Probe> {
    let mut probes = Vec::new();
    let mut add = |name: &str, spec: Value| probes.push(Probe { name: name.to_owned(), spec });
    let bank = |expression: &str| json!({"dependsOn": [{"name": "bank", "namespace": victim, "readyExpr": expression}]});
    let object = |version: &str, kind: &str, name: &str, expression: &str| json!({"dependsOn": [{"apiVersion": version, "kind": kind, "name": name, "namespace": victim, "readyExpr": expression}]});
    add("depends", json!({"dependsOn": [{"name": "bank", "namespace": victim}]}));
    add(
        "depends-kind",
        json!({"dependsOn": [{"apiVersion": "helm.sh/v3", "kind": "HelmRequest", "name": "bank", "namespace": victim}]}),
    );
    add("depends-key", bank("{'a': true}[dep.spec.values.db.password]"));
    add("depends-number", bank("int(dep.spec.values.db.password) == 1"));
    add("depends-message", bank("{'a': true}[dep.status.conditions[0].message]"));
    add("depends-text", bank("dep.spec.values.text"));
    add("depends-guess", bank("dep.spec.values.text.startsWith('t')"));
    add("depends-secret", object("v1", "Secret", "bank-secret", "{'a': true}[dep.data.password]"));
    add("depends-config", object("v1", "ConfigMap", "bank-settings", "{'a': true}[dep.data.text]"));
    add("depends-release", object("helm.sh/v3", "Release", "bank", "{'a': true}[dep.metadata.uid]"));
    add("depends-account", object("v1", "ServiceAccount", "deployer", "dep.metadata.name == 'deployer'"));
    add("depends-namespace", object("v1", "Namespace", victim, "dep.metadata.uid == ''"));
    add("depends-role", object(RBAC, "ClusterRole", "cluster-admin", "size(dep.rules) > 0"));
    add("depends-path", json!({"dependsOn": [{"name": format!("../../{victim}/helmrequests/bank")}]}));
    add(
        "depends-query",
        json!({"dependsOn": [{"name": "bank", "namespace": format!("{victim}/helmrequests/bank?")}]}),
    );

    let values = |reference: Value| json!({"valuesFrom": [reference]});
    add(
        "values-path",
        values(json!({"kind": "ConfigMap", "name": format!("../../{victim}/configmaps/bank-settings")})),
    );
    add(
        "values-secret",
        values(
            json!({"kind": "Secret", "name": format!("../../{victim}/secrets/bank-secret"), "valuesKey": "password", "targetPath": "text"}),
        ),
    );
    add(
        "values-encoded",
        values(json!({"kind": "Secret", "name": format!("..%2f..%2f{victim}%2fsecrets%2fbank-secret")})),
    );
    add(
        "values-name",
        values(
            json!({"kind": "Secret", "name": "bank-secret", "valuesKey": "password", "targetPath": "text"}),
        ),
    );
    add(
        "values-namespace",
        values(
            json!({"kind": "Secret", "name": "bank-secret", "namespace": victim, "valuesKey": "password", "targetPath": "text"}),
        ),
    );
    let digest = format!("sha256:{}", "0".repeat(64));
    for (name, url) in [
        ("values-url", format!("http://{internal}/ok")),
        ("values-redirect", format!("http://{internal}/redirect")),
        ("values-error", format!("http://{internal}/error")),
        ("values-registry", format!("oci://{internal}/values")),
        ("values-file", "file:///etc/hostname".to_owned()),
        (
            "values-localhost",
            format!("http://localhost:{}/ok", internal.rsplit(':').next().unwrap_or_default()),
        ),
    ] {
        add(name, values(json!({"kind": "URL", "url": url, "digest": digest})));
    }

    let chart = |chart: Value| json!({"chart": chart});
    add(
        "chart-path",
        chart(
            json!({"archive": {"kind": "ConfigMap", "name": format!("../../{victim}/configmaps/bank-settings")}}),
        ),
    );
    add(
        "chart-secret",
        chart(
            json!({"archive": {"kind": "Secret", "name": format!("../../{victim}/secrets/bank-secret"), "key": "password"}}),
        ),
    );
    add("chart-file", chart(json!({"url": "file:///etc/hostname"})));
    add("chart-local", chart(json!({"url": "/etc/hostname"})));
    add("chart-git", chart(json!({"url": "git+file:///etc@hostname"})));
    add("chart-url", chart(json!({"url": format!("http://{internal}/ok.tgz")})));
    add("chart-registry", chart(json!({"url": format!("oci://{internal}/chart"), "plainHTTP": true})));
    for name in ["file", "path", "relative", "git", "../../x"] {
        let chart =
            chart(json!({"repository": format!("http://{internal}"), "name": name, "version": "1.0.0"}));
        add(&format!("chart-index-{}", name.replace(['.', '/'], "")), chart);
    }
    add(
        "chart-login",
        chart(
            json!({"url": format!("http://{internal}/a.tgz"), "credentials": {"name": format!("../../{victim}/secrets/bank-secret")}}),
        ),
    );
    add(
        "chart-key",
        chart(
            json!({"url": format!("http://{internal}/a.tgz"), "verify": {"provider": "pgp", "secretRef": {"name": format!("../../{victim}/secrets/bank-secret"), "key": "password"}}}),
        ),
    );

    let config = |name: String| json!({"kubeConfig": {"secretRef": {"name": name}}});
    add("config-path", config(format!("../../{victim}/secrets/bank-secret")));
    add("config-name", config("bank-secret".to_owned()));
    for name in [
        "internal",
        "internal-proxy",
        "exec",
        "token-file",
        "key-file",
        "authority-file",
        "provider",
        "anonymous",
        "no-text",
    ] {
        add(&format!("config-{name}"), config(format!("config-{name}")));
    }

    for (name, account) in [
        ("account-other", format!("{victim}:deployer")),
        ("account-path", format!("../{victim}/deployer")),
        ("account-header", "deployer\r\nImpersonate-Group: system:masters".to_owned()),
        ("account-none", "nobody".to_owned()),
        ("account-default", "default".to_owned()),
    ] {
        add(name, json!({"serviceAccountName": account, "targetNamespace": victim}));
    }

    let plain = json!({"values": {"text": "planted"}});
    let with = |fields: Value| {
        let mut spec = plain.clone();
        for (key, value) in fields.as_object().expect("fields") {
            spec[key] = value.clone();
        }
        spec
    };
    add("target", with(json!({"targetNamespace": victim})));
    add("target-taken", with(json!({"targetNamespace": victim, "releaseName": "bank"})));
    add(
        "target-owner",
        with(
            json!({"targetNamespace": victim, "releaseName": "bank", "install": {"takeOwnership": true}, "upgrade": {"takeOwnership": true, "force": true}}),
        ),
    );
    add("target-system", with(json!({"targetNamespace": "kube-system"})));
    add(
        "target-new",
        with(json!({"targetNamespace": format!("{victim}-new"), "install": {"createNamespace": true}})),
    );
    add("target-path", with(json!({"targetNamespace": format!("{victim}/configmaps")})));
    add("target-plan", with(json!({"targetNamespace": victim, "releaseName": "bank", "approval": "Manual"})));
    add(
        "target-drift",
        with(
            json!({"targetNamespace": victim, "releaseName": "bank", "driftDetection": {"mode": "enabled"}}),
        ),
    );
    add("storage", with(json!({"storageNamespace": victim})));
    add("storage-taken", with(json!({"storageNamespace": victim, "releaseName": "bank"})));
    add("release-path", with(json!({"releaseName": "../bank"})));
    let patch = |patch: &str| {
        with(json!({"postRenderers": [{"patches": [{"target": {"kind": "ConfigMap"}, "patch": patch}]}]}))
    };
    add("patch-namespace", patch(&format!("[{{op: add, path: /metadata/namespace, value: {victim}}}]")));
    add(
        "patch-name",
        patch(&format!(
            "[{{op: add, path: /metadata/namespace, value: {victim}}}, {{op: replace, path: /metadata/name, value: bank-settings}}]"
        )),
    );
    add(
        "patch-kind",
        patch(&format!(
            "[{{op: replace, path: /kind, value: Secret}}, {{op: add, path: /metadata/namespace, value: {victim}}}]"
        )),
    );
    add(
        "health",
        with(
            json!({"healthCheckExprs": [{"apiVersion": "v1", "kind": "ConfigMap", "current": "int(data.text) == 1"}], "timeout": "2s"}),
        ),
    );

    for name in [
        "lookup-secret",
        "lookup-list",
        "lookup-all",
        "lookup-request",
        "files",
        "schema-url",
        "schema-file",
        "elsewhere",
        "planted",
        "admin",
        "local-admin",
        "hook",
        "record",
        "request",
        "definition",
        "script-secret",
        "script-config",
        "script-request",
        "script-file",
        "script-http",
        "script-env",
    ] {
        let chart = json!({"archive": {"kind": "ConfigMap", "name": format!("chart-{name}")}});
        add(&format!("in-{name}"), json!({"chart": chart, "permissions": ["network", "filesystem", "os"]}));
    }
    probes
}

/// Creates the request of a probe, and returns whether the server accepts it.
fn submit(env: &TestEnv, probe: &Probe) -> bool {
    let mut spec = json!({
        "serviceAccountName": "deployer", "timeout": "10s",
        "chart": {"archive": {"kind": "ConfigMap", "name": "chart"}},
    });
    for (key, value) in probe.spec.as_object().expect("fields") {
        spec[key] = value.clone();
    }
    let object = json!({
        "apiVersion": "helm.sh/v3", "kind": "HelmRequest", "metadata": {"name": probe.name}, "spec": spec,
    });
    let path = env.path("helm.sh/v3", "helmrequests", "");
    let answer = env.api().send("POST", &path, "application/json", &object.to_string());
    assert!(
        answer.is_ok() || matches!(answer.code, 400 | 422),
        "{}: {} {}",
        probe.name,
        answer.code,
        answer.body
    );
    answer.is_ok()
}

/// Whether a request was handled: it is ready, or says why it is not.
fn is_handled(request: &Value) -> bool {
    let reason = condition(request, "Ready", "reason");
    request["metadata"]["generation"] == request["status"]["observedGeneration"]
        && !matches!(reason, "" | "Progressing")
}

/// What a server that only the controller should reach answers.
fn internal_answer() -> String {
    format!("text: {MARKER}\n")
}

/// Whether a text contains the marker, plainly or in base64, or the digest of the internal answer, with which the next request
/// could ask for it.
fn leaks(text: &str) -> bool {
    let digest = Sha256::digest(internal_answer());
    let digest = digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    // What an encoding has of it depends on its position in a group of three bytes.
    let encoded = |skip: usize| {
        let text = STANDARD.encode(format!("{}{MARKER}", "x".repeat(skip)));
        text[if skip == 0 { 0 } else { 4 }..text.len() - 4].to_owned()
    };
    text.contains(MARKER) || text.contains(&digest) || (0..3).any(|skip| text.contains(&encoded(skip)))
}

#[test]
fn a_tenant_reaches_nothing_of_another() {
    needs_real!("asks a server that knows who may do what");
    let Some(env) = TestEnv::new("a_tenant_reaches_nothing") else { return };
    prepare(&env);
    let secret_file = env.write("secret.tgz", MARKER);
    let ran = env.folder().join("ran");
    let internal = Internal::start(&secret_file).address;
    let victim = Victim::create(&env);
    grant_all(&env, env.namespace());
    publish_charts(&env, &victim.namespace, &internal, &secret_file);
    create_kubeconfigs(&env, &internal, &secret_file, &ran);

    // It watches the namespace of the attacker, because other tests use the cluster, too. Its own credentials allow everything.
    let mut command = env.command(Program::Pintle);
    command.args(["controller", "run", "--concurrent", "8"]).env("TENANTS_MARKER", MARKER);
    let _controller = Controller::spawn(command);
    let before = victim.snapshot();
    assert!(before.len() >= 10, "{before:#?}");

    let probes = probes(&victim.namespace, &internal);
    assert!(probes.len() >= 80, "{} probes", probes.len());
    let (accepted, refused): (Vec<_>, Vec<_>) = probes.iter().partition(|probe| submit(&env, probe));
    let handled = || {
        let requests = env.objects("helm.sh/v3", "helmrequests");
        let open = requests.iter().filter(|request| !is_handled(request));
        open.map(|request| request["metadata"]["name"].to_string()).collect::<Vec<_>>()
    };
    until("all probes are handled", || handled().is_empty());

    for request in env.objects("helm.sh/v3", "helmrequests") {
        let (reason, message) =
            (condition(&request, "Ready", "reason"), condition(&request, "Ready", "message"));
        println!("{}: {reason}: {message}", request["metadata"]["name"]);
    }
    let mut found = searched(&env, &probes);
    // Deleting a request must not reach further either, whatever its status says.
    let forged = json!({"status": {"releaseName": "bank", "releaseNamespace": victim.namespace, "storageNamespace": victim.namespace}});
    for probe in &accepted {
        let path = env.path("helm.sh/v3", "helmrequests", &probe.name);
        env.api().merge(&format!("{path}/status"), &forged);
        env.api().delete(&path);
    }
    let is_decided = |request: &Value| condition(request, "Ready", "reason") == "UninstallFailed";
    until("all deletions are handled", || env.objects("helm.sh/v3", "helmrequests").iter().all(is_decided));
    found.extend(searched(&env, &probes));
    let orphan = json!({"metadata": {"annotations": {"helm.sh/deletion-policy": "orphan"}}});
    for request in env.objects("helm.sh/v3", "helmrequests") {
        let name = request["metadata"]["name"].as_str().expect("a name");
        env.api().merge(&env.path("helm.sh/v3", "helmrequests", name), &orphan);
    }
    until("the requests are gone", || env.objects("helm.sh/v3", "helmrequests").is_empty());

    println!("{} probes, {} of them refused by the API server", probes.len(), refused.len());
    assert_eq!(found, [""; 0], "these have the victim's secret");
    assert!(!ran.exists(), "a program was run");
    let after = victim.snapshot();
    let changed: Vec<_> = after.iter().filter(|object| !before.contains(object)).collect();
    assert_eq!(changed, [&Value::Null; 0], "objects of the victim were changed or created");
    assert_eq!(after.len(), before.len(), "objects of the victim were deleted");
    let api = env.api();
    for path in [
        format!("/apis/{RBAC}/clusterrolebindings/{}", env.namespace()),
        format!("/api/v1/namespaces/{}-new", victim.namespace),
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/probes.tenants.example.com".to_owned(),
        format!("/api/v1/namespaces/kube-system/configmaps/kube-system-{}", "target-system"),
    ] {
        assert!(api.read(&path).is_none(), "{path} was created");
    }
    api.delete(&format!("/api/v1/namespaces/{}", victim.namespace));
}

/// The objects of the attacker that have the marker, and the releases whose records do.
fn searched(env: &TestEnv, probes: &[Probe]) -> Vec<String> {
    let mut found = Vec::new();
    for (version, plural) in KINDS {
        for object in env.objects(version, plural) {
            if leaks(&object.to_string()) {
                found.push(format!("{plural} {}: {object}", object["metadata"]["name"]));
            }
        }
    }
    // Payloads are compressed.
    let releases = env.objects("helm.sh/v3", "releases");
    let names = releases.iter().filter_map(|release| release["metadata"]["name"].as_str());
    for name in names.filter(|name| probes.iter().any(|probe| probe.name == *name)) {
        let shown = env.run(Program::Pintle, &["get", "all", name]);
        if leaks(&shown.stdout) || leaks(&shown.stderr) {
            found.push(format!("release {name}: {}", shown.stdout));
        }
    }
    found
}
