//! Which addresses may be connected to. The connection itself asks, for each address that a host name resolves to: a name
//! that was checked before could resolve differently a moment later (DNS rebinding).

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use http::Uri;
use hyper_util::client::legacy::connect::dns::Name;
use tower::Service;

/// How the reason ends if an address is not public; callers recognise the case by it.
pub const NOT_PUBLIC: &str = "which is not a public address";

/// Decides by host and address.
type Allowed = dyn Fn(&str, IpAddr) -> bool + Send + Sync;

/// Decides which addresses may be connected to.
#[derive(Clone)]
pub struct AddressCheck(Arc<Allowed>);

impl AddressCheck {
    /// Allows what the function returns true for: the host as the URL has it, and one of its addresses.
    pub fn new(allowed: impl Fn(&str, IpAddr) -> bool + Send + Sync + 'static) -> AddressCheck {
        AddressCheck(Arc::new(allowed))
    }

    /// Checks the host of a URL that is an address, which no resolver sees.
    ///
    /// # Errors
    /// When it may not be connected to.
    pub fn check_literal(&self, uri: &Uri) -> Result<(), Refused> {
        let host = uri.host().unwrap_or_default();
        match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            Ok(address) => self.check(host, address),
            Err(_) => Ok(()),
        }
    }

    fn check(&self, host: &str, address: IpAddr) -> Result<(), Refused> {
        match (self.0)(host, address) {
            true => Ok(()),
            false => Err(Refused { host: host.to_owned(), address }),
        }
    }
}

impl fmt::Debug for AddressCheck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AddressCheck")
    }
}

/// An address that may not be connected to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{host} is at {address}, {NOT_PUBLIC}")]
pub struct Refused {
    host: String,
    address: IpAddr,
}

impl Refused {
    /// The refusal that an error is about.
    pub(crate) fn find<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e Refused> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(refused) = error.downcast_ref::<Refused>() {
                return Some(refused);
            }
            // `io::Error` does not report its inner error as source.
            next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
                Some(held) => Some(held),
                None => error.source(),
            };
        }
        None
    }
}

/// A DNS resolver that fails unless all addresses of a name are allowed.
#[derive(Clone, Debug, Default)]
pub struct Resolver {
    check: Option<AddressCheck>,
}

impl Resolver {
    /// A resolver; without a check, all addresses are allowed.
    pub fn new(check: Option<AddressCheck>) -> Resolver {
        Resolver { check }
    }
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let check = self.check.clone();
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            for address in &found {
                if let Some(check) = &check {
                    check
                        .check(name.as_str(), address.ip())
                        .map_err(|refused| io::Error::new(io::ErrorKind::PermissionDenied, refused))?;
                }
            }
            Ok(found.into_iter())
        })
    }
}
