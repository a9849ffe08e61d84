//! Encodes a record as the JSON that Helm 4 writes, with its field order and `omitempty` rules.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pintle_chart::metadata::{Dependency, Lock, Maintainer, Metadata};
use pintle_tree::json::{self, Layout, Writer};
use pintle_tree::{Sink as _, Walk as _};

use super::Error;
use crate::{HookRun, PreservedFields, ReleaseVersion, StoredChart, StoredFile, StoredHook, Timestamp};

type Outcome = Result<(), json::Error>;

/// Encodes a record as Helm 4 does. The labels are not part of it.
///
/// # Errors
/// Values that JSON cannot represent: infinities and NaN.
pub fn encode(version: &ReleaseVersion) -> Result<Vec<u8>, Error> {
    let mut out = Fields { writer: Writer::new(Layout::Compact, true) };
    out.release(version)?;
    Ok(out.writer.into_bytes())
}

/// Writes fields as Go structs with `omitempty`.
struct Fields {
    writer: Writer<'static>,
}

impl Fields {
    fn release(&mut self, version: &ReleaseVersion) -> Outcome {
        let usual = PreservedFields::default();
        let preserved = version.preserved.as_deref().unwrap_or(&usual);
        self.open()?;
        self.text("name", &version.name)?;
        if !preserved.no_info {
            self.key("info")?;
            self.info(version, preserved)?;
        }
        if !preserved.no_chart {
            self.key("chart")?;
            self.chart(&version.chart, preserved)?;
        }
        if let Some(config) = version.config.as_ref().filter(|config| !config.is_empty()) {
            self.key("config")?;
            config.walk(&mut self.writer)?;
        }
        self.text("manifest", &version.manifest)?;
        self.hooks(&version.hooks, preserved)?;
        if version.number != 0 {
            self.key("version")?;
            self.writer.uint(version.number)?;
        }
        if !preserved.no_namespace {
            self.text("namespace", &version.namespace)?;
        }
        self.text("apply_method", &version.apply_method)?;
        self.close()
    }

    fn info(&mut self, version: &ReleaseVersion, preserved: &PreservedFields) -> Outcome {
        let info = &version.info;
        self.open()?;
        self.timestamp("first_deployed", info.first_deployed)?;
        self.timestamp("last_deployed", info.last_deployed)?;
        self.timestamp("deleted", info.deleted)?;
        self.text("description", &info.description)?;
        self.text("status", version.status_word())?;
        if let Some(number) = info.rollback_revision.filter(|number| *number != 0) {
            self.key("rollback_revision")?;
            self.writer.uint(number)?;
        }
        self.text("notes", &info.notes)?;
        if !preserved.resources.is_empty() {
            self.key("resources")?;
            preserved.resources.walk(&mut self.writer)?;
        }
        self.close()
    }

    fn chart(&mut self, chart: &StoredChart, preserved: &PreservedFields) -> Outcome {
        self.open()?;
        self.key("metadata")?;
        if preserved.no_metadata {
            self.writer.nil()?
        } else {
            self.metadata(&chart.metadata)?
        }
        self.key("lock")?;
        match &chart.lock {
            Some(lock) => self.lock(lock)?,
            None => self.writer.nil()?,
        }
        self.key("templates")?;
        self.files(chart.templates.as_deref())?;
        self.key("values")?;
        match &chart.values {
            Some(values) => values.walk(&mut self.writer)?,
            None => self.writer.nil()?,
        }
        self.key("schema")?;
        self.bytes(chart.schema.as_deref())?;
        self.key("schemamodtime")?;
        // The one time without `omitempty` in Helm's struct: it is written even if it is zero.
        self.writer.str(chart.schema_modified.unwrap_or(Timestamp::ZERO).to_string().as_bytes())?;
        self.key("files")?;
        self.files(chart.files.as_deref())?;
        self.timestamp("modtime", chart.modified)?;
        self.close()
    }

    fn metadata(&mut self, metadata: &Metadata) -> Outcome {
        self.open()?;
        self.text("name", &metadata.name)?;
        self.text("home", &metadata.home)?;
        self.texts("sources", &metadata.sources)?;
        self.text("version", &metadata.version)?;
        self.text("description", &metadata.description)?;
        self.texts("keywords", &metadata.keywords)?;
        self.list("maintainers", &metadata.maintainers, Self::maintainer)?;
        self.text("icon", &metadata.icon)?;
        self.text("apiVersion", &metadata.api_version)?;
        self.text("condition", &metadata.condition)?;
        self.text("tags", &metadata.tags)?;
        self.text("appVersion", &metadata.app_version)?;
        if metadata.deprecated {
            self.key("deprecated")?;
            self.writer.bool(true)?;
        }
        if !metadata.annotations.is_empty() {
            self.key("annotations")?;
            self.open()?;
            for (key, value) in &metadata.annotations {
                self.key(key)?;
                self.writer.str(value.as_bytes())?;
            }
            self.close()?;
        }
        self.text("kubeVersion", &metadata.kube_version)?;
        self.list("dependencies", &metadata.dependencies, Self::dependency)?;
        self.text("type", &metadata.kind)?;
        self.close()
    }

    fn maintainer(&mut self, maintainer: &Maintainer) -> Outcome {
        self.open()?;
        self.text("name", &maintainer.name)?;
        self.text("email", &maintainer.email)?;
        self.text("url", &maintainer.url)?;
        self.close()
    }

