//! The components of a cluster and their flags.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A process of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Component {
    /// Names its log, and the file in `done/` that others wait for.
    pub(super) name: String,
    /// The program and its arguments.
    pub(super) command: Vec<String>,
    /// Files in `done/` that must be there before it starts.
    pub(super) after: Vec<String>,
    /// Whether it exits by itself; it is repeated until it succeeds.
    pub(super) ends: bool,
}

impl Component {
    pub(super) fn new(name: &str, command: impl IntoIterator<Item = String>) -> Component {
        Component {
            name: name.to_owned(),
            command: command.into_iter().collect(),
            after: Vec::new(),
            ends: false,
        }
    }

    fn after(mut self, names: &[&str]) -> Component {
        self.after = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// For the process that reads it inside the node.
    pub(super) fn to_json(&self) -> Value {
        json!({"name": self.name, "command": self.command, "after": self.after, "ends": self.ends})
    }

    /// What [`Component::to_json`] wrote.
    pub(super) fn from_json(value: &Value) -> Option<Component> {
        let texts = |key: &str| -> Option<Vec<String>> {
            value[key].as_array()?.iter().map(|text| text.as_str().map(ToOwned::to_owned)).collect()
        };
        Some(Component {
            name: value["name"].as_str()?.to_owned(),
            command: texts("command")?,
            after: texts("after")?,
            ends: value["ends"].as_bool()?,
        })
    }
}

/// The paths and addresses that the components use.
pub(super) struct ClusterConfig {
    /// The state folder, as the components see it.
    pub(super) home: PathBuf,
    /// The program that is all components of Kubernetes.
    pub(super) kubeall: PathBuf,
    /// The API server's address.
    pub(super) address: String,
    /// Ports of the API server, of etcd for clients and peers, of the controller manager and of the scheduler.
    pub(super) ports: [u16; 5],
    /// The addresses that Services get.
    pub(super) services: String,
}

impl ClusterConfig {
    /// etcd and the API server.
    pub(super) fn core(&self) -> Vec<Component> {
        vec![self.etcd(), self.apiserver()]
    }

    /// Controller manager and scheduler; started when the API server is ready.
    pub(super) fn controllers(&self) -> Vec<Component> {
        vec![self.controller_manager(), self.scheduler()]
    }

    /// containerd, the images, the kubelet and kube-proxy.
    pub(super) fn runtime(&self, images: &[&str]) -> Vec<Component> {
        let home = self.home.display();
        let settings = |file: &str| format!("{home}/settings/{file}");
        let mut import: Vec<String> =
            ["/run/debian/usr/bin/ctr", "--address=/run/containerd/containerd.sock", "--namespace=k8s.io"]
                .map(ToOwned::to_owned)
                .to_vec();
        import.extend(["images".to_owned(), "import".to_owned()]);
        let mut components = vec![Component::new(
            "containerd",
            [
                "/run/debian/usr/bin/containerd".to_owned(),
                format!("--config={}", settings("containerd.toml")),
            ],
        )];
        for image in images {
            let archive = format!("{home}/images/{image}.tar");
            let command = import.iter().cloned().chain([archive]);
            components.push(Component { ends: true, ..Component::new(&format!("image-{image}"), command) });
        }
        let imported: Vec<String> = images.iter().map(|image| format!("image-{image}")).collect();
        let mut kubelet_after: Vec<&str> = imported.iter().map(String::as_str).collect();
        kubelet_after.push("api");
        components.push(self.kubelet().after(&kubelet_after));
        let config = format!("--config={}", settings("kube-proxy.yaml"));
        components.push(self.part("kube-proxy", vec![config]).after(&["api"]));
        components
    }

    fn part(&self, name: &str, flags: Vec<String>) -> Component {
        Component::new(name, [self.kubeall.display().to_string(), name.to_owned()].into_iter().chain(flags))
    }

    fn etcd(&self) -> Component {
        let [_, clients, peers, ..] = self.ports;
        let (clients, peers) = (format!("http://127.0.0.1:{clients}"), format!("http://127.0.0.1:{peers}"));
        self.part(
            "etcd",
            vec![
                "--name=one".to_owned(),
                format!("--data-dir={}/etcd", self.home.display()),
                // Durability is not needed: the data is deleted with the cluster.
                "--unsafe-no-fsync".to_owned(),
                "--log-level=warn".to_owned(),
                format!("--listen-client-urls={clients}"),
                format!("--advertise-client-urls={clients}"),
                format!("--listen-peer-urls={peers}"),
                format!("--initial-advertise-peer-urls={peers}"),
                format!("--initial-cluster=one={peers}"),
            ],
        )
    }

