//! Packs charts into archives, reproducibly.

pub(crate) mod tar;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};
use pintle_semver::Version;
use pintle_tree::{json, quote::quote};

use crate::error::{Error, FileError, Result};
use crate::metadata::{Lock, Timestamp, V2};
use crate::path::base;
use crate::write::write_file_error;
use crate::{Chart, File, create_folders, write_below};
use tar::TarWriter;

/// The extra field in the gzip header of Helm's archives.
const GZIP_EXTRA: &[u8] = b"rr\x28\x00aHR0cHM6Ly95b3V0dS5iZS96OVV6MWljandyTQo=";

/// Modification times of archive entries, in seconds since the Unix epoch.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The time of every entry and of the lock inside, if set (`SOURCE_DATE_EPOCH`).
    pub all: Option<i64>,
    /// The time of entries without one of their own.
    pub fallback: i64,
}

impl Times {
    fn entry_time(self, source: Option<i64>) -> i64 {
        self.all.or(source).unwrap_or(self.fallback)
    }
}

/// What `package` overrides in Chart.yaml.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// The chart version.
    pub version: Option<String>,
    /// The application version.
    pub app_version: Option<String>,
}

/// Packs `chart` into `folder`. Returns the path of the archive.
///
/// # Errors
/// When the version is invalid, dependencies are missing, and the errors of [`save`].
pub fn package(mut chart: Chart, overrides: Overrides, folder: &Path, times: Times) -> Result<PathBuf> {
    if let Some(version) = overrides.version.filter(|version| !version.is_empty()) {
        chart.metadata.version = version;
    }
    Version::parse(&chart.metadata.version).map_err(|error| Error::message(error.to_string()))?;
    if let Some(version) = overrides.app_version.filter(|version| !version.is_empty()) {
        chart.metadata.app_version = version;
    }
    chart.check_dependencies()?;
    save(&mut chart, folder, times).map_err(|error| Error::message(format!("failed to save: {error}")))
}

