//! What tests on a cluster are written with: a namespace of their own, the programs, and plain reads of objects.
//!
//! `cargo xtask e2e` starts a cluster and says in `PINTLE_E2E_KUBECONFIG` how to reach it and in `PINTLE_E2E_LEVEL` how
//! much of it there is. Without them every test says that it is skipped and passes. A cluster whose context is not named
//! `pintle-e2e…` is refused: tests write to what they find.
//!
//! The same tests run on a real Kubernetes and, with `cargo xtask e2e --on embedded`, on our own API. What cannot be
//! true there says so in its first line ([`needs_real!`]). Nothing runs in the pods of our own API; where a test needs
//! them to print or to fail, the chart has annotations beside the command that a real node runs ([`write_acts`]).
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

mod act;
mod api;
mod cluster;
mod gate;
mod part;
mod program;
mod proxy;
mod served;
mod subject;
mod test_env;

pub use act::{says, write_acts};
pub use api::{Answer, Api, Trial};
pub use cluster::{Cluster, Level};
pub use gate::Lock;
pub use part::is_chosen;
pub use pintle_testkit::{archive, needs_real, skip};
pub use program::{Program, Ran};
pub use proxy::{Fate, Proxy, Seen};
pub use subject::{Store, Subject, write_chart};
pub use test_env::TestEnv;
