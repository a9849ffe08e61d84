//! Builds the context that handlers see: charts, values, release and capabilities as plain data.

use pintle_chart::metadata::Metadata;
use pintle_chart::{Chart, File};
use pintle_events::{
    CapabilityInfo, ChartContext, ChartInfo, ChartPath, Context, Dependency, Maintainer, ReleaseInfo,
    SourceFile,
};
#[cfg(feature = "cluster")]
use pintle_release::{ReleaseVersion, Status};
use pintle_render::{Capabilities, Target};
use pintle_tree::{Map, Node};

#[cfg(feature = "cluster")]
use super::record_metadata;

/// The folder with the scripts and permissions of a chart. Handlers do not see it, so that they cannot change their
/// own code.
const EXTENSION_DIR: &str = "ext/";

/// Context of a chart with its subcharts, under their aliases.
pub(crate) fn for_chart(chart: &Chart, values: Map<Node>) -> Context {
    let mut parts = Vec::new();
    add_parts(chart, ChartPath::top(chart.name()), &chosen_libraries(chart), &mut parts);
    parts.into_iter().fold(Context::default().with_values(values), Context::with_chart)
}

/// Facts of the release that a chart is rendered for.
pub(crate) fn release_for_target(target: &Target) -> ReleaseInfo {
    ReleaseInfo {
        name: target.release.name.clone(),
        namespace: target.release.namespace.clone(),
        number: u64::try_from(target.release.revision).unwrap_or_default(),
        is_install: !target.release.is_upgrade,
        is_upgrade: target.release.is_upgrade,
    }
}

/// Context of a chart that is rendered for a target.
pub(crate) fn for_render(chart: &Chart, values: Map<Node>, target: &Target) -> Context {
    for_chart(chart, values)
        .with_release(release_for_target(target))
        .with_capabilities(capability_info(&target.capabilities))
}

/// Facts of the cluster that a chart is rendered for.
pub(crate) fn capability_info(capabilities: &Capabilities) -> CapabilityInfo {
    CapabilityInfo {
        helm_version: capabilities.helm_version.clone(),
        kubernetes_version: capabilities.kube_version.version.clone(),
        api_versions: capabilities.api_versions.to_vec(),
    }
}

/// Adds the capabilities that charts are rendered with when no cluster is known.
pub(crate) fn with_default_capabilities(context: Context) -> Context {
    context.with_capabilities(capability_info(&Capabilities::default()))
}

/// Context of a stored version. Of subcharts, records keep the scripts only.
#[cfg(feature = "cluster")]
pub(crate) fn for_version(version: &ReleaseVersion) -> Context {
    let values = crate::ops::computed_values(version, &mut Vec::new());
    for_chart(&record_metadata::chart(&version.chart), values.unwrap_or_default())
}

/// Facts of the release that a version belongs to.
#[cfg(feature = "cluster")]
pub(crate) fn release(version: &ReleaseVersion) -> ReleaseInfo {
    ReleaseInfo {
        name: version.name.clone(),
        namespace: version.namespace.clone(),
        number: version.number,
        is_install: version.info.status == Status::PendingInstall,
        is_upgrade: version.info.status == Status::PendingUpgrade,
    }
}

/// Returns whether handlers may see a file.
pub(super) fn is_shown(file: &File) -> bool {
    !file.name.starts_with(EXTENSION_DIR)
}

/// Adds a chart, then its subcharts. `sources` applies changes in the same order.
fn add_parts(chart: &Chart, path: ChartPath, chosen: &[*const Chart], parts: &mut Vec<ChartContext>) {
    parts.push(ChartContext {
        path: path.clone(),
        facts: facts(&chart.metadata),
        files: sources(chart.files.iter().filter(|file| is_shown(file))),
        templates: sources(&chart.templates),
        dependencies: chart.metadata.dependencies.iter().map(dependency).collect(),
    });
    for subchart in &chart.subcharts {
        add_parts(subchart, path.child(subchart.name()), chosen, parts);
    }
    // Library charts have handlers too, but only those that dependency resolution has chosen.
    for library in chart.libraries.iter().filter(|library| chosen.contains(&std::ptr::from_ref(*library))) {
        add_parts(library, path.child(library.name()), chosen, parts);
    }
}

/// The libraries that dependency resolution has chosen, by address: the tree may contain several charts of the same
/// name and version.
pub(super) fn chosen_libraries(chart: &Chart) -> Vec<*const Chart> {
    let chosen = pintle_chart::library::resolve(chart).unwrap_or_default();
    chosen.into_iter().map(std::ptr::from_ref).collect()
}

pub(super) fn sources<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<SourceFile> {
    let source = |file: &File| SourceFile { name: file.name.clone(), data: file.data.text() };
    files.into_iter().map(source).collect()
}

pub(super) fn dependency(dependency: &pintle_chart::metadata::Dependency) -> Dependency {
    Dependency {
        name: dependency.name.clone(),
        version: dependency.version.clone(),
        repository: dependency.repository.clone(),
        alias: dependency.alias.clone(),
    }
}

fn facts(metadata: &Metadata) -> ChartInfo {
    let maintainer = |known: &pintle_chart::metadata::Maintainer| Maintainer {
        name: known.name.clone(),
        email: known.email.clone(),
        url: known.url.clone(),
    };
    ChartInfo {
        api_version: metadata.api_version.clone(),
        name: metadata.name.clone(),
        version: metadata.version.clone(),
        description: metadata.description.clone(),
        keywords: metadata.keywords.clone(),
        home: metadata.home.clone(),
        sources: metadata.sources.clone(),
        maintainers: metadata.maintainers.iter().map(maintainer).collect(),
        icon: metadata.icon.clone(),
        app_version: metadata.app_version.clone(),
        kubernetes_versions: metadata.kube_version.clone(),
    }
}
