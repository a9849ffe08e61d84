//! The framework of the end-to-end tests: a namespace per test, the programs, and independent reads of objects.
//!
//! `cargo xtask e2e` starts a cluster and sets `PINTLE_E2E_KUBECONFIG` and `PINTLE_E2E_LEVEL` (see [`Level`]). Without them
//! every test prints that it is skipped and passes. A context that is not named `pintle-e2e…` is rejected, because tests
//! write to the cluster.
//!
//! The same tests run on a real Kubernetes and, with `cargo xtask e2e --on embedded`, on the embedded API. Tests that
//! cannot pass there begin with [`needs_real!`]. The embedded API runs no containers; where a test needs a pod to log or to
//! fail, its chart has annotations in addition to the command that a real node runs ([`write_simulation_helpers`]).
//!
//! ```no_run
//! # fn a_test() {
//! use pintle_e2e::{TestEnv, Program};
//!
//! let Some(env) = TestEnv::new("an_install_makes_a_secret") else { return };
//! env.run(Program::Pintle, &["install", "web", "chart"]).succeeded();
//! assert!(env.object("v1", "secrets", "sh.helm.release.v1.web.v1").is_some());
//! # }
//! ```

mod api;
mod cluster;
mod cluster_lock;
mod embedded_server;
mod kill_points;
mod pod_simulation;
mod program;
mod proxy;
mod test_env;
mod test_release;

pub use api::{Api, DryRunResult, Response};
pub use cluster::{Cluster, Level};
pub use cluster_lock::Lock;
pub use kill_points::is_selected;
pub use pintle_testkit::{archive, needs_real, skip};
pub use pod_simulation::{simulated_log, write_simulation_helpers};
pub use program::{CommandResult, Program};
pub use proxy::{Action, ProxiedRequest, Proxy};
pub use test_env::TestEnv;
pub use test_release::{Store, TestRelease, write_chart};