    fn apiserver(&self) -> Component {
        let keys = format!("{}/keys", self.home.display());
        let [port, etcd, ..] = self.ports;
        let mut flags = vec![
            format!("--etcd-servers=http://127.0.0.1:{etcd}"),
            format!("--secure-port={port}"),
            format!("--advertise-address={}", self.address),
            format!("--service-cluster-ip-range={}", self.services),
            format!("--tls-cert-file={keys}/apiserver.crt"),
            format!("--tls-private-key-file={keys}/apiserver.key"),
            format!("--client-ca-file={keys}/ca.crt"),
            format!("--token-auth-file={keys}/tokens.csv"),
            "--authorization-mode=Node,RBAC".to_owned(),
            "--enable-admission-plugins=NodeRestriction".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={keys}/accounts.pub"),
            format!("--service-account-signing-key-file={keys}/accounts.key"),
            format!("--kubelet-certificate-authority={keys}/ca.crt"),
            format!("--kubelet-client-certificate={keys}/apiserver-asks-kubelet.crt"),
            format!("--kubelet-client-key={keys}/apiserver-asks-kubelet.key"),
            "--kubelet-preferred-address-types=InternalIP".to_owned(),
            format!("--requestheader-client-ca-file={keys}/ca.crt"),
            "--requestheader-allowed-names=front-proxy".to_owned(),
            "--requestheader-username-headers=X-Remote-User".to_owned(),
            "--requestheader-group-headers=X-Remote-Group".to_owned(),
            "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
            format!("--proxy-client-cert-file={keys}/front-proxy.crt"),
            format!("--proxy-client-key-file={keys}/front-proxy.key"),
            "--allow-privileged=true".to_owned(),
            "--profiling=false".to_owned(),
        ];
        if self.is_on_loopback() {
            // Endpoints must not be loopback addresses, so the Service of the API server has none.
            flags.push(format!("--bind-address={}", self.address));
            flags.push("--endpoint-reconciler-type=none".to_owned());
        }
        self.part("kube-apiserver", flags)
    }

    fn is_on_loopback(&self) -> bool {
        self.address.starts_with("127.")
    }

    fn controller_manager(&self) -> Component {
        let home = self.home.display();
        let mut flags = self.controller_flags("kube-controller-manager", self.ports[3]);
        flags.extend([
            "--use-service-account-credentials=true".to_owned(),
            format!("--service-account-private-key-file={home}/keys/accounts.key"),
            format!("--root-ca-file={home}/keys/ca.crt"),
            format!("--cluster-signing-cert-file={home}/keys/ca.crt"),
            format!("--cluster-signing-key-file={home}/keys/ca.key"),
            // The default is a folder below /usr.
            format!("--flex-volume-plugin-dir={home}/kubelet/plugins"),
            // Volumes are made in /tmp, which is ours only inside a node.
            format!("--enable-hostpath-provisioner={}", !self.is_on_loopback()),
        ]);
        self.part("kube-controller-manager", flags).after(&["api"])
    }

    fn scheduler(&self) -> Component {
        self.part("kube-scheduler", self.controller_flags("kube-scheduler", self.ports[4])).after(&["api"])
    }

    /// With the default rate the controllers take five seconds to start instead of one.
    fn controller_flags(&self, name: &str, port: u16) -> Vec<String> {
        vec![
            format!("--kubeconfig={}/access/{name}", self.home.display()),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            "--leader-elect=false".to_owned(),
            "--kube-api-qps=300".to_owned(),
            "--kube-api-burst=600".to_owned(),
        ]
    }

    fn kubelet(&self) -> Component {
        let home = self.home.display();
        self.part(
            "kubelet",
            vec![
                format!("--config={home}/settings/kubelet.yaml"),
                format!("--kubeconfig={home}/access/kubelet"),
                format!("--root-dir={home}/kubelet"),
                format!("--cert-dir={home}/kubelet/keys"),
                "--hostname-override=node1".to_owned(),
                format!("--node-ip={}", self.address),
            ],
        )
    }
}

/// The log of the part `name` of the cluster in `folder`.
pub(super) fn log(folder: &Path, name: &str) -> PathBuf {
    folder.join("log").join(format!("{name}.log"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(address: &str) -> ClusterConfig {
        ClusterConfig {
            home: "/home".into(),
            kubeall: "/kubeall".into(),
            address: address.to_owned(),
            ports: [1, 2, 3, 4, 5],
            services: "10.9.2.0/24".to_owned(),
        }
    }

    #[test]
    fn a_part_survives_being_written_down() {
        for part in config("10.9.0.2").runtime(&["busybox"]) {
            assert_eq!(Component::from_json(&part.to_json()), Some(part));
        }
    }

    #[test]
    fn the_kubelet_waits_for_the_server_and_for_all_images() {
        let components = config("10.9.0.2").runtime(&["a", "b"]);
        let kubelet = components.iter().find(|part| part.name == "kubelet").unwrap();
        assert_eq!(kubelet.after, ["image-a", "image-b", "api"]);
    }

    #[test]
    fn only_a_server_on_loopback_is_kept_from_the_network() {
        let binds =
            |address| config(address).apiserver().command.iter().any(|flag| flag.starts_with("--bind"));
        assert!(binds("127.0.0.1") && !binds("10.9.0.2"));
    }
}
