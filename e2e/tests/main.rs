//! All integration tests of this crate in one program, because linking each separately takes long.

mod application;
mod connections;
mod contended;
mod controller;
mod corpus;
mod guide;
mod helm_interop;
mod hook_filter;
mod hooks;
mod images;
mod interrupted;
mod killed;
mod kit;
mod large;
mod native;
mod output;
mod planned;
mod rbac;
mod refused;
mod rehearse;
mod requests;
mod rights;
mod scripts;
mod sql;
mod support;
mod waiting;
