//! Every operation can be spawned on a multi-threaded runtime: its future is `Send`, and so is what synchronous operations
//! take and return. An operation without a line here makes the last test fail; one whose future is not `Send` does not
//! compile.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt as _;
use pintle::cluster::logs::LogSource;
use pintle::ops::{self, dependency, images};
use pintle::release::Store;
use pintle::{Lifecycle, OfflineSession, Reporter, Session, Silent};

/// Accepts what `tokio::spawn` accepts. The futures are never polled: that they compile is the test.
fn spawned<T: Send + 'static>(_: impl Future<Output = T> + Send + 'static) {}

/// Accepts what `tokio::task::spawn_blocking` accepts. The operations are never called.
fn blocking<T: Send + 'static>(_: impl FnOnce() -> T + Send + 'static) {}

/// An input of an operation, which a server holds across awaits.
fn any<T: Send + 'static>() -> T {
    unreachable!("the operations are never called")
}

/// A type that several tasks share.
fn shared<T: Send + Sync + 'static>() {}

#[test]
fn what_operations_share_can_be_used_by_all_threads() {
    shared::<Session>();
    shared::<OfflineSession>();
    shared::<Lifecycle>();
    shared::<Arc<dyn Store>>();
    shared::<pintle::cluster::Cluster>();
    shared::<pintle::Cancel>();
    shared::<pintle::LeaseHolder>();
    shared::<pintle::SchemaLoader>();
    shared::<pintle::embedded::Api>();
    shared::<pintle::registry::Client>();
    shared::<pintle::Error>();
    shared::<pintle::chart::Chart>();
    blocking(|| Box::new(Silent) as Box<dyn Reporter>);
}

#[test]
fn operations_on_a_cluster_can_be_spawned() {
    let name = String::new;
    spawned(async { ops::adopt(&any(), &any()).await });
    spawned(async { ops::apply_plan(&any(), &any(), &mut Silent).await });
    spawned(async { ops::diff_upgrade(&any(), &any(), &any(), &mut Silent).await });
    spawned(async { ops::access(&any(), &[]).await });
    spawned(async { ops::namespaces(&any()).await });
    spawned(async { ops::owned_objects(&any(), &any::<Vec<ops::ObjectStatus>>()).await });
    spawned(async { ops::drift(&any(), &any()).await });
    spawned(async move { ops::exists(&any(), &name(), &name()).await });
    spawned(async move { ops::get(&any(), &name(), &name(), &any()).await });
    spawned(async move { ops::history(&any(), &name(), &name(), 0).await });
    spawned(async { ops::init(&any()).await });
    spawned(async { ops::install(&any::<Session>(), &any(), &mut Silent).await });
    spawned(async { ops::list(&any(), &any(), &mut Silent).await });
    spawned(async { ops::list_page(&any(), &any()).await });
    spawned(async { ops::logs(&any(), &any(), &mut |_: &LogSource, _: &[u8]| ()).await });
    spawned(async move { ops::objects(&any(), &name(), &name(), &any()).await });
    spawned(async { ops::plan(&any(), &any(), &mut Silent).await });
    spawned(async { ops::plan_all(&any(), &any::<Vec<ops::PlanRequest>>(), |_| ()).await });
    spawned(async { ops::rollback(&any(), &any(), &mut Silent).await });
    spawned(async move { ops::status(&any(), &name(), &name(), &any(), any(), &mut Silent).await });
    spawned(async { ops::start(&any(), |_, _| async { any::<pintle::Result<()>>() }).outcome().await });
    spawned(async { ops::stored_labels(&any(), &any()).await });
    spawned(async { ops::template(&any::<Session>(), &any(), &mut Silent).await });
    spawned(async { ops::test(&any(), &any(), &mut Silent).await });
    spawned(async { ops::uninstall(&any(), &any(), &mut Silent).await });
    spawned(async move { ops::unlock(&any(), &name(), &name()).await });
    spawned(async move { ops::lock_status(&any(), &name(), &name()).await });
    spawned(async { ops::upgrade(&any(), &any(), &mut Silent).await });
    spawned(async { ops::watch(&any(), &any()).count().await });
    spawned(async { pintle::rehearse::rehearse(&any()).await });
}

