//! The credentials of a test cluster: certificates, tokens and the kubeconfig files that carry them.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::build::hex;
use crate::shell::output;

/// The file of each user that signs on with a token, the user, and a last column with its group.
const USERS: [(&str, &str, &str); 5] = [
    ("kube-controller-manager", "system:kube-controller-manager", ""),
    ("kube-scheduler", "system:kube-scheduler", ""),
    ("kube-proxy", "system:kube-proxy", ""),
    ("kubelet", "system:node:node1", ",system:nodes"),
    ("limited", "limited", ""),
];

/// Writes `keys/` and `access/` of a cluster, and its `kubeconfig`.
///
/// `outside` is the server as tests reach it, `inside` as its own components do.
pub(super) fn write(
    folder: &Path,
    context: &str,
    addresses: &[&str],
    outside: &str,
    inside: &str,
) -> Result<()> {
    let keys = folder.join("keys");
    certificates(&keys, addresses)?;
    let access = folder.join("access");
    let mut tokens = String::new();
    for (file, user, group) in USERS {
        let token = token()?;
        tokens.push_str(&format!("{token},{user},{user}{group}\n"));
        let (server, context) = if file == "limited" { (outside, context) } else { (inside, "inside") };
        let credentials = format!("    token: {token}\n");
        fs::write(access.join(file), kubeconfig(&keys, context, server, user, &credentials)?)?;
    }
    fs::write(keys.join("tokens.csv"), tokens)?;
    let credentials = format!(
        "    client-certificate-data: {}\n    client-key-data: {}\n",
        STANDARD.encode(fs::read(keys.join("admin.crt"))?),
        STANDARD.encode(fs::read(keys.join("admin.key"))?)
    );
    fs::write(folder.join("kubeconfig"), kubeconfig(&keys, context, outside, "admin", &credentials)?)?;
    Ok(())
}

/// One CA for everything, and the certificates that it signs.
fn certificates(folder: &Path, addresses: &[&str]) -> Result<()> {
    let names = ["", ".default", ".default.svc", ".default.svc.cluster.local"];
    let mut alternatives = names.map(|end| format!("DNS:kubernetes{end}")).join(",");
    alternatives.push_str(",DNS:localhost");
    addresses.iter().for_each(|address| alternatives.push_str(&format!(",IP:{address}")));
    let server = ["extendedKeyUsage=serverAuth".to_owned(), format!("subjectAltName={alternatives}")];
    let client = ["extendedKeyUsage=clientAuth".to_owned()];
    certificate(folder, "ca", "/CN=test cluster", &["keyUsage=critical,keyCertSign,cRLSign".to_owned()])?;
    certificate(folder, "apiserver", "/CN=kube-apiserver", &server)?;
    certificate(folder, "kubelet", "/CN=kubelet", &server)?;
    certificate(folder, "admin", "/O=system:masters/CN=admin", &client)?;
    certificate(folder, "apiserver-asks-kubelet", "/CN=apiserver-asks-kubelet", &client)?;
    certificate(folder, "front-proxy", "/CN=front-proxy", &client)?;
    // Service accounts need a bare pair of keys.
    let pair = folder.join("accounts.key");
    output(openssl(&["ecparam", "-genkey", "-noout", "-name", "prime256v1", "-out"]).arg(&pair))?;
    let public = folder.join("accounts.pub");
    output(openssl(&["ec", "-pubout", "-in"]).arg(&pair).arg("-out").arg(public))?;
    Ok(())
}

/// One key and its certificate, signed by `ca`, which signs itself.
pub(crate) fn certificate(folder: &Path, name: &str, subject: &str, extensions: &[String]) -> Result<()> {
    let authority = name == "ca";
    let mut command = openssl(&["req", "-x509", "-nodes", "-days", "3650", "-newkey", "ec", "-pkeyopt"]);
    command.args(["ec_paramgen_curve:P-256", "-subj", subject, "-addext"]);
    command.arg(format!("basicConstraints=critical,CA:{}", if authority { "TRUE" } else { "FALSE" }));
    for extension in extensions {
        command.args(["-addext", extension]);
    }
    if !authority {
        command.arg("-CA").arg(folder.join("ca.crt")).arg("-CAkey").arg(folder.join("ca.key"));
    }
    command.arg("-keyout").arg(folder.join(format!("{name}.key")));
    command.arg("-out").arg(folder.join(format!("{name}.crt")));
    output(&mut command).map(drop)
}

/// OpenSSL without the machine's configuration, which may add extensions.
fn openssl(arguments: &[&str]) -> Command {
    let mut command = Command::new("openssl");
    command.args(arguments).env("OPENSSL_CONF", "/dev/null");
    command
}

fn token() -> Result<String> {
    let mut bytes = [0; 16];
    let mut source = fs::File::open("/dev/urandom").context("cannot open /dev/urandom")?;
    source.read_exact(&mut bytes).context("cannot read /dev/urandom")?;
    Ok(hex(&bytes))
}

fn kubeconfig(keys: &Path, context: &str, server: &str, user: &str, credentials: &str) -> Result<String> {
    let authority = STANDARD.encode(fs::read(keys.join("ca.crt"))?);
    Ok(format!(
        "\
apiVersion: v1
kind: Config
clusters:
- name: {context}
  cluster:
    certificate-authority-data: {authority}
    server: {server}
contexts:
- name: {context}
  context:
    cluster: {context}
    user: {user}
current-context: {context}
users:
- name: {user}
  user:
{credentials}"
    ))
}
