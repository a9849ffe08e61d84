//! The embedded API server, called in the process.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use pintle_embedded::schema::ApiCatalog;
use pintle_embedded::store::{HistoryWindow, Store};
use pintle_embedded::{Api, Options, SystemClock};

use super::answer::Answer;
use super::case::Case;

pub(crate) struct Embedded {
    runtime: tokio::runtime::Runtime,
    api: Api,
}

impl Embedded {
    pub(crate) fn start(version: &str) -> Embedded {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let catalog = ApiCatalog::for_version(version).unwrap();
        let options = Options {
            catalog,
            store: Store::in_memory(HistoryWindow::default()),
            clock: Arc::new(SystemClock),
            seed: 1,
        };
        let api = runtime.block_on(Api::start(options)).unwrap();
        Embedded { runtime, api }
    }

    pub(crate) fn send(&self, case: &Case) -> Answer {
        let mut request = http::Request::builder().method(case.method.as_str()).uri(case.path.as_str());
        for (name, value) in &case.headers {
            request = request.header(name, value);
        }
        let request = request.body(Bytes::from(case.body.clone())).unwrap();
        self.runtime.block_on(async {
            let response = self.api.call(request).await;
            let (head, body) = response.into_parts();
            let text = |name: &http::HeaderName| {
                let values = head.headers.get_all(name).iter();
                values.map(|value| value.to_str().unwrap().to_owned()).collect::<Vec<_>>()
            };
            Answer {
                code: head.status.as_u16(),
                content_type: text(&http::header::CONTENT_TYPE).concat(),
                warnings: text(&http::header::WARNING),
                body: body.collect().await.unwrap().to_bytes().to_vec(),
            }
        })
    }
}