/// Writes `chart` as `<name>-<version>.tgz` into `folder`, which is created if needed.
///
/// # Errors
/// When the metadata or the schema is invalid, or files cannot be written.
pub fn save(chart: &mut Chart, folder: &Path, times: Times) -> Result<PathBuf> {
    // Again, because the overrides changed it.
    chart.metadata.validate().map_err(|error| Error::message(format!("chart validation: {error}")))?;
    let file = folder.join(archive_name(chart));
    match fs::metadata(folder) {
        // The current folder.
        _ if folder.as_os_str().is_empty() => {}
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(Error::message(format!("is not a directory: {}", folder.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => create_folders(folder)?,
        // Helm's message has `stat` and the path twice.
        Err(error) => {
            let error = FileError::new("stat", folder, error);
            return Err(Error::message(format!("stat {}: {error}", folder.display())));
        }
    }
    // In memory, so that an error leaves no half archive.
    let data = archive(chart, times)?;
    write_below(folder, Path::new(&archive_name(chart)), &data).map_err(write_file_error(&file))?;
    Ok(file)
}

/// The name of the chart's archive.
pub fn archive_name(chart: &Chart) -> String {
    format!("{}-{}.tgz", chart.name(), chart.metadata.version)
}

/// Returns the bytes of the archive: Chart.yaml re-encoded, then the lock, values, schema, templates, files and
/// subcharts.
///
/// # Errors
/// When the name is a path, or the schema is not valid JSON.
pub fn archive(chart: &Chart, times: Times) -> Result<Vec<u8>> {
    let zipped = GzBuilder::new()
        .extra(GZIP_EXTRA)
        .comment("Helm")
        // Go's gzip writer says "unknown" on every system, which keeps archives reproducible.
        .operating_system(255)
        .write(Vec::new(), Compression::default());
    let mut writer = TarWriter::new(zipped);
    add_chart(&mut writer, chart, "", times)?;
    let zipped = writer.finish().map_err(write_error)?;
    zipped.finish().map_err(write_error)
}

/// Writing to memory cannot fail, but the trait allows for it.
fn write_error(error: std::io::Error) -> Error {
    Error::message(error.to_string())
}

fn add_chart<W: Write>(writer: &mut TarWriter<W>, chart: &Chart, prefix: &str, times: Times) -> Result<()> {
    check_name(chart.name())?;
    let folder = format!("{prefix}{}", chart.name());
    let mut add = |name: &str, data: &[u8], modified: Option<i64>| {
        writer.add(&format!("{folder}/{name}"), data, times.entry_time(modified)).map_err(write_error)
    };
    let time_of = |name: &str| chart.raw.iter().find(|file| file.name == name).and_then(|file| file.modified);
    add("Chart.yaml", &chart.metadata.to_yaml()?, time_of("Chart.yaml"))?;
    // The lock of a `v1` chart is requirements.lock, one of its files.
    if let Some(lock) = chart.lock.as_ref().filter(|_| chart.metadata.api_version == V2) {
        let stamped;
        let mut lock = lock;
        if let Some(seconds) = times.all {
            stamped = stamp(lock, seconds)?;
            lock = &stamped;
        }
        let generated = Timestamp::parse(&lock.generated).ok().map(|time| time.unix());
        add("Chart.lock", &lock.to_yaml()?, generated)?;
    }
    for File { data, modified, .. } in chart.raw.iter().filter(|file| file.name == "values.yaml") {
        add("values.yaml", data, *modified)?;
    }
    if let Some(schema) = &chart.schema {
        // Loading accepts any text as the schema; Helm checks it here.
        json::read(schema).map_err(|_| Error::message("invalid JSON in values.schema.json"))?;
        add("values.schema.json", schema, time_of("values.schema.json"))?;
    }
    for file in chart.templates.iter().chain(&chart.files) {
        add(&file.name, &file.data, file.modified)?;
    }
    for subchart in &chart.subcharts {
        add_chart(writer, subchart, &format!("{folder}/charts/"), times)?;
    }
    Ok(())
}

/// The lock with another time.
fn stamp(lock: &Lock, seconds: i64) -> Result<Lock> {
    /// The last second of the year 9999, after which RFC 3339 ends.
    const LAST: i64 = 253_402_300_799;
    if seconds > LAST {
        return Err(Error::message(
            "error marshaling into JSON: json: error calling MarshalJSON for type *time.Time: \
             year outside of range [0,9999]",
        ));
    }
    Ok(Lock { generated: Timestamp::from_unix(seconds, 0).to_string(), ..lock.clone() })
}

pub(crate) fn check_name(name: &str) -> Result<()> {
    if base(name) == name {
        return Ok(());
    }
    Err(Error::message(format!("{} is not a valid chart name", quote(name.as_bytes()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load_files, read_archive};

    const TIMES: Times = Times { all: None, fallback: 11 };

    fn chart() -> Chart {
        let file = |name: &str, text: &str, modified| File { modified, ..File::new(name, text.as_bytes()) };
        load_files(vec![
            file("Chart.yaml", "apiVersion: v2\nversion: 1.0.0\nname: p # comment\n", Some(5)),
            file("Chart.lock", "generated: \"2020-01-01T00:00:00Z\"\n", Some(6)),
            file("README.md", "r", None),
            file("values.yaml", "a: 1 # kept\n", Some(7)),
            file("templates/t.yaml", "t", Some(8)),
            file("charts/s/Chart.yaml", "name: s\nversion: 2.0.0\n", Some(9)),
        ])
        .expect("a good chart")
    }

    #[test]
    fn entries_come_in_helm_s_order_with_their_times() {
        let files = read_archive(archive(&chart(), TIMES).expect("can be packed")).expect("can be read");
        let entries: Vec<(&str, i64)> =
            files.iter().map(|file| (file.name.as_str(), file.modified.unwrap_or_default())).collect();
        assert_eq!(
            entries,
            [
                ("Chart.yaml", 5),
                ("Chart.lock", 1_577_836_800),
                ("values.yaml", 7),
                ("templates/t.yaml", 8),
                ("README.md", 11),
                ("charts/s/Chart.yaml", 9),
            ]
        );
        assert_eq!(&files[0].data[..], b"apiVersion: v2\nname: p\nversion: 1.0.0\n");
        assert_eq!(&files[2].data[..], b"a: 1 # kept\n");
    }

    #[test]
    fn the_same_chart_gives_the_same_bytes() {
        let times = Times { all: Some(99), fallback: 0 };
        let first = archive(&chart(), times).expect("can be packed");
        assert_eq!(first, archive(&chart(), times).expect("can be packed"));
        let files = read_archive(&first[..]).expect("can be read");
        assert!(files.iter().all(|file| file.modified == Some(99)));
        assert_eq!(
            &files[1].data[..],
            b"dependencies: []\ndigest: \"\"\ngenerated: \"1970-01-01T00:01:39Z\"\n"
        );
        // Later than the field of a ustar header can tell.
        let last =
            archive(&chart(), Times { all: Some(253_402_300_799), fallback: 0 }).expect("can be packed");
        let files = read_archive(&last[..]).expect("can be read");
        assert!(files.iter().all(|file| file.modified == Some(253_402_300_799)));
        let error = archive(&chart(), Times { all: Some(i64::MAX), fallback: 0 }).expect_err("too late");
        assert!(error.to_string().ends_with("year outside of range [0,9999]"), "{error}");
    }

    #[test]
    fn packing_checks_versions_dependencies_and_schemas() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let go = |chart: Chart, version: &str| {
            let overrides = Overrides { version: Some(version.into()), app_version: None };
            package(chart, overrides, folder.path(), TIMES)
        };
        let path = go(chart(), "3.0.0").expect("can be packed");
        assert_eq!(path, folder.path().join("p-3.0.0.tgz"));
        assert!(go(chart(), "x").is_err());
        let mut bad = chart();
        bad.schema = Some("{".into());
        assert_eq!(
            go(bad, "1.0.0").expect_err("no JSON").to_string(),
            "failed to save: invalid JSON in values.schema.json"
        );
    }
}
