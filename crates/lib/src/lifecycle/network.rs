//! The network for scripts that may use it.

use std::sync::Arc;

use pintle_lua::{Fetch, FetchRequest, FetchResponse, is_public};
use pintle_registry::fetch::{Fetcher, Sent};

/// Sends the requests of scripts: to the public network alone, or to private addresses, too.
#[derive(Clone)]
pub struct Network(Fetcher);

impl Network {
    /// The public network.
    pub fn public() -> Network {
        Network(Fetcher::new(Arc::new(is_public)))
    }

    /// The public network, this machine and the networks that it is in.
    pub fn with_private_addresses() -> Network {
        Network(Fetcher::new(Arc::new(|_| true)))
    }
}

impl Fetch for Network {
    fn fetch(&self, request: &FetchRequest) -> Result<FetchResponse, String> {
        let received = self.0.fetch(&Sent {
            method: request.method.clone(),
            url: request.url.clone(),
            headers: request.headers.clone(),
            body: request.body.clone(),
            timeout: request.timeout,
            max_bytes: request.max_bytes,
        })?;
        Ok(FetchResponse { status: received.status, headers: received.headers, body: received.body })
    }
}
