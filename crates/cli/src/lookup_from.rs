//! `--lookup-from`: what the template function `lookup` finds where a chart is rendered without a cluster.

use pintle::cluster::Cluster;
use pintle::embedded::Api;
use pintle::ops::{Layout, TemplateRequest};
use pintle::{LookupObjects, OfflineSession, Silent};
use tokio::runtime::Runtime;

use crate::connect::run_offline;
use crate::failure::Failure;
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::{connect, embedded, kubeconfig, request};

/// The flag.
pub(crate) const LOOKUP_FROM: Flag = Flag::array(
    names::LOOKUP_FROM,
    "objects that the function lookup finds: a file, a directory, a context of the kubeconfig, `embedded`, or `-`; may \
     be repeated",
)
.completes(FlagCompletion::Contexts);

/// What was read, and what keeps it alive: clusters answer as long as their runtime and their API are there.
pub(crate) struct LookupSource {
    pub(crate) objects: LookupObjects,
    _runtime: Option<Runtime>,
    _embedded: Vec<Api>,
}

/// Reads the flag.
///
/// # Errors
///
/// Files that cannot be read or are not manifests, and clusters that cannot be connected to.
pub(crate) fn read(invocation: &Invocation<'_>) -> Result<LookupSource, Failure> {
    let (mut texts, mut clusters) = (Vec::new(), Vec::new());
    for name in invocation.flags.list(names::LOOKUP_FROM) {
        match is_cluster(invocation, name) {
            true => clusters.push(name.as_str()),
            false => texts.extend(request::manifests_of(names::LOOKUP_FROM, name)?),
        }
    }
    let mut objects = LookupObjects::read(texts.iter().map(|manifest| manifest.text.as_slice()))
        .map_err(|error| Failure::usage(format!("--lookup-from: {error}")))?;
    let mut source =
        LookupSource { objects: LookupObjects::default(), _runtime: None, _embedded: Vec::new() };
    if !clusters.is_empty() {
        let runtime = connect::runtime()?;
        for name in clusters {
            let cluster = cluster(invocation, name, &runtime, &mut source._embedded)?;
            objects = objects.with_cluster(cluster, runtime.handle().clone());
        }
        source._runtime = Some(runtime);
    }
    source.objects = objects;
    Ok(source)
}

/// Whether a value of the flag is a cluster: what is a file is one, whatever contexts there are.
fn is_cluster(invocation: &Invocation<'_>, name: &str) -> bool {
    if name == "-" || std::path::Path::new(name).exists() {
        return false;
    }
    let explicit = invocation.flags.text(names::KUBECONFIG);
    let contexts = || kubeconfig::contexts(explicit, invocation.environment);
    name == "embedded" || name.starts_with("embedded:") || contexts().iter().any(|(known, _)| known == name)
}

fn cluster(
    invocation: &Invocation<'_>,
    name: &str,
    runtime: &Runtime,
    kept: &mut Vec<Api>,
) -> Result<Cluster, Failure> {
    let namespace = kubeconfig::namespace(&invocation.flags, invocation.environment);
    if let Some(chosen) = embedded::by_name(name) {
        // A file that is not there would be made.
        if let Some(file) = chosen.file.as_ref().filter(|file| !file.exists()) {
            return Err(Failure::usage(format!(
                "--lookup-from: there is no cluster in `{}`",
                file.display()
            )));
        }
        let api = runtime.block_on(chosen.open())?;
        let _inside = runtime.enter();
        let cluster = pintle::embedded::cluster(&api, &namespace);
        kept.push(api);
        return Ok(cluster);
    }
    let mut settings = connect::settings(&invocation.flags, invocation.environment, namespace);
    settings.context = name.to_owned();
    Ok(runtime.block_on(Cluster::connect_lazily(&settings)).map_err(pintle::Error::from)?)
}

/// With `--cluster embedded`, renders once and lets `lookup` find the result, as in an upgrade of the chart that was
/// installed there before.
pub(crate) fn seed(
    invocation: &Invocation<'_>,
    request: &mut TemplateRequest,
    session: &OfflineSession,
) -> Result<(), Failure> {
    // Not for the variable: who sets it for all commands does not ask for this.
    let flags = &invocation.flags;
    if !flags.given(names::CLUSTER) || embedded::from_flags(flags, invocation.environment)?.is_none() {
        return Ok(());
    }
    let first = TemplateRequest {
        layout: Layout::Stream,
        show_only: Vec::new(),
        hide_secrets: false,
        skip_tests: true,
        warn_unread: false,
        ..request.clone()
    };
    // A chart that does not render says so when it is rendered again, and what is logged is logged then.
    if let Ok(templated) = run_offline(pintle::ops::template(session, &first, &mut Silent)) {
        request.lookup = std::mem::take(&mut request.lookup).with_rendered(&templated.text);
    }
    Ok(())
}
