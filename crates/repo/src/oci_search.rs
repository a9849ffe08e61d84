//! The versions of a chart in a registry, with what their configurations say.

use std::sync::Arc;

use pintle_registry::Client;
use pintle_registry::chart::{ChartReference, ResolvedChart, WantedParts, WantedProvenance};
use pintle_semver::{Constraint, Version};
use pintle_tree::{LogLine, Node};
use tokio::task::JoinSet;

use crate::error::{Error, Result};
use crate::oci::{Credentials, Registries, parse};
use crate::search::Hit;

/// How many versions are looked up concurrently.
const AT_ONCE: usize = 8;

impl Registries {
    /// The versions of the chart that `reference` names, the newest first; unless all are wanted, only the newest that
    /// satisfies the constraint. Of each, the registry is asked for the configuration and not for the archive.
    ///
    /// # Errors
    /// References that name no chart, and what the registry refuses.
    pub fn search(
        &self,
        reference: &str,
        constraint: &Constraint,
        all_versions: bool,
    ) -> Result<(Vec<Hit>, Vec<LogLine>)> {
        let parsed = parse(reference)?;
        if !parsed.digest.is_empty() {
            let text =
                format!("{reference} names one chart by its digest: there are no versions to look for");
            return Err(Error::Input(text));
        }
        let client = self.client(Credentials::Given)?;
        let versions = self.run(client.chart_versions(&parsed.repository))?;
        let fits = |text: &String| {
            let is_tag = parsed.tag.is_empty() || parsed.tag == text.replace('+', "_");
            is_tag && Version::parse(text).is_ok_and(|version| constraint.check(&version))
        };
        let wanted: Vec<String> = versions.into_iter().filter(fits).collect();
        let (mut hits, mut log) = (Vec::new(), Vec::new());
        for some in wanted.chunks(if all_versions { AT_ONCE } else { 1 }) {
            for (version, found) in self.run(look_at(&client, &parsed, some))? {
                match found {
                    Some(hit) => hits.push(hit),
                    None => {
                        log.push(LogLine::warn("there is no chart under this tag", vec![("tag", version)]))
                    }
                }
            }
            if !all_versions && !hits.is_empty() {
                break;
            }
        }
        Ok((hits, log))
    }
}

/// Looks up these versions, in their order; `None` for a tag that is not a chart.
async fn look_at(
    client: &Arc<Client>,
    reference: &ChartReference,
    versions: &[String],
) -> pintle_registry::Result<Vec<(String, Option<Hit>)>> {
    let mut tasks = JoinSet::new();
    for (at, version) in versions.iter().enumerate() {
        let name = reference.repository.tagged(&version.replace('+', "_"))?;
        let chart = ResolvedChart { name, version: version.clone() };
        let client = Arc::clone(client);
        tasks.spawn(async move { (at, hit(&client, &chart).await) });
    }
    let mut found = vec![None; versions.len()];
    while let Some(ended) = tasks.join_next().await {
        if let Ok((at, outcome)) = ended {
            found[at] = outcome?;
        }
    }
    Ok(versions.iter().cloned().zip(found).collect())
}

async fn hit(client: &Arc<Client>, chart: &ResolvedChart) -> pintle_registry::Result<Option<Hit>> {
    let wanted = WantedParts { content: false, provenance: WantedProvenance::No, limit: 0 };
    let config = match client.pull_chart(chart, wanted).await {
        Ok(pulled) => pulled.config,
        Err(pintle_registry::Error::Chart { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let Ok(config) = pintle_tree::json::read(&config) else { return Ok(None) };
    let text = |name: &str| config.get(name).and_then(Node::as_str).unwrap_or_default().to_owned();
    let name = format!("oci://{}", chart.name.repository);
    let is_library = text("type") == "library";
    Ok(Hit::new(name, chart.version.clone(), text("appVersion"), text("description"), is_library))
}
