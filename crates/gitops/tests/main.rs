//! What is found in repositories: files in, apps out.

mod argo;
mod flux;
mod hostile;
mod support;