#[test]
fn operations_on_charts_can_be_spawned() {
    spawned(async { ops::check_schema(&any(), &any(), &any::<Vec<_>>(), &mut Silent).await });
    spawned(async { ops::check_scripts(&any(), &mut Silent).await });
    spawned(async { ops::derive_schema(&any(), &mut Silent).await });
    spawned(async { ops::explain_chart(&any(), &any(), &mut Silent).await });
    spawned(async { ops::permissions(&any(), &mut Silent).await });
    spawned(async { ops::render_for_diff(&any(), &any(), &mut Silent).await });
    spawned(async { ops::show(&any(), &mut Silent).await });
    spawned(async { ops::try_event(&any(), &any(), &mut Silent).await });
    spawned(async { ops::versions(&any(), "", "").await });
}

#[test]
fn operations_on_repositories_can_be_spawned() {
    let names = any::<Vec<String>>;
    spawned(async { ops::add_dependency(&any(), &mut Silent).await });
    spawned(async { ops::add_repository(&any(), &any(), &mut Silent).await });
    spawned(async { ops::index_directory(&any(), &mut Silent).await });
    spawned(async { ops::locate_chart(&any(), &mut Silent).await });
    spawned(async { ops::login(&any(), &any(), &mut Silent).await });
    spawned(async { ops::logout(&any()).await });
    spawned(async { ops::outdated(&any(), &any(), &any(), &mut Silent).await });
    spawned(async { ops::pull_chart(&any(), &mut Silent).await });
    spawned(async move { ops::remove_repositories(&any(), &names(), &mut Silent).await });
    spawned(async { ops::repositories(&any(), &mut Silent).await });
    spawned(async { ops::search(&any(), &any(), &mut Silent).await });
    spawned(async { ops::search_hub(&any(), &any(), &mut Silent).await });
    spawned(async { ops::update_dependencies(&any(), &mut Silent).await });
    spawned(async move { ops::update_repositories(&any(), &names(), &mut Silent).await });
    spawned(async { ops::upgrade_dependency(&any(), &mut Silent).await });
    spawned(async { ops::upload_chart(&any(), &any(), &mut Silent).await });
    spawned(async { ops::verify_archive(&any(), &any::<PathBuf>(), &any::<PathBuf>(), &mut Silent).await });
    spawned(async { ops::verify_reference(&any(), &any(), &mut Silent).await });
}

#[test]
fn operations_on_registries_can_be_spawned() {
    spawned(async { ops::attach_to_chart(&any(), &any(), &any()).await });
    spawned(async { ops::fetch_oci_chart(&any(), "", "", any(), &mut |_: &[u8]| Ok(())).await });
    spawned(async { ops::plan_image_copy(&any()).await });
    spawned(async { ops::push_oci_chart(&any(), &any(), any(), &mut Silent).await });
    spawned(async { ops::resolve_images(&mut any::<Vec<ops::ListedImage>>(), &any()).await });
}

#[test]
fn a_reporter_of_the_caller_is_shared_with_no_thread() {
    spawned(async {
        let mut reporter: Box<dyn Reporter> = any();
        ops::install(&any::<Session>(), &any(), &mut *reporter).await
    });
    spawned(async { ops::install(&any::<OfflineSession>(), &any(), &mut Silent).await });
    spawned(async { ops::template(&any::<OfflineSession>(), &any(), &mut Silent).await });
}

