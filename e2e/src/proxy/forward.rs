//! The connections to the real server, which are used again because shaking hands takes longer than most requests.

use std::io::{self, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::message::{self, Request};

type Connection = BufReader<StreamOwned<ClientConnection, TcpStream>>;

/// The real server.
pub(super) struct Upstream {
    address: String,
    config: Arc<ClientConfig>,
    idle: Mutex<Vec<Connection>>,
}

impl Upstream {
    /// The server at this address, with the certificates in this folder.
    pub(super) fn new(server: &str, keys: &Path) -> Upstream {
        let address =
            server.strip_prefix("https://").expect("a test server speaks TLS").trim_end_matches('/');
        let address = if address.contains(':') { address.to_owned() } else { format!("{address}:443") };
        let certificates = |file: &str| -> Vec<CertificateDer<'static>> {
            let read = CertificateDer::pem_file_iter(keys.join(file)).and_then(Iterator::collect);
            read.unwrap_or_else(|error| panic!("{file}: {error}"))
        };
        let mut roots = RootCertStore::empty();
        for root in certificates("ca.crt") {
            roots.add(root).expect("the cluster's authority is a certificate");
        }
        let key = PrivateKeyDer::from_pem_file(keys.join("user.key")).expect("the user has a key");
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider knows TLS 1.3")
            .with_root_certificates(roots)
            .with_client_auth_cert(certificates("user.crt"), key)
            .expect("the key is that of the certificate");
        Upstream { address, config: Arc::new(config), idle: Mutex::default() }
    }

    /// Sends a request and takes the answer back as it arrives.
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
        let (host, _) = self.address.rsplit_once(':').unwrap_or((&self.address, ""));
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let session = ClientConnection::new(Arc::clone(&self.config), name).map_err(io::Error::other)?;
        let socket = TcpStream::connect(&self.address)?;
        socket.set_nodelay(true)?;
        Ok(BufReader::new(StreamOwned::new(session, socket)))
    }
}
