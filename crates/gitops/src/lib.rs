//! What a git repository deploys: descriptions of Flux, Argo CD and others in, applications out.
//!
//! An [`App`] is a chart with its values or a set of objects, as one of the programs that watch git would deploy it, and each of
//! its inputs knows the file and line it came from ([`Place`]). [`Discovery`] finds them: it begins at what nothing else makes,
//! gives out apps, takes back what was rendered for them, and searches that for more, until nothing new is found. What it does
//! not understand becomes a [`Note`], never silence.
//!
//! This crate reads no files, fetches nothing and runs nothing: files are a [`Snapshot`] of one commit, and charts are fetched
//! and rendered by the caller. Programs that a repository names (plugins, hooks, functions) are noted and left out.
//!
//! ```
//! use pintle_gitops::{Discovery, Entry, Settings, Snapshot};
//!
//! let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: apps}\n\
//!     spec:\n  chart:\n    spec:\n      chart: ./charts/web\n      sourceRef: {kind: GitRepository, name: flux-system}\n";
//! let files = [("apps/web.yaml".to_owned(), Entry::File(release.as_bytes().into()))];
//! let files = Snapshot::new(files);
//! let settings = Settings::default();
//! let mut discovery = Discovery::new(&files, &settings);
//! let apps = discovery.take();
//! assert_eq!(apps[0].id.to_string(), "HelmRelease apps/web");
//! assert!(discovery.take().is_empty());
//! ```

mod app;
mod argo;
mod build;
mod discovery;
mod document;
mod files;
mod flux;
mod helm_request;
mod hosts;
mod note;
mod object;
mod secret;
mod substitute;
mod umbrella;

pub use app::{App, AppId, ChartApp, ChartSource, Content, Layer, LayerData, LayerKind};
pub use discovery::{Discovery, Settings};
pub use document::read_objects;
pub use files::{Entry, Snapshot, join, parent};
pub use hosts::hosts;
pub use note::{Note, NoteKind};
pub use object::{Place, SourceObject};
pub use substitute::{Substituted, Variable, Variables, substitute};
