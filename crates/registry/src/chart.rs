//! Charts in registries: Helm's media types, manifests to the byte as Helm writes them, and references as it reads them.
//!
//! Nothing here knows what a chart is made of: archives, configurations and annotations come in as bytes and texts.

mod pull;
mod push;
mod reference;
pub(crate) mod signatures;

pub use pull::{PulledChart, WantedParts, WantedProvenance};
pub use push::{ChartContent, ChartPush, PushedChart};
pub use reference::{ChartReference, ResolvedChart, choose_version};
pub use signatures::ChartSignature;

/// The media type of a chart's configuration: its metadata as JSON.
pub const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";

/// The media type of an archive.
pub const CONTENT: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// The media type of a provenance file.
pub const PROVENANCE: &str = "application/vnd.cncf.helm.chart.provenance.v1.prov";

/// The deprecated media type of an archive.
pub const LEGACY_CONTENT: &str = "application/tar+gzip";

/// Helm's note after a reference with an underscore.
pub const UNDERSCORE: &str = "
OCI artifact references (e.g. tags) do not support the plus sign (+). To support
storing semantic versions, Helm adopts the convention of changing plus (+) to
an underscore (_) in chart version tags when pushing to a registry and back to
a plus (+) when pulling from a registry.";
