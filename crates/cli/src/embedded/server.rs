//! Serves the embedded cluster on a port of this machine, so that other programs can use it.

use std::net::SocketAddr;
use std::path::Path;

use pintle::embedded::Api;
use pintle::embedded::serve::{self, Identity, Settings};
use rand::RngCore as _;
use rand::rngs::OsRng;
use tokio::net::TcpListener;

use crate::failure::{Failure, reason};

/// A port that nothing answers on yet, and the kubeconfig for it.
pub(crate) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    settings: Settings,
    /// Has a certificate and a token, which are generated at each start and give full access.
    pub(crate) kubeconfig: String,
}

impl Server {
    /// Listens at an address; port 0 picks a free one. With `insecure` there is neither TLS nor a token.
    ///
    /// # Errors
    ///
    /// An address that cannot be listened at.
    pub(crate) async fn bind(address: SocketAddr, insecure: bool) -> Result<Server, Failure> {
        let failed = |error| cannot_listen(address, &error);
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        let identity = if insecure { None } else { Some(identity(local)?) };
        let kubeconfig = serve::kubeconfig(local, identity.as_ref());
        let settings = Settings { identity, ..Settings::default() };
        Ok(Server { listener, address, settings, kubeconfig })
    }

    /// Writes the kubeconfig to a file that only the user can read.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub(crate) fn write_kubeconfig(&self, file: &str) -> Result<(), Failure> {
        crate::private_file::write(Path::new(file), self.kubeconfig.as_bytes())
            .map_err(|error| Failure::run_time(format!("cannot write `{file}`: {}", reason(&error))))
    }

    /// Serves the cluster and runs its controllers until `end`.
    ///
    /// # Errors
    ///
    /// A port that cannot be served any more.
    pub(crate) async fn serve(self, api: &Api, end: impl Future<Output = ()>) -> Result<(), Failure> {
        tokio::select! {
            served = serve::serve(api.clone(), self.listener, &self.settings, end) => {
                served.map_err(|error| cannot_listen(self.address, &error))
            }
            () = api.run_controllers() => Ok(()),
        }
    }
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Failure {
    Failure::run_time(format!("cannot listen at {address}: {}", reason(error)))
}

/// Generates a certificate for the address, and a token.
fn identity(address: SocketAddr) -> Result<Identity, Failure> {
    let failed = |why: String| Failure::run_time(format!("cannot create a certificate: {why}"));
    let made = pintle_sprig::server_certificate(&[address.ip()]).map_err(failed)?;
    let mut token = [0; 32];
    OsRng.try_fill_bytes(&mut token).map_err(|error| failed(error.to_string()))?;
    let token = token.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    Ok(Identity { certificate: made.certificate, key: made.key, token })
}

/// Parses a loopback address.
///
/// # Errors
///
/// Other addresses: whoever reaches the port has full access.
pub(crate) fn address(text: &str) -> Result<SocketAddr, Failure> {
    let refused = |why: String| Err(Failure::usage(why).hint("use an address such as 127.0.0.1:6443"));
    match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Ok(address),
        Ok(_) => refused(format!("`{text}` is not a loopback address")),
        Err(_) => match text.rsplit_once(':') {
            Some((_, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                refused(format!("`{text}` is not an address with a port between 0 and 65535"))
            }
            _ => refused(format!("`{text}` is not an address with a port")),
        },
    }
}
