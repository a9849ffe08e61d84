//! What handlers cost on a chart of 200 objects and 1 MB of values: `cargo run --release -p pintle-lua --example cost`.

#![allow(clippy::print_stdout, reason = "it is there to print")]

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use pintle_chart::{Chart, File, load_files};
use pintle_events::{ChartContext, ChartInfo, ChartPath, Context, Emitter, Event, RenderedObject};
use pintle_lua::{Limits, Permissions, Scripts, Services};
use pintle_objects::Object;
use pintle_tree::{Map, Node};

/// Labels every object, and takes something from the values.
const TYPICAL: &str = "
events.on('pre-render', function(ctx)
    ctx.values.service_7.image.tag = ctx.values.service_7.image.tag .. '-patched'
end)
events.on('post-render', function(ctx)
    for _, object in ctx.objects do
        object.metadata.labels.team = ctx.values.service_1.image.tag
    end
end)";

/// Looks at everything there is.
const THOROUGH: &str = "
local function walk(t)
    local count = 0
    for _, value in t do
        count += 1
        if type(value) == 'table' then count += walk(value) end
    end
    return count
end
events.on('pre-render', function(ctx) walk(ctx.values) ctx.values.seen = true end)
events.on('post-render', function(ctx) walk(ctx.objects) walk(ctx.values) ctx.objects[1].x = 1 end)";

fn main() {
    let context = context();
    let values = pintle_yaml::write(&Node::Map(context.all_values().clone())).map_or(0, |text| text.len());
    println!("{} objects, {} KiB of values", context.objects().len(), values / 1024);
    for (name, script) in [("typical", TYPICAL), ("thorough", THOROUGH)] {
        let mut runs: Vec<[Duration; 3]> = (0..41).map(|_| run(script, &context)).collect();
        runs.sort_by_key(|run| run.iter().sum::<Duration>());
        for (which, [load, before, after]) in [("best", runs[0]), ("middle", runs[runs.len() / 2])] {
            let all = load + before + after;
            println!(
                "{name}, {which}: load {load:?}, pre-render {before:?}, post-render {after:?}, all {all:?}"
            );
        }
    }
    let started = now();
    let mut emitter = emitter("for i = 1, 10000000 do end");
    println!("ten million turns of a loop: {:?}", now() - started);
    let _ = emitter.emit(Event::Ready, &mut Context::default());
}

/// Loads a script and runs its handlers; what building the context costs is somebody else's.
fn run(script: &str, context: &Context) -> [Duration; 3] {
    let (mut before, mut after) = (context.clone(), context.clone());
    let started = now();
    let mut emitter = emitter(script);
    let loaded = now();
    emitter.emit(Event::PreRender, &mut before).expect("the handler succeeds");
    let rendered = now();
    emitter.emit(Event::PostRender, &mut after).expect("the handler succeeds");
    [loaded - started, rendered - loaded, now() - rendered]
}

/// The time that this thread has had on a processor, so that a busy machine does not count; elsewhere, the time.
fn now() -> Duration {
    static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
    let worked = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let worked = worked.and_then(|text| text.split_whitespace().next()?.parse().ok());
    worked.map_or_else(|| STARTED.elapsed(), Duration::from_nanos)
}

fn emitter(script: &str) -> Emitter {
    let scripts =
        Scripts::load(&chart(script), &Permissions::none(), &Limits::default(), &Services::default());
    let mut emitter = Emitter::new();
    scripts.and_then(|scripts| scripts.register(&mut emitter)).expect("the script loads");
    emitter
}

fn chart(script: &str) -> Chart {
    let metadata = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
    let files =
        vec![File::new("Chart.yaml", metadata.as_bytes()), File::new("ext/lua/chart.lua", script.as_bytes())];
    load_files(files).expect("a good chart")
}

fn context() -> Context {
    let mut values = Map::new();
    for index in 0..1_400 {
        values.insert(format!("service_{index}").into(), tree(SERVICE));
    }
    let objects = (0..200).map(|index| {
        let Node::Map(mut body) = tree(DEPLOYMENT) else { unreachable!("it is a map") };
        if let Some(Node::Map(metadata)) = body.get_mut("metadata") {
            metadata.insert("name".into(), format!("object-{index}").into());
        }
        RenderedObject { template: Some(format!("web/templates/{index}.yaml")), object: Object::new(body) }
    });
    let path = ChartPath::top("web");
    let facts = ChartInfo { name: "web".into(), ..ChartInfo::default() };
    Context::default()
        .with_chart(ChartContext { path, facts, ..ChartContext::default() })
        .with_values(values)
        .with_objects(objects.collect())
}

fn tree(text: &str) -> Node {
    pintle_yaml::read_exact(text.as_bytes()).expect("good YAML")
}

const SERVICE: &str = "
enabled: true
replicas: 3
image: {registry: registry.example.com, repository: team/application, tag: v1.2.3, pullPolicy: IfNotPresent}
resources:
  limits: {cpu: 500m, memory: 512Mi}
  requests: {cpu: 100m, memory: 128Mi}
env:
- {name: LOG_LEVEL, value: info}
- {name: DATABASE_URL, value: postgres://database.example.com:5432/application}
- {name: FEATURE_FLAGS, value: a-rather-long-list-of-features-that-nobody-remembers}
ports: [{name: http, containerPort: 8080}, {name: metrics, containerPort: 9090}]
annotations: {prometheus.io/scrape: 'true', prometheus.io/port: '9090', description: a service among many others}
nodeSelector: {kubernetes.io/os: linux}
tolerations: []
";

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: x
  labels: {app.kubernetes.io/name: web, app.kubernetes.io/instance: prod, app.kubernetes.io/managed-by: Helm}
spec:
  replicas: 3
  selector: {matchLabels: {app.kubernetes.io/name: web}}
  template:
    metadata: {labels: {app.kubernetes.io/name: web}}
    spec:
      serviceAccountName: web
      containers:
      - name: main
        image: registry.example.com/team/application:v1.2.3
        ports: [{name: http, containerPort: 8080}]
        env: [{name: A, value: b}, {name: C, value: d}]
        resources: {limits: {cpu: 500m, memory: 512Mi}, requests: {cpu: 100m, memory: 128Mi}}
";
