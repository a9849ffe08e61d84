//! Proxies from kubeconfig and environment, and exec credential plugins, compared with the real Helm.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pintle_e2e::{CommandResult, Program, TestEnv, needs_real};

const PROGRAMS: [Program; 3] = [Program::Helm4, Program::PintleAsHelm, Program::Pintle];

/// The host name of the server. Only the proxy can resolve it, and the server's certificate is valid for it.
const NAME: &str = "kubernetes";

/// The protocol of the proxy.
#[derive(Clone, Copy, Debug)]
enum ProxyProtocol {
    Connect,
    Socks,
}

/// A proxy that connects to the test server.
struct Proxy {
    address: SocketAddr,
    /// The number of forwarded connections.
    taken: Arc<AtomicUsize>,
}

impl Proxy {
    fn new(speech: ProxyProtocol, server: String) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let address = listener.local_addr().expect("a bound socket has an address");
        let taken = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&taken);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (server, counted) = (server.clone(), Arc::clone(&counted));
                std::thread::spawn(move || {
                    // Any other request is rejected by closing the connection.
                    let _ = serve(speech, client, &server, &counted);
                });
            }
        });
        Proxy { address, taken }
    }

    /// Returns and resets the number of forwarded connections.
    fn taken(&self) -> usize {
        self.taken.swap(0, Ordering::SeqCst)
    }
}

fn serve(speech: ProxyProtocol, mut client: TcpStream, server: &str, taken: &AtomicUsize) -> io::Result<()> {
    let wanted = match speech {
        ProxyProtocol::Connect => read_connect(&client)?,
        ProxyProtocol::Socks => read_socks(&mut client)?,
    };
    if wanted != NAME {
        return Err(io::Error::other(format!("{wanted} is not known here")));
    }
    let upstream = TcpStream::connect(server)?;
    taken.fetch_add(1, Ordering::SeqCst);
    match speech {
        ProxyProtocol::Connect => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?,
        ProxyProtocol::Socks => client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?,
    }
    let (mut from, mut to) = (client.try_clone()?, upstream.try_clone()?);
    std::thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    io::copy(&mut &upstream, &mut client)?;
    client.shutdown(Shutdown::Write)
}

/// Reads the host of a CONNECT request. The client sends only the head before the response.
fn read_connect(client: &TcpStream) -> io::Result<String> {
    let mut reader = BufReader::new(client);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = first.clone();
    while !line.trim_end().is_empty() {
        line.clear();
        reader.read_line(&mut line)?;
    }
    let place = first.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    Ok(place.rsplit_once(':').map_or(place, |(host, _)| host).to_owned())
}

/// Reads the host of a SOCKS 5 request without authentication.
fn read_socks(client: &mut TcpStream) -> io::Result<String> {
    let mut head = [0; 2];
    client.read_exact(&mut head)?;
    let mut methods = vec![0; usize::from(head[1])];
    client.read_exact(&mut methods)?;
    client.write_all(&[5, 0])?;
    let mut request = [0; 5];
    client.read_exact(&mut request)?;
    // Only host names are expected; an address would mean that the client resolved the name itself.
    if request[3] != 3 {
        return Err(io::Error::other("an address instead of a name"));
    }
    let mut rest = vec![0; usize::from(request[4]) + 2];
    client.read_exact(&mut rest)?;
    rest.truncate(usize::from(request[4]));
    String::from_utf8(rest).map_err(io::Error::other)
}

/// The value of a key in the kubeconfig.
fn kubeconfig_value(env: &TestEnv, key: &str) -> String {
    let text = std::fs::read_to_string(&env.cluster().kubeconfig).expect("the kubeconfig can be read");
    let found =
        text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix(": ").map(str::to_owned));
    found.unwrap_or_else(|| panic!("no {key} in the kubeconfig"))
}

/// The server as `host:port`.
fn server(env: &TestEnv) -> String {
    let server = kubeconfig_value(env, "server");
    let place = server.trim_start_matches("https://").trim_end_matches('/');
    if place.contains(':') { place.to_owned() } else { format!("{place}:443") }
}

/// Writes a kubeconfig. `cluster` and `user` are further lines of it, indented by four.
fn kubeconfig(env: &TestEnv, name: &str, server: &str, cluster: &str, user: &str) -> String {
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: pintle-e2e\n\
         contexts: [{{name: pintle-e2e, context: {{cluster: c, user: u}}}}]\n\
         clusters:\n- name: c\n  cluster:\n    server: {server}\n    certificate-authority-data: {}\n{cluster}\
         users:\n- name: u\n  user:\n{user}",
        kubeconfig_value(env, "certificate-authority-data"),
    );
    env.write(name, &text).to_string_lossy().into_owned()
}

/// The client certificate of the tests' kubeconfig.
fn certificate(env: &TestEnv) -> String {
    ["client-certificate-data", "client-key-data"]
        .map(|key| format!("    {key}: {}\n", kubeconfig_value(env, key)))
        .concat()
}

fn list(env: &TestEnv, program: Program, kubeconfig: &str, environment: &[(&str, &str)]) -> CommandResult {
    let mut command = env.command(program);
    command.args(["list"]).env("HELM_DRIVER", "secret").env("KUBECONFIG", kubeconfig);
    command.envs(environment.iter().copied()).output().expect("the program can be run").into()
}

