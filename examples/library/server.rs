//! Lists, watches, plans and upgrades releases over HTTP: `cargo run -p pintle --example server -- KUBECONFIG CHARTS`. `GET
//! /releases`, `GET /watch`, `POST /plan/NAMESPACE/NAME/CHART`, `POST /upgrade/NAMESPACE/NAME/CHART` with values as YAML.
//! For one user on loopback: there is no authentication, and charts are folders below CHARTS.
use std::{path::Path, path::PathBuf, sync::Arc};

use anyhow::{Context as _, Result, ensure};
use futures::StreamExt as _;
use http_body_util::{BodyExt as _, Limited, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::{Request, Response, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use pintle::cluster::{Cluster, Settings, store::NativeStore};
use pintle::ops::{InstallRequest, PageRequest, PlanRequest, UpgradeRequest, WatchRequest};
use pintle::ops::{list_page, plan, start, upgrade, watch};
use pintle::{Session, Silent, ValuesLayer};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(PathBuf::from);
    let (kubeconfig, charts) = (arguments.next().context("KUBECONFIG")?, arguments.next().context("CHARTS")?);
    let cluster = Cluster::connect(&Settings { kubeconfig: vec![kubeconfig], ..Settings::default() }).await?;
    let session = Session::new(cluster.clone(), Arc::new(NativeStore::new(cluster)));
    serve(TcpListener::bind("127.0.0.1:8080").await?, session, charts).await
}
type Answer = UnsyncBoxBody<Bytes, std::convert::Infallible>;

pub(crate) async fn serve(listener: TcpListener, session: Session, charts: PathBuf) -> Result<()> {
    loop {
        let (socket, session, charts) = (listener.accept().await?.0, session.clone(), charts.clone());
        let handle = service_fn(move |request| {
            let (session, charts) = (session.clone(), charts.clone());
            async move {
                answer(&session, &charts, request).await.or_else(|error| text(400, format!("{error:#}\n")))
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), handle));
    }
}

async fn answer(session: &Session, charts: &Path, request: Request<Incoming>) -> Result<Response<Answer>> {
    let (parts, body) = request.into_parts();
    let path: Vec<&str> = parts.uri.path().split('/').skip(1).collect();
    match (parts.method.as_str(), path.as_slice()) {
        ("GET", ["releases"]) => {
            let page = list_page(session, &PageRequest::default()).await?.releases;
            let line =
                |release: &pintle::release::Summary| format!("{} {}\n", release.name, release.status_word);
            text(200, page.iter().map(line).collect())
        }
        ("GET", ["watch"]) => {
            let changes = watch(session, &WatchRequest::default());
            let lines = changes.map(|change| Ok(Frame::data(Bytes::from(format!("{change:?}\n")))));
            Ok(Response::new(StreamBody::new(lines).boxed_unsync()))
        }
        ("POST", [operation @ ("plan" | "upgrade"), namespace, name, chart]) => {
            ensure!(!chart.starts_with('.') && !chart.contains('\\'), "{chart} is no chart of this server");
            let content =
                Limited::new(body, 1 << 20).collect().await.map_err(anyhow::Error::from_boxed)?.to_bytes();
            let values = vec![ValuesLayer::Bytes { name: "the request".into(), content: content.into() }];
            let (name, namespace) = ((*name).into(), (*namespace).into());
            let target = InstallRequest {
                chart: charts.join(chart).into(),
                name,
                namespace,
                values,
                ..InstallRequest::default()
            };
            let request = UpgradeRequest { target, install: true, ..UpgradeRequest::default() };
            if *operation == "plan" {
                let planned =
                    plan(session, &PlanRequest::Upgrade(Box::new(request)), &mut Silent).await?.plan;
                let line =
                    |object: &pintle::ops::PlannedObject| format!("{} {}\n", object.action.name(), object.id);
                return text(200, planned.objects.iter().map(line).collect());
            }
            // A client that disconnects stops waiting and not the upgrade.
            let run = |session, mut progress| async move { upgrade(&session, &request, &mut progress).await };
            let upgraded = start(session, run).outcome().await?;
            text(200, format!("version {}\n", upgraded.version.number))
        }
        _ => text(404, "no such page\n".to_owned()),
    }
}

fn text(status: u16, text: String) -> Result<Response<Answer>> {
    Ok(Response::builder().status(status).body(text.boxed_unsync())?)
}
