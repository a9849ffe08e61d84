//! Pooled connections to the server; a TLS handshake takes longer than most requests.

use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::message::{self, Request};

/// A plain or TLS connection.
trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

type Connection = BufReader<Box<dyn Stream>>;

/// The API server behind the proxy.
pub(super) struct Upstream {
    address: String,
    /// The TLS configuration, if the server uses TLS.
    security: Option<Arc<ClientConfig>>,
    idle: Mutex<Vec<Connection>>,
}

impl Upstream {
    /// Creates the upstream for a URL; `https` uses the certificates in this folder.
    pub(super) fn new(server: &str, keys: &Path) -> Upstream {
        let server = server.trim_end_matches('/');
        let (address, security) = match server.strip_prefix("https://") {
            Some(address) => (address, Some(Arc::new(Upstream::security(keys)))),
            None => (server.strip_prefix("http://").expect("a test server speaks HTTP"), None),
        };
        let address = if address.contains(':') { address.to_owned() } else { format!("{address}:443") };
        Upstream { address, security, idle: Mutex::default() }
    }

    fn security(keys: &Path) -> ClientConfig {
        let certificates = |file: &str| -> Vec<CertificateDer<'static>> {
            let read = CertificateDer::pem_file_iter(keys.join(file)).and_then(Iterator::collect);
            read.unwrap_or_else(|error| panic!("{file}: {error}"))
        };
        let mut roots = RootCertStore::empty();
        for root in certificates("ca.crt") {
            roots.add(root).expect("the cluster's authority is a certificate");
        }
        let key = PrivateKeyDer::from_pem_file(keys.join("user.key")).expect("the user has a key");
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider knows TLS 1.3")
            .with_root_certificates(roots)
            .with_client_auth_cert(certificates("user.crt"), key)
            .expect("the key is that of the certificate")
    }

    /// Sends a request and streams the response back.
    pub(super) fn exchange(&self, request: &Request, client: &mut dyn Write) -> io::Result<()> {
        let mut connection = self.connection()?;
        request.write(connection.get_mut())?;
        if message::relay(&mut connection, client, &request.method)? {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
        Ok(())
    }

    fn connection(&self) -> io::Result<Connection> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(connection) = idle {
            return Ok(connection);
        }
        let socket = TcpStream::connect(&self.address)?;
        socket.set_nodelay(true)?;
        let Some(security) = &self.security else { return Ok(BufReader::new(Box::new(socket))) };
        let (host, _) = self.address.rsplit_once(':').unwrap_or((&self.address, ""));
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let session = ClientConnection::new(Arc::clone(security), name).map_err(io::Error::other)?;
        Ok(BufReader::new(Box::new(StreamOwned::new(session, socket))))
    }
}
