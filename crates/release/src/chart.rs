//! The part of a chart that a release record contains. As in Helm, subcharts and the original files are not stored.

use pintle_chart::metadata::{Lock, Metadata};
use pintle_chart::{Chart, File};
use pintle_tree::{Map, Node, Str};

use crate::Timestamp;

/// A chart in a release record. Absent lists and values are distinct from empty ones, because Helm encodes them
/// differently.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredChart {
    /// What Chart.yaml says.
    pub metadata: Metadata,
    /// What the lock file says.
    pub lock: Option<Lock>,
    /// Everything below `templates/`.
    pub templates: Option<Vec<StoredFile>>,
    /// The default values, after dependencies were processed.
    pub values: Option<Map<Node>>,
    /// The text of values.schema.json.
    pub schema: Option<Str>,
    /// When the schema was last changed.
    pub schema_modified: Option<Timestamp>,
    /// The files that are neither templates nor anything else with a field of its own.
    pub files: Option<Vec<StoredFile>>,
    /// When Chart.yaml was last changed.
    pub modified: Option<Timestamp>,
}

/// A file of a stored chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredFile {
    /// The path inside the chart.
    pub name: String,
    /// The content.
    pub data: Option<Str>,
    /// When the file was last changed.
    pub modified: Option<Timestamp>,
}

impl StoredChart {
    /// Takes what a release record contains of a chart.
    pub fn from_chart(chart: &Chart) -> Self {
        let modified = |name: &str| {
            let file = chart.raw.iter().find(|file| file.name == name);
            file.and_then(|file| file.modified).map(|seconds| Timestamp::from_unix(seconds, 0))
        };
        StoredChart {
            metadata: chart.metadata.clone(),
            lock: chart.lock.clone(),
            templates: stored(&chart.templates),
            values: has_values(chart).then(|| chart.values.clone()),
            schema: chart.schema.clone(),
            schema_modified: modified("values.schema.json"),
            files: stored(&chart.files),
            modified: modified("Chart.yaml"),
        }
    }

    /// Converts back to a chart: enough to show it and to read its values, but without subcharts.
    pub fn to_chart(&self) -> Chart {
        Chart {
            metadata: self.metadata.clone(),
            lock: self.lock.clone(),
            templates: files(self.templates()),
            values: self.values.clone().unwrap_or_default(),
            schema: self.schema.clone(),
            files: files(self.files()),
            ..Chart::default()
        }
    }

    /// The templates; none when the record has no list.
    pub fn templates(&self) -> &[StoredFile] {
        self.templates.as_deref().unwrap_or_default()
    }

    /// The other files; none when the record has no list.
    pub fn files(&self) -> &[StoredFile] {
        self.files.as_deref().unwrap_or_default()
    }
}

/// Helm's values are nil unless a file or a dependency sets them.
fn has_values(chart: &Chart) -> bool {
    !chart.values.is_empty() || chart.values_text().is_some() || !chart.metadata.dependencies.is_empty()
}

/// Helm's lists are nil until something is appended.
fn stored(files: &[File]) -> Option<Vec<StoredFile>> {
    let store = |file: &File| StoredFile {
        name: file.name.clone(),
        data: Some(file.data.text()),
        modified: file.modified.map(|seconds| Timestamp::from_unix(seconds, 0)),
    };
    (!files.is_empty()).then(|| files.iter().map(store).collect())
}

fn files(stored: &[StoredFile]) -> Vec<File> {
    let take = |file: &StoredFile| File {
        name: file.name.clone(),
        data: file.data.clone().unwrap_or_default().into(),
        modified: file.modified.map(|moment| moment.unix()),
    };
    stored.iter().map(take).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_survives_being_kept_but_for_its_subcharts() {
        let mut chart = Chart {
            templates: vec![File { modified: Some(86_400), ..File::new("templates/a", "x".as_bytes()) }],
            raw: vec![File { modified: Some(5), ..File::new("Chart.yaml", "".as_bytes()) }],
            ..Chart::default()
        };
        chart.metadata.name = "web".into();
        chart.subcharts.push(Chart::default());
        let stored = StoredChart::from_chart(&chart);
        assert_eq!(stored.modified, Some(Timestamp::from_unix(5, 0)));
        assert!(stored.files.is_none() && stored.values.is_none());
        chart.raw.push(File::new("values.yaml", "".as_bytes()));
        assert_eq!(StoredChart::from_chart(&chart).values, Some(Map::new()));
        let back = stored.to_chart();
        assert_eq!((back.name(), &back.templates), ("web", &chart.templates));
        assert!(back.subcharts.is_empty());
    }
}
