//! What tests on a real cluster are written with: a namespace of their own, the programs, and plain reads of objects.
//!
//! `cargo xtask e2e` starts a cluster and says in `PINTLE_E2E_KUBECONFIG` how to reach it and in `PINTLE_E2E_LEVEL` how
//! much of it there is. Without them every test says that it is skipped and passes. A cluster whose context is not named
//! `pintle-e2e…` is refused: tests write to what they find.
//!
//! ```no_run
//! # fn a_test() {
//! use pintle_e2e::{Bench, Program};
//!
//! let Some(bench) = Bench::new("an_install_makes_a_secret") else { return };
//! bench.run(Program::Pintle, &["install", "web", "chart"]).succeeded();
//! assert!(bench.object("v1", "secrets", "sh.helm.release.v1.web.v1").is_some());
//! # }
//! ```

mod api;
mod bench;
mod cluster;
mod program;
mod proxy;
mod subject;

pub use api::{Answer, Api};
pub use bench::{Bench, skip};
pub use cluster::{Cluster, Level};
pub use program::{Program, Ran};
pub use proxy::{Fate, Proxy, Seen};
pub use subject::{Store, Subject, write_chart};