#[test]
fn synchronous_operations_can_run_on_blocking_threads() {
    let path = PathBuf::new;
    blocking(|| ops::check(&any(), &any(), &mut Silent));
    blocking(|| ops::check_rollback_description(""));
    blocking(|| ops::check_loaded(&any(), any(), &any(), &mut Silent));
    blocking(|| ops::upgrade_check(&any(), &any(), &mut Silent));
    blocking(|| ops::write_renames(&[], &[]));
    blocking(|| ops::computed_values(&any(), &mut Vec::new()));
    blocking(|| ops::compare(&any(), &any(), false));
    blocking(|| ops::create(&any(), &any(), &mut Silent));
    blocking(|| ops::create_from(&any()));
    blocking(|| ops::document(&any()));
    blocking(|| ops::explain_release(&any(), &mut Silent));
    blocking(|| ops::full_name(""));
    blocking(|| ops::granted_permissions(&any()));
    blocking(move || ops::lint(&any(), &path(), &any(), &mut Silent));
    blocking(|| ops::hide_lines(""));
    blocking(|| ops::hide_object(&mut any()));
    blocking(|| ops::host_of(""));
    blocking(|| ops::list_images(&any::<Vec<_>>()));
    blocking(|| ops::package(&any(), &any(), &mut Silent));
    blocking(|| ops::preview(&any(), &any()));
    blocking(|| ops::preview_list(&any()));
    blocking(|| ops::recorded_documents(&any()));
    blocking(|| ops::restore_hidden(&mut any(), &any()));
    blocking(|| ops::hooks_of_chart(&any(), None, &mut Silent));
    blocking(|| ops::hooks_of_release(&any()));
    blocking(|| ops::shown_only(b"", &[]));
    blocking(move || ops::absolute(&path(), &path()));
    blocking(|| ops::access_of(&any(), "", any()));
    blocking(move || ops::archive_metadata(&path()));
    blocking(move || ops::archive_name(&path(), &mut Silent));
    blocking(|| ops::build_dependencies(&any(), &any(), &mut Silent));
    blocking(|| ops::find_repository(&any(), |_| true));
    blocking(|| ops::keyring(&any()));
    blocking(move || ops::read_signature_file(&path(), 0));
    blocking(|| ops::verify_bytes(&any(), b"", "", b""));
    blocking(|| ops::with_entry(any(), &any()));
    blocking(move || ops::subchart_folders(&path()));
    blocking(move || ops::text_to_sign(&path(), &mut Silent));
    blocking(|| ops::unittest(&any(), &*any::<Box<dyn ops::UnittestHost + Send>>()));
    blocking(|| images::inspect(&any(), &any(), &mut Silent));
    blocking(|| images::relocate(&any(), &any(), &any(), &mut Silent));
    blocking(|| images::relocate_unverified(&any(), &any(), &any(), &mut Silent));
    blocking(|| images::unaccounted(&any(), &any(), &any(), &mut Silent));
    blocking(|| images::validate(&any(), &any(), false, &mut Silent));
    blocking(move || dependency::build(&any(), &path(), any(), None, &mut Silent));
    blocking(move || dependency::list(&path(), &mut Silent));
    blocking(move || dependency::update(&path(), any(), None, &mut Silent));
}

/// The functions that a module of operations exports by `pub use` or defines.
fn exported(module: &str, text: &str) -> BTreeSet<String> {
    let is_function = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_lowercase()) && name != "self" && name != "crate"
    };
    let mut found = BTreeSet::new();
    for statement in text.split("pub use ").skip(1).filter_map(|rest| rest.split(';').next()) {
        let names = statement.split_once('{').map_or_else(
            || statement.rsplit("::").next().unwrap_or_default(),
            |(_, names)| names.trim_end().trim_end_matches('}'),
        );
        let names = names.split(',').map(str::trim).filter(|name| is_function(name));
        found.extend(names.map(|name| format!("{module}::{name}(")));
    }
    for definition in text.split("\npub fn ").skip(1).chain(text.split("\npub async fn ").skip(1)) {
        let name = definition.split(|byte: char| !byte.is_alphanumeric() && byte != '_').next();
        found.extend(name.map(|name| format!("{module}::{name}(")));
    }
    found
}

#[test]
fn every_operation_has_a_line_in_this_file() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).expect("a source file of this crate");
    let text = read("src/ops/mod.rs");
    let mut wanted = exported("ops", &text);
    wanted.extend(exported("ops", &read("src/ops/remote/mod.rs")));
    let modules = text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    for module in modules {
        wanted.extend(exported(module, &read(&format!("src/ops/{module}.rs"))));
    }
    assert!(wanted.len() > 50 && wanted.contains("ops::install(") && wanted.contains("images::inspect("));
    let here = include_str!("send.rs");
    let missing: Vec<&String> = wanted.iter().filter(|call| !here.contains(call.as_str())).collect();
    assert!(missing.is_empty(), "add a line for each of these to tests/send.rs: {missing:?}");
}