    fn dependency(&mut self, dependency: &Dependency) -> Outcome {
        self.open()?;
        // Name and repository of a dependency are written even if empty: Helm's struct has no `omitempty` there.
        self.key("name")?;
        self.writer.str(dependency.name.as_bytes())?;
        self.text("version", &dependency.version)?;
        self.key("repository")?;
        self.writer.str(dependency.repository.as_bytes())?;
        self.text("condition", &dependency.condition)?;
        self.texts("tags", &dependency.tags)?;
        if dependency.enabled {
            self.key("enabled")?;
            self.writer.bool(true)?;
        }
        self.list("import-values", &dependency.import_values, |out, node| node.walk(&mut out.writer))?;
        self.text("alias", &dependency.alias)?;
        self.close()
    }

    fn lock(&mut self, lock: &Lock) -> Outcome {
        self.open()?;
        self.key("generated")?;
        let generated = Timestamp::parse(&lock.generated).unwrap_or_default();
        self.writer.str(generated.to_string().as_bytes())?;
        self.key("digest")?;
        self.writer.str(lock.digest.as_bytes())?;
        self.key("dependencies")?;
        // A nil slice in Go; Helm writes null.
        if lock.dependencies.is_empty() {
            self.writer.nil()?;
        } else {
            self.items(&lock.dependencies, Self::dependency)?;
        }
        self.close()
    }

    fn files(&mut self, files: Option<&[StoredFile]>) -> Outcome {
        let Some(files) = files else { return self.writer.nil() };
        self.items(files, |out, file| {
            out.open()?;
            out.key("name")?;
            out.writer.str(file.name.as_bytes())?;
            out.key("data")?;
            out.bytes(file.data.as_deref())?;
            out.timestamp("modtime", file.modified)?;
            out.close()
        })
    }

    fn hooks(&mut self, hooks: &[StoredHook], preserved: &PreservedFields) -> Outcome {
        if hooks.is_empty() && preserved.nil_hooks.is_empty() {
            return Ok(());
        }
        self.key("hooks")?;
        self.writer.begin_list(hooks.len())?;
        let mut position = 0;
        for (index, hook) in hooks.iter().enumerate() {
            position += self.nil_hooks_from(position, preserved)?;
            self.hook(hook, preserved.events.get(&index).map(Vec::as_slice))?;
            position += 1;
        }
        self.nil_hooks_from(position, preserved)?;
        self.writer.end_list()
    }

    /// Writes the nulls at index `position` of the list of hooks, and returns how many.
    fn nil_hooks_from(&mut self, position: usize, preserved: &PreservedFields) -> Result<usize, json::Error> {
        let mut count = 0;
        while preserved.nil_hooks.contains(&(position + count)) {
            self.writer.nil()?;
            count += 1;
        }
        Ok(count)
    }

    fn hook(&mut self, hook: &StoredHook, odd_events: Option<&[String]>) -> Outcome {
        self.open()?;
        self.text("name", &hook.name)?;
        self.text("kind", &hook.kind)?;
        self.text("path", &hook.path)?;
        self.text("manifest", &hook.manifest)?;
        match odd_events {
            Some(words) => self.texts("events", words)?,
            None => {
                self.list("events", &hook.events, |out, event| out.writer.str(event.as_str().as_bytes()))?
            }
        }
        self.key("last_run")?;
        self.hook_run(&hook.last_run)?;
        if hook.weight != 0 {
            self.key("weight")?;
            self.writer.int(hook.weight)?;
        }
        self.texts("delete_policies", &hook.delete_policies)?;
        self.texts("output_log_policies", &hook.output_log_policies)?;
        self.close()
    }

    fn hook_run(&mut self, run: &HookRun) -> Outcome {
        self.open()?;
        self.timestamp("started_at", run.started)?;
        self.timestamp("completed_at", run.completed)?;
        self.key("phase")?;
        self.writer.str(run.phase.as_str().as_bytes())?;
        self.close()
    }

    fn open(&mut self) -> Outcome {
        self.writer.begin_fields(0)
    }

    fn close(&mut self) -> Outcome {
        self.writer.end_map()
    }

    fn key(&mut self, key: &str) -> Outcome {
        self.writer.key(key.as_bytes())
    }

    /// A string, omitted when empty.
    fn text(&mut self, key: &str, text: &str) -> Outcome {
        if text.is_empty() {
            return Ok(());
        }
        self.key(key)?;
        self.writer.str(text.as_bytes())
    }

    /// A timestamp, omitted when absent.
    fn timestamp(&mut self, key: &str, timestamp: Option<Timestamp>) -> Outcome {
        match timestamp.and_then(Timestamp::non_zero) {
            Some(timestamp) => self.text(key, &timestamp.to_string()),
            None => Ok(()),
        }
    }

    /// Bytes as base64, or null.
    fn bytes(&mut self, bytes: Option<&[u8]>) -> Outcome {
        match bytes {
            Some(bytes) => self.writer.str(BASE64.encode(bytes).as_bytes()),
            None => self.writer.nil(),
        }
    }

    fn texts(&mut self, key: &str, texts: &[String]) -> Outcome {
        self.list(key, texts, |out, text| out.writer.str(text.as_bytes()))
    }

    /// A list, omitted when empty.
    fn list<T>(&mut self, key: &str, items: &[T], write: impl Fn(&mut Self, &T) -> Outcome) -> Outcome {
        if items.is_empty() {
            return Ok(());
        }
        self.key(key)?;
        self.items(items, write)
    }

    fn items<T>(&mut self, items: &[T], write: impl Fn(&mut Self, &T) -> Outcome) -> Outcome {
        self.writer.begin_list(items.len())?;
        for item in items {
            write(self, item)?;
        }
        self.writer.end_list()
    }
}
