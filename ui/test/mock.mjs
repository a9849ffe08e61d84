// A server with made-up releases that speaks the same API, for developing the page and for looking at states that a real cluster
// rarely has. `node test/mock.mjs [PORT [COUNT]]`

import { createServer } from "node:http";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'";
const TYPES = { ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html; charset=utf-8" };

/** All times are told from here, so that pictures are the same each time. */
export const NOW = Date.parse("2026-11-19T12:00:00Z");
const ago = (minutes) => new Date(NOW - minutes * 60_000).toISOString();

const CHARTS = [
  ["web", "1.4.2", "2.8.0"],
  ["checkout", "3.1.0", "3.1.0"],
  ["postgresql", "16.2.1", "17.2"],
  ["redis", "20.1.4", "7.4.1"],
  ["ingress-nginx", "4.12.0", "1.12.0"],
  ["prometheus", "27.3.0", "3.1.0"],
  ["grafana", "9.0.4", "12.0.2"],
  ["cert-manager", "1.18.2", "1.18.2"],
];

export function summaries(count) {
  const named = [
    { namespace: "shop", name: "web", revision: 4, status: "deployed", chart: "web", chartVersion: "1.4.2", appVersion: "2.8.0", updated: ago(42), store: "secret", description: "Upgrade complete" },
    { namespace: "shop", name: "checkout", revision: 12, status: "failed", chart: "checkout", chartVersion: "3.1.0", appVersion: "3.1.0", updated: ago(7), store: "secret", description: "Upgrade \"checkout\" failed: Deployment shop/checkout is not ready: ImagePullBackOff: tag 3.1.0-rc9 was not found" },
    { namespace: "shop", name: "catalog", revision: 3, status: "pending-upgrade", chart: "web", chartVersion: "1.4.2", appVersion: "2.8.0", updated: ago(1), store: "native", lease: { holder: "anna@laptop", since: ago(1), expires: new Date(NOW + 60_000).toISOString(), expired: false } },
    { namespace: "data", name: "orders-db", revision: 9, status: "deployed", chart: "postgresql", chartVersion: "16.2.1", appVersion: "17.2", updated: ago(60 * 30), store: "secret" },
    { namespace: "data", name: "sessions", revision: 2, status: "deployed", chart: "redis", chartVersion: "20.1.4", appVersion: "7.4.1", updated: ago(60 * 24 * 12), store: "secret" },
    { namespace: "ingress", name: "edge", revision: 21, status: "deployed", chart: "ingress-nginx", chartVersion: "4.12.0", appVersion: "1.12.0", updated: ago(60 * 24 * 40), store: "native" },
    { namespace: "monitoring", name: "prometheus", revision: 6, status: "deployed", chart: "prometheus", chartVersion: "27.3.0", appVersion: "3.1.0", updated: ago(60 * 50), store: "native" },
    { namespace: "monitoring", name: "grafana", revision: 5, status: "deployed", chart: "grafana", chartVersion: "9.0.4", appVersion: "12.0.2", updated: ago(60 * 5), store: "secret" },
    { namespace: "platform", name: "cert-manager", revision: 3, status: "deployed", chart: "cert-manager", chartVersion: "1.18.2", appVersion: "1.18.2", updated: ago(60 * 24 * 90), store: "secret" },
  ];
  for (let i = named.length; i < count; i++) {
    const [chart, chartVersion, appVersion] = CHARTS[i % CHARTS.length];
    named.push({ namespace: `team-${String(i % 97).padStart(2, "0")}`, name: `${chart}-${i}`, revision: (i % 9) + 1, status: i % 83 === 0 ? "failed" : "deployed", chart, chartVersion, appVersion, updated: ago(i * 3), store: i % 3 ? "secret" : "native" });
  }
  return named.slice(0, count);
}

const DEPLOYMENT = `# Source: web/templates/deployment.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels:
    app.kubernetes.io/name: web
spec:
  replicas: 3
  selector:
    matchLabels:
      app.kubernetes.io/name: web
  template:
    metadata:
      labels:
        app.kubernetes.io/name: web
    spec:
      containers:
        - name: web
          image: "ghcr.io/example/web:2.8.0"
          env:
            - name: LOG_LEVEL
              value: "info"
          ports:
            - containerPort: 8080
          resources:
            limits: {cpu: 500m, memory: 256Mi}
`;
const SERVICE = `# Source: web/templates/service.yaml
apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  type: ClusterIP
  ports:
    - port: 80
      targetPort: 8080
`;
const SECRET = `# Source: web/templates/secret.yaml
apiVersion: v1
kind: Secret
metadata:
  name: web
stringData:
  token: (hidden)
`;
const USER = `# What the shop sets
replicas: 3
image:
  tag: "2.8.0"
logLevel: info
auth:
  password: (hidden)
`;
const DEFAULTS = `replicas: 1
image:
  repository: ghcr.io/example/web
  tag: ""
logLevel: warn
service:
  type: ClusterIP
  port: 80
ingress:
  enabled: false
  hosts: [web.example]
auth:
  password: ""
resources:
  limits:
    cpu: 500m
    memory: 256Mi
`;
const SCHEMA = {
  type: "object",
  properties: {
    replicas: { type: "integer", minimum: 0, description: "How many pods run" },
    image: { type: "object", description: "What runs", properties: { repository: { type: "string" }, tag: { type: "string", description: "The app version of the chart if empty" } } },
    logLevel: { enum: ["debug", "info", "warn", "error"], description: "What is written to the log" },
    service: { type: "object", properties: { type: { enum: ["ClusterIP", "NodePort", "LoadBalancer"] }, port: { type: "integer" } } },
    ingress: { type: "object", properties: { enabled: { type: "boolean" }, hosts: { type: "array", items: { type: "string" } } } },
  },
};
const README = `# web

A small web shop. [Source](https://example.org/web) · [bad](javascript:alert(1)) <img src=x onerror="document.title='owned'">

![build](https://example.org/badge.svg)

## Installing

\`\`\`sh
pintle install my-web oci://registry.example/charts/web
\`\`\`

## Values

| Key | Type | Default | What |
|---|---|---|---|
| \`replicas\` | int | \`1\` | How many pods run |
| \`image.tag\` | string | \`""\` | The app version of the chart if empty |
| \`ingress.enabled\` | bool | \`false\` | Whether it can be reached from outside |

> Set \`ingress.hosts\` before the ingress is enabled.

1. Install it.
2. Open it.
   - with a browser
   - or with *curl*
`;
const event = (warning, reason, message, minutes, count = 1) => ({ warning, reason, message, count, lastSeen: ago(minutes) });
const pod = (name, ready, reason) => ({ key: `v1/Pod/shop/${name}`, kind: "Pod", namespace: "shop", name, ready, state: ready ? "current" : "failed", message: ready ? "Running" : "", reason, exists: true, events: [], children: [] });

function objects(name) {
  const bad = name === "checkout";
  const all = [
    {
      key: `apps/v1/Deployment/shop/${name}`, apiVersion: "apps/v1", kind: "Deployment", namespace: "shop", name, ready: !bad, state: bad ? "progressing" : "current", message: bad ? "2 of 3 replicas are available" : "3 of 3 replicas are available", reason: bad ? "ImagePullBackOff: tag 3.1.0-rc9 was not found" : null, exists: true,
      events: [event(false, "ScalingReplicaSet", `Scaled up replica set ${name}-7d9f to 3`, 42), ...(bad ? [event(true, "Failed", "Failed to pull image \"ghcr.io/example/checkout:3.1.0-rc9\": not found", 6, 14)] : [])],
      pods: [{ name: `${name}-7d9f-x2x1`, containers: ["web", "proxy"], reason: bad ? "ImagePullBackOff" : null, events: [] }],
      children: [{ key: `apps/v1/ReplicaSet/shop/${name}-7d9f`, kind: "ReplicaSet", namespace: "shop", name: `${name}-7d9f`, ready: !bad, state: bad ? "progressing" : "current", message: "", exists: true, children: [pod(`${name}-7d9f-x2x1`, true), pod(`${name}-7d9f-k8s4`, true), pod(`${name}-7d9f-q0qd`, !bad, bad ? "ImagePullBackOff" : undefined)] }],
    },
    { key: `v1/Service/shop/${name}`, kind: "Service", namespace: "shop", name, ready: true, state: "current", message: "", exists: true, events: [], children: [{ key: `discovery.k8s.io/v1/EndpointSlice/shop/${name}-abc`, kind: "EndpointSlice", namespace: "shop", name: `${name}-abc`, ready: true, state: "current", exists: true, children: [] }] },
    { key: `v1/Secret/shop/${name}`, kind: "Secret", namespace: "shop", name, ready: true, state: "current", exists: true, events: [], children: [] },
    { key: `networking.k8s.io/v1/Ingress/shop/${name}`, kind: "Ingress", namespace: "shop", name, ready: true, state: "current", exists: true, events: [], children: [] },
  ];
  return { revision: 4, ready: all.filter((each) => each.ready).length, total: all.length, objects: all };
}

const LINES = [
  { op: "…", skipped: 7 }, { op: "=", text: "    app.kubernetes.io/name: web" }, { op: "=", text: "spec:" }, { op: "-", text: "  replicas: 2" }, { op: "+", text: "  replicas: 3" }, { op: "=", text: "  selector:" }, { op: "=", text: "    matchLabels:" },
  { op: "…", skipped: 8 }, { op: "=", text: "        - name: web" }, { op: "-", text: '          image: "ghcr.io/example/web:2.7.3"' }, { op: "+", text: '          image: "ghcr.io/example/web:2.8.0"' }, { op: "=", text: "          env:" }, { op: "+", text: "            - name: LOG_LEVEL" }, { op: "+", text: '              value: "info"' }, { op: "…", skipped: 5 },
];

function plan(body) {
  const replicas = /^replicas:\s*(\d+)/m.exec(body.values ?? "")?.[1] ?? "3";
  const removing = body.operation === "uninstall";
  const changed = body.operation === "rollback" || replicas !== "3";
  const to = changed ? replicas : "3";
  const object = (kind, action, more = {}) => ({ key: `v1/${kind}/shop/web`, kind, namespace: "shop", name: "web", action, changes: [], insignificant: [], conflicts: [], immutable: [], lines: [], ...more });
  const list = removing
    ? [object("Deployment", "delete"), object("Service", "delete"), object("Secret", "keep", { keptBecause: "resource policy keep" })]
    : body.operation === "install"
      ? [object("Deployment", "create", { lines: DEPLOYMENT.split("\n").map((text) => ({ op: "+", text })) }), object("Service", "create", { lines: SERVICE.split("\n").map((text) => ({ op: "+", text })) })]
      : [
          object("Deployment", changed ? "update" : "unchanged", changed ? { changes: [{ path: "spec.replicas", before: 3, after: Number(to) }], lines: [{ op: "…", skipped: 8 }, { op: "=", text: "spec:" }, { op: "-", text: "  replicas: 3" }, { op: "+", text: `  replicas: ${to}` }, { op: "=", text: "  selector:" }, { op: "…", skipped: 14 }], conflicts: [{ field: "spec.replicas", manager: "kubectl-scale" }] } : {}),
          object("Service", "unchanged"),
          object("Secret", "unchanged"),
        ];
  const summary = {};
  for (const each of list) summary[each.action] = (summary[each.action] ?? 0) + 1;
  return {
    plan: "p-1", operation: body.operation, from: body.operation === "install" ? null : 4, to: removing ? null : 5, hasChanges: true, milliseconds: 84, summary, objects: list,
    hooks: removing ? [] : [{ event: "pre-upgrade", kind: "Job", name: "web-migrate", weight: -5 }], unread: /replicaz/.test(body.values ?? "") ? [{ path: "replicaz", hint: "did you mean replicas?" }] : [], warnings: [], problems: [],
    command: removing ? "pintle uninstall web -n shop" : `pintle ${body.operation} web oci://registry.example/charts/web --version 1.4.2 -n shop -f values.yaml`,
  };
}

const request = { namespace: "shop", name: "web", release: { namespace: "shop", name: "web" }, chart: "oci://registry.example/charts/web", version: "1.5.0", ready: null, reason: "AwaitingApproval", message: "The plan of version 1.5.0 waits for approval", awaitsApproval: true, revision: 4, conditions: [{ type: "Ready", status: "Unknown", reason: "AwaitingApproval", message: "The plan waits for approval", since: ago(12) }, { type: "ChartLoaded", status: "True", reason: "Loaded", message: "web 1.5.0", since: ago(12) }], plan: { digest: "sha256:4f1c0e5d2a7b9c83", summary: "2 objects change: Deployment web, ConfigMap web", objects: ["~ apps/v1/Deployment/shop/web", "~ v1/ConfigMap/shop/web"] }, yaml: "apiVersion: pintle.dev/v1alpha1\nkind: HelmRequest\nmetadata:\n  name: web\nspec:\n  chart: oci://registry.example/charts/web\n  version: 1.5.0\n" };

const explained = [
  { path: "replicas", value: 3, origin: { layer: "user", name: "values of release web", line: 2, value: 3 }, overridden: [{ layer: "default", name: "values.yaml of chart web", line: 1, value: 1 }], readers: [{ file: "web/templates/deployment.yaml", line: 8, text: "  replicas: {{ .Values.replicas }}" }] },
  { path: "image.tag", value: "2.8.0", origin: { layer: "user", name: "values of release web", line: 4, value: "2.8.0" }, overridden: [{ layer: "default", name: "values.yaml of chart web", line: 4, value: "" }], readers: [] },
  { path: "image.repository", value: "ghcr.io/example/web", origin: { layer: "default", name: "values.yaml of chart web", line: 3 }, overridden: [], readers: [] },
  { path: "logLevel", value: "info", origin: { layer: "user", name: "values of release web", line: 5 }, overridden: [], readers: [] },
  { path: "service.port", value: 80, origin: { layer: "default", name: "values.yaml of chart web", line: 8 }, overridden: [], readers: [] },
  { path: "auth.password", hidden: true, origin: { layer: "user", name: "values of release web", line: 7 }, overridden: [], readers: [] },
  { path: "global.region", value: "eu-1", origin: { layer: "parent", name: "values.yaml of chart shop", line: 3 }, overridden: [], readers: [] },
];

const revisions = (summary) => Array.from({ length: summary.revision }, (_, i) => ({ ...summary, revision: summary.revision - i, status: i === 0 ? summary.status : i === 2 ? "failed" : "superseded", updated: ago(42 + i * 1500), chartVersion: i > 2 ? "1.3.0" : summary.chartVersion, who: ["anna@laptop", "ci@runner-7", "anna@laptop", "ben@desk"][i % 4], source: { url: "oci://registry.example/charts/web", digest: "sha256:2c61b5f0d9e84a7713" }, rollbackOf: i === 1 ? 1 : null }));

const operation = { id: "o-7f3a", operation: "upgrade", namespace: "shop", name: "web", state: "running", started: ago(0.4), ended: null, stage: "waiting", command: "pintle upgrade web oci://registry.example/charts/web --version 1.4.2 -n shop -f values.yaml", error: null, result: null };
const rehearsal = { ...operation, id: "o-9b21", operation: "rehearse", state: "succeeded", ended: ago(0.2), result: { report: { kubeVersion: "v1.37.0", worst: "warning", stages: [{ name: "install", objects: [{ object: "Deployment shop/web", state: "current", ready: true, message: "3 of 3 replicas" }, { object: "Service shop/web", state: "current", ready: true }], hooks: [{ object: "Job shop/web-migrate", events: ["pre-install"], phase: "Succeeded" }], warnings: [] }, { name: "upgrade", objects: [{ object: "Deployment shop/web", state: "current", ready: true }], hooks: [], warnings: ["spec.template.spec.containers[0].image uses the tag latest"] }], findings: [{ severity: "warning", stage: "upgrade", object: "Deployment shop/web", file: "web/templates/deployment.yaml", line: 21, message: "The container has no readiness probe: it counts as ready as soon as it runs." }, { severity: "note", stage: "install", object: "Job shop/web-migrate", message: "The hook took 2 s." }] } } };

const FEED = [
  ["stage", { stage: "loading" }], ["step", { text: "web 1.4.2 from oci://registry.example/charts/web" }], ["stage", { stage: "hooks", event: "pre-upgrade" }], ["log", { namespace: "shop", pod: "web-migrate-5xk2p", container: "migrate", text: "2 migrations applied\n" }], ["stage", { stage: "applying" }],
  ["applied", { key: "a", kind: "Deployment", namespace: "shop", name: "web", change: "changed" }], ["applied", { key: "b", kind: "Service", namespace: "shop", name: "web", change: "unchanged" }], ["stage", { stage: "waiting" }],
  ["readiness", { key: "a", kind: "Deployment", namespace: "shop", name: "web", state: "progressing", message: "2 of 3 replicas are available", ready: false, pods: [] }], ["readiness", { key: "b", kind: "Service", namespace: "shop", name: "web", state: "current", message: "", ready: true, pods: [] }],
];

/** Starts the server; `count` releases, assets from `assets`. An `open` one lets other pages in, to see that attacks work there. */
export function start({ port = 0, count = 9, assets = join(here, "../../crates/ui/assets"), write = true, open = false } = {}) {
  const all = summaries(count);
  // Read once: the bundle may be built anew meanwhile.
  const files = new Map(readdirSync(assets).map((name) => [name, readFileSync(join(assets, name))]));
  const server = createServer((incoming, outgoing) => {
    const url = new URL(incoming.url, "http://mock");
    const closed = { "Content-Security-Policy": CSP, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store" };
    const origin = { "Access-Control-Allow-Origin": incoming.headers.origin ?? "*", "Access-Control-Allow-Credentials": "true", "Access-Control-Allow-Headers": "content-type" };
    const head = open ? origin : closed;
    const json = (body, status = 200) => {
      outgoing.writeHead(status, { ...head, "Content-Type": "application/json" });
      outgoing.end(JSON.stringify(body));
    };
    const stream = (events, end = false) => {
      outgoing.writeHead(200, { ...head, "Content-Type": "text/event-stream" });
      for (const [name, data] of events) outgoing.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
      if (end) outgoing.end();
    };
    if (open && incoming.method === "OPTIONS") {
      outgoing.writeHead(204, head);
      return outgoing.end();
    }
    if (!url.pathname.startsWith("/api/")) {
      const name = url.pathname.startsWith("/assets/") ? url.pathname.slice(8) : "index.html";
      if (!files.has(name)) return json({ error: { kind: "not-found", message: "no such file" } }, 404);
      outgoing.writeHead(200, { ...head, "Content-Type": TYPES[extname(name)] ?? "text/plain" });
      return outgoing.end(files.get(name));
    }
    let text = "";
    incoming.on("data", (chunk) => (text += chunk));
    incoming.on("end", () => answer(url, incoming.method, text === "" ? {} : JSON.parse(text), { json, stream, all, write }));
    return undefined;
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve({ address: `http://127.0.0.1:${server.address().port}`, close: () => (server.closeAllConnections(), server.close()) })));
}

function answer(url, method, body, { json, stream, all, write }) {
  const [place, ...rest] = url.pathname.slice("/api/v1/".length).split("/").map(decodeURIComponent);
  const query = url.searchParams;
  switch (place) {
    case "session":
      return json({ version: "0.1.0", write, user: "anna", auth: "link", context: "kind-shop", localCharts: true, features: ["releases", "plan", "explain", "charts", "requests", "rehearse"] });
    case "contexts":
      return json({ current: "kind-shop", contexts: [{ name: "kind-shop", cluster: "kind-shop", namespace: "shop" }, { name: "production-eu", cluster: "eu", namespace: "default" }] });
    case "permissions":
      return json({ namespace: query.get("namespace"), write, actions: Object.fromEntries(["list", "install", "upgrade", "rollback", "uninstall", "test", "logs", "events", "reveal", "approve"].map((action) => [action, write ? { allowed: true } : { allowed: false, reason: "pintle ui was started without --write" }])) });
    case "outdated":
      return json({ releases: [{ namespace: "shop", name: "web", version: "1.4.2", newest: "1.5.0", outdated: true }, { namespace: "data", name: "orders-db", version: "16.2.1", newest: "16.4.0", outdated: true }] });
    case "plans":
      if (/replicas:\s*(many|-)/.test(body.values ?? "")) return json({ error: { kind: "invalid-input", message: "values do not match the schema:\n- replicas: the value is a string, not an integer", hint: "the schema is values.schema.json of the chart" } }, 422);
      return json(plan(body));
    case "rehearsals":
      return json(rehearsal, 202);
    case "operations":
      if (method === "POST" && rest.length === 0) return json(operation, 202);
      if (rest[1] === "cancel") return json(operation, 202);
      if (rest[1] === "events") return rest[0] === rehearsal.id ? stream([["end", rehearsal]]) : stream(FEED);
      if (rest.length === 0) return json({ operations: [operation, rehearsal, { ...operation, id: "o-3", name: "checkout", state: "failed", error: { kind: "other", message: "Deployment shop/checkout is not ready: ImagePullBackOff" } }] });
      return json(rest[0] === rehearsal.id ? rehearsal : operation);
    case "requests":
      return rest.length === 0 ? json({ installed: true, requests: [request, { ...request, name: "edge", release: { namespace: "ingress", name: "edge" }, namespace: "ingress", awaitsApproval: false, plan: null, ready: true, reason: "Ready", message: "", chart: "ingress-nginx", version: "4.12.0" }] }) : json(request);
    case "repositories":
      return json({ repositories: [{ name: "example", url: "https://charts.example", updated: ago(600) }] });
    case "charts":
      if (rest[0] === "versions") return json({ versions: [{ version: "1.5.0", appVersion: "2.9.0", created: ago(500) }, { version: "1.4.2", appVersion: "2.8.0", created: ago(5000) }] });
      return json({ charts: CHARTS.filter(([name]) => name.includes(query.get("query") ?? "")).map(([name, version, appVersion]) => ({ name: `example/${name}`, version, appVersion, description: `The chart ${name}, with sensible defaults and few values.` })) });
    case "chart":
      return json({ name: "web", version: "1.5.0", appVersion: "2.9.0", description: "A small web shop", readme: README, values: DEFAULTS, schema: SCHEMA, dependencies: [{ name: "redis", version: "20.1.4", repository: "oci://registry.example/charts" }], maintainers: [{ name: "Anna" }], source: { url: "oci://registry.example/charts/web", digest: "sha256:2c61b5f0d9e84a7713" }, images: ["ghcr.io/example/web:2.9.0"], signature: { state: "verified", message: "signed by anna@example.org" }, command: "pintle show all example/web" });
    case "releases":
      if (rest[0] === "watch") {
        const events = [];
        for (let i = 0; i < all.length; i += 500) events.push(["batch", { releases: all.slice(i, i + 500) }]);
        return stream([...events, ["synced", { total: all.length }]]);
      }
      return release(all, rest, query, json, stream);
    default:
      return json({ error: { kind: "not-found", message: `there is nothing at ${url.pathname}` } }, 404);
  }
}

function release(all, [namespace, name, part, below], query, json, stream) {
  const summary = all.find((each) => each.namespace === namespace && each.name === name);
  if (!summary) return json({ error: { kind: "not-found", message: `release ${name} in namespace ${namespace} was not found`, hint: "`pintle list -A` lists all releases" } }, 404);
  const documents = [DEPLOYMENT, SERVICE, SECRET].map((yaml, i) => ({ key: `v1/${["Deployment", "Service", "Secret"][i]}/shop/web`, kind: ["Deployment", "Service", "Secret"][i], namespace, name: "web", source: `web/templates/${["deployment", "service", "secret"][i]}.yaml`, line: 1, yaml }));
  switch (part) {
    case undefined:
      return json({ ...summary, notes: "", source: { url: "oci://registry.example/charts/web", digest: "sha256:2c61b5f0d9e84a7713" }, request: name === "web" ? { namespace: "shop", name: "web" } : null, commands: { status: `pintle status ${name} -n ${namespace}`, values: `pintle get values ${name} -n ${namespace}` } });
    case "revisions":
      return json({ revisions: revisions(summary) });
    case "objects":
      return below === "watch" ? stream([["objects", objects(name)]]) : json(objects(name));
    case "object":
      return json({ key: query.get("key"), yaml: DEPLOYMENT, managers: [{ manager: "pintle", operation: "Apply", fields: 14 }, { manager: "kubectl-scale", operation: "Update", fields: 1 }], hidden: 0 });
    case "hooks":
      return json({ hooks: [{ name: "web-test", kind: "Pod", path: "web/templates/tests/test.yaml", events: ["test"], weight: 0, phase: "Succeeded", started: ago(45), completed: ago(44), deletePolicies: ["before-hook-creation"], isTest: true, manifest: "apiVersion: v1\nkind: Pod\n" }, { name: "web-migrate", kind: "Job", path: "web/templates/migrate.yaml", events: ["pre-upgrade"], weight: -5, phase: null, deletePolicies: [], isTest: false, manifest: "apiVersion: batch/v1\nkind: Job\n" }] });
    case "logs":
      return stream([["log", { namespace, pod: "web-7d9f-x2x1", container: "web", text: Array.from({ length: 40 }, (_, i) => `2026-11-19T11:59:${String(i).padStart(2, "0")}Z GET /products/${i * 7} 200 ${i % 9} ms\n`).join("") + "\u001b[31mred\u001b[0m <script>alert(1)</script>\n" }]]);
    case "values":
      return json(query.get("all") === "true" ? { yaml: DEFAULTS, hidden: [] } : { yaml: USER, hidden: ["auth.password"] });
    case "manifest":
      return json({ documents, hidden: 1, bytes: 1200, truncated: false });
    case "notes":
      return json({ notes: "The shop runs at http://web.shop.svc:80\n\n  kubectl -n shop port-forward svc/web 8080:80\n\n<b>not bold</b>\n" });
    case "images":
      return json({ images: [{ image: "ghcr.io/example/web:2.8.0", full: "ghcr.io/example/web:2.8.0", registry: "ghcr.io", digest: null, running: ["sha256:81c2f0aa34b0"], uses: [{ key: "apps/v1/Deployment/shop/web", field: "spec.template.spec.containers[0].image", values: ["image.repository", "image.tag"] }] }] });
    case "schema":
      return json({ schema: SCHEMA, derived: false, defaults: DEFAULTS, problem: null });
    case "compare": {
      const live = query.get("to") === "live";
      return json({ summary: { added: 0, removed: 0, changed: 1, unchanged: 3 }, objects: [{ key: "a", kind: "Deployment", namespace, name: "web", change: "changed", fields: live ? [{ path: "spec.replicas", before: 3, after: 5, managers: ["kubectl-scale"] }] : [], lines: live ? [{ op: "=", text: "spec:" }, { op: "-", text: "  replicas: 3" }, { op: "+", text: "  replicas: 5" }] : LINES }, { key: "b", kind: "Service", namespace, name: "web", change: "unchanged", lines: [] }], values: live ? null : { lines: [{ op: "-", text: "replicas: 2" }, { op: "+", text: "replicas: 3" }, { op: "=", text: "image:" }, { op: "-", text: '  tag: "2.7.3"' }, { op: "+", text: '  tag: "2.8.0"' }] }, notes: { lines: [] } });
    }
    case "explain":
      if (below === "reaches") return json({ value: query.get("value"), lines: [{ file: "web/templates/deployment.yaml", line: 9, text: "  replicas: 3" }], truncated: false });
      if (query.has("line")) return json({ file: query.get("line").replace(/:\d+$/, ""), line: Number(/\d+$/.exec(query.get("line"))[0]), text: "  replicas: 3", templates: [{ file: "web/templates/deployment.yaml", line: 8, text: "  replicas: {{ .Values.replicas }}" }], values: [explained[0]], fields: [".Release.Name"], conditions: [{ at: { file: "web/templates/deployment.yaml", line: 7, text: "{{- if not .Values.autoscaling.enabled }}" }, values: [{ path: "autoscaling.enabled", value: false, origin: { layer: "default", name: "values.yaml of chart web", line: 12 } }] }] });
      return json({ values: explained });
    default:
      return json({ error: { kind: "not-found", message: "no such part" } }, 404);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { address } = await start({ port: Number(process.argv[2] ?? 0), count: Number(process.argv[3] ?? 9) });
  console.log(address);
}