#[test]
fn a_proxy_that_the_kubeconfig_names_leads_to_the_server() {
    needs_real!("goes to a server that speaks TLS");
    let Some(env) = TestEnv::new("a_proxy_that_the_kubeconfig_names") else { return };
    for (speech, scheme) in [(ProxyProtocol::Connect, "http"), (ProxyProtocol::Socks, "socks5")] {
        let proxy = Proxy::new(speech, server(&env));
        let line = format!("    proxy-url: {scheme}://{}\n", proxy.address);
        let through = kubeconfig(&env, "through", &format!("https://{NAME}"), &line, &certificate(&env));
        let strange = kubeconfig(&env, "strange", "https://elsewhere", &line, &certificate(&env));
        for program in PROGRAMS {
            list(&env, program, &through, &[]).succeeded();
            assert!(proxy.taken() > 0, "{program:?} {speech:?}");
            // The kubeconfig takes precedence over the environment.
            list(&env, program, &through, &[("HTTPS_PROXY", "http://127.0.0.1:1")]).succeeded();
            assert!(proxy.taken() > 0, "{program:?} {speech:?}");
            list(&env, program, &strange, &[]).failed();
            assert_eq!(proxy.taken(), 0, "{program:?} {speech:?}");
        }
    }
}

#[test]
fn a_proxy_that_the_environment_names_leads_to_the_server() {
    needs_real!("goes to a server that speaks TLS");
    let Some(env) = TestEnv::new("a_proxy_that_the_environment_names") else { return };
    for (speech, scheme) in [(ProxyProtocol::Connect, "http"), (ProxyProtocol::Socks, "socks5")] {
        let proxy = Proxy::new(speech, server(&env));
        let address = format!("{scheme}://{}", proxy.address);
        let through = kubeconfig(&env, "through", &format!("https://{NAME}"), "", &certificate(&env));
        for program in PROGRAMS {
            for variable in ["HTTPS_PROXY", "https_proxy"] {
                list(&env, program, &through, &[(variable, &address)]).succeeded();
                assert!(proxy.taken() > 0, "{program:?} {speech:?} {variable}");
            }
            let spared = [("HTTPS_PROXY", address.as_str()), ("NO_PROXY", NAME)];
            list(&env, program, &through, &spared).failed();
            assert_eq!(proxy.taken(), 0, "{program:?} {speech:?}: NO_PROXY");
        }
    }
}

/// The kubeconfig lines of a user with an exec plugin and its environment.
fn given_by(program: &str) -> String {
    format!(
        "    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      command: {program}\n      \
         args: [credentials]\n      env:\n      - {{name: KIND_OF_CREDENTIALS, value: from the kubeconfig}}\n      \
         interactiveMode: Never\n      provideClusterInfo: true\n"
    )
}

#[test]
fn a_program_gives_credentials_and_gets_its_environment() {
    needs_real!("asks a server that knows who asks");
    let Some(env) = TestEnv::new("a_program_gives_credentials") else { return };
    // The plugin prints credentials only with the right arguments, environment and cluster information.
    let script = r#"#!/bin/sh
[ "$1" = credentials ] && [ "$KIND_OF_CREDENTIALS" = "from the kubeconfig" ] && [ -n "$HOME" ] || exit 7
case "$KUBERNETES_EXEC_INFO" in *'"server":"SERVER"'*) ;; *) exit 8 ;; esac
echo asked >> asked
cat answer.json
"#;
    let address = kubeconfig_value(&env, "server");
    let program = env.write("credentials", &script.replace("SERVER", &address));
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("is ours");
    let decoded = |key: &str| {
        use base64::Engine as _;
        let bytes =
            base64::engine::general_purpose::STANDARD.decode(kubeconfig_value(&env, key)).expect("is base64");
        String::from_utf8(bytes).expect("is PEM")
    };
    let answer = |status: serde_json::Value| {
        let answer = serde_json::json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": status,
        });
        env.write("answer.json", &answer.to_string());
    };
    let path = kubeconfig(&env, "given", &address, "", &given_by(&program.to_string_lossy()));
    for program in PROGRAMS {
        answer(serde_json::json!({
            "clientCertificateData": decoded("client-certificate-data"),
            "clientKeyData": decoded("client-key-data"),
        }));
        list(&env, program, &path, &[]).succeeded();
    }
    answer(serde_json::json!({"token": "nobody knows it"}));
    fail_alike(&env, &path, "asked for the client to provide credentials");
    assert!(env.folder().join("asked").exists());
    let broken = kubeconfig(&env, "broken", &address, "", &given_by("/no/such/program"));
    fail_alike(&env, &broken, "/no/such/program");
}

/// Asserts that all programs fail for this reason, and ours with Helm's message if invoked as `helm`.
fn fail_alike(env: &TestEnv, kubeconfig: &str, reason: &str) {
    let [real, ours, own] = PROGRAMS.map(|program| list(env, program, kubeconfig, &[]).failed().stderr);
    assert_eq!(ours, real);
    for printed in [real, own] {
        assert!(printed.contains(reason), "{printed}");
    }
}
