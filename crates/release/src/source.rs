//! Where the chart of a release came from. Helm's format has no field for it, so it is kept as a file of the recorded chart,
//! which Helm ignores, and as annotations where records are Kubernetes objects.

use pintle_tree::{Map, Node};

use crate::{StoredChart, StoredFile};

/// The file of the recorded chart.
pub const SOURCE_FILE: &str = "pintle.dev/chart-source.yaml";

/// The annotation with the URL of the archive.
const URL_ANNOTATION: &str = "pintle.dev/chart-url";
/// The annotation with the URL of the repository.
const REPOSITORY_ANNOTATION: &str = "pintle.dev/chart-repository";
/// The annotation with the digest of the archive.
const DIGEST_ANNOTATION: &str = "pintle.dev/chart-digest";

/// Where a chart came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChartSource {
    /// The URL of the archive; `oci://…` for a registry.
    pub url: String,
    /// The URL of the repository, if the archive was found by its index.
    pub repository: String,
    /// The digest of the archive, such as `sha256:…`.
    pub digest: String,
}

impl ChartSource {
    /// The source that a recorded chart has, if any.
    pub fn of(chart: &StoredChart) -> Option<ChartSource> {
        let file = chart.files.iter().flatten().find(|file| file.name == SOURCE_FILE)?;
        let tree = pintle_yaml::read(file.data.as_ref()?).ok()?;
        let text = |key: &str| tree.get(key).and_then(Node::as_str).unwrap_or_default().to_owned();
        let source = ChartSource { url: text("url"), repository: text("repository"), digest: text("digest") };
        (!source.url.is_empty()).then_some(source)
    }

    /// Records the source in a chart.
    pub fn record(&self, chart: &mut StoredChart) {
        let mut map = Map::new();
        for (key, text) in [("url", &self.url), ("repository", &self.repository), ("digest", &self.digest)] {
            if !text.is_empty() {
                map.insert(key.into(), text.as_str().into());
            }
        }
        // Does not fail: YAML can represent every URL and digest.
        let Ok(text) = pintle_yaml::write(&Node::Map(map)) else { return };
        let data = Some(String::from_utf8_lossy(&text).as_ref().into());
        let file = StoredFile { name: SOURCE_FILE.to_owned(), data, modified: None };
        chart.files.get_or_insert_default().push(file);
    }

    /// The annotations of an object that holds the record.
    pub fn annotations(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            (URL_ANNOTATION, &self.url),
            (REPOSITORY_ANNOTATION, &self.repository),
            (DIGEST_ANNOTATION, &self.digest),
        ];
        all.into_iter().map(|(key, text)| (key, text.as_str())).filter(|(_, text)| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_back_from_the_recorded_chart() {
        let mut chart = StoredChart::default();
        assert_eq!(ChartSource::of(&chart), None);
        let source = ChartSource {
            url: "https://h/charts/web-1.0.0.tgz".to_owned(),
            repository: "https://h/charts".to_owned(),
            digest: String::new(),
        };
        source.record(&mut chart);
        assert_eq!(ChartSource::of(&chart), Some(source.clone()));
        let annotations: Vec<_> = source.annotations().collect();
        assert_eq!(
            annotations,
            [
                ("pintle.dev/chart-url", "https://h/charts/web-1.0.0.tgz"),
                ("pintle.dev/chart-repository", "https://h/charts")
            ]
        );
    }
}
