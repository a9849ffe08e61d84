//! Collects the images of a chart or a release, and formats the list.

use pintle::images::PathFilter;
use pintle::ops::images::{ImageOptions, inspect};
use pintle::ops::{ImageUse, ListedImage, list_images};
use pintle::registry::Digest;
use pintle_tree::{Node, json};

use super::subject::Subject;
use crate::failure::Failure;
use crate::flag::names;
use crate::flag::parsed::Parsed;
use crate::invocation::Invocation;
use crate::output::format::{Record, Records, yaml_of};
use crate::report::Reporting;
use crate::request;

/// The name and the version of a chart.
pub(super) type ChartName = (String, String);

/// The images that the objects of a chart or a release use.
pub(super) fn images_of(
    invocation: &mut Invocation<'_>,
    named: &Subject,
) -> Result<(ChartName, Vec<ListedImage>), Failure> {
    let subject = named.load(invocation)?;
    let options = ImageOptions {
        filter: PathFilter::default(),
        kube_version: request::kube_version(invocation)?,
        ..ImageOptions::default()
    };
    let seen = inspect(&subject, &options, &mut Reporting::new(invocation.ui))?;
    if let Some(reason) = seen.unrendered {
        return Err(Failure::run_time(format!("{} does not render: {reason}", named.text()))
            .hint("set the required values with --values or --set"));
    }
    let metadata = &subject.chart.metadata;
    let chart = (subject.chart.name().to_owned(), metadata.version.to_string());
    Ok((chart, list_images(&seen.relocation.images)))
}

/// The values of `--output`.
pub(super) static FORMATS: [&str; 5] = ["table", "json", "yaml", "csv", "cyclonedx"];

/// The output format of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListFormat {
    /// A table.
    Table,
    /// Our own JSON.
    Json,
    /// The same data as YAML.
    Yaml,
    /// CSV.
    Csv,
    /// A CycloneDX SBOM.
    CycloneDx,
}

impl ListFormat {
    /// The format of `--output`.
    pub(super) fn from_flags(flags: &Parsed) -> Result<ListFormat, Failure> {
        match flags.text(names::OUTPUT) {
            "table" => Ok(ListFormat::Table),
            "json" => Ok(ListFormat::Json),
            "yaml" => Ok(ListFormat::Yaml),
            "csv" => Ok(ListFormat::Csv),
            "cyclonedx" => Ok(ListFormat::CycloneDx),
            other => Err(Failure::usage(format!("invalid output format `{other}`"))
                .hint(format!("it may be {}", FORMATS.join(", ")))),
        }
    }
}

/// The list as text.
pub(super) fn text(
    format: ListFormat,
    images: &[ListedImage],
    chart: &ChartName,
    unique: bool,
    table: impl FnOnce(&[Vec<String>]) -> String,
) -> Result<Vec<u8>, Failure> {
    let failed = |error: json::Error| Failure::run_time(format!("cannot write the output: {error}"));
    let records: Vec<Record> = images.iter().map(|image| record(image, unique)).collect();
    Ok(match format {
        ListFormat::Table => table(&rows(images, unique)).into_bytes(),
        ListFormat::Csv => csv(images, unique).into_bytes(),
        ListFormat::Json => {
            let mut text = json::write_pretty(&Records(&records)).map_err(failed)?;
            text.push(b'\n');
            text
        }
        ListFormat::Yaml => yaml_of(&json::write(&Records(&records)).map_err(failed)?)?,
        ListFormat::CycloneDx => {
            let mut text = json::write_pretty(&bill(images, chart)).map_err(failed)?;
            text.push(b'\n');
            text
        }
    })
}

/// The digest of an image, resolved or from its reference.
fn digest(image: &ListedImage) -> Option<&Digest> {
    let asked = image.resolved.as_ref().map(|resolved| &resolved.digest);
    asked.or_else(|| image.name.as_ref()?.digest())
}

fn rows(images: &[ListedImage], unique: bool) -> Vec<Vec<String>> {
    let resolved = images.iter().any(|image| image.resolved.is_some());
    let mut headings = vec!["IMAGE".to_owned()];
    if resolved {
        headings.extend(["DIGEST".to_owned(), "PLATFORMS".to_owned()]);
    }
    if !unique {
        headings.extend(["USED BY".to_owned(), "VALUES".to_owned()]);
    }
    let mut rows = vec![headings];
    for image in images {
        let mut front = vec![image.full()];
        if resolved {
            front.push(digest(image).map(|digest| digest.short().to_owned()).unwrap_or_default());
            front.push(platforms(image).join(","));
        }
        if unique {
            rows.push(front);
            continue;
        }
        for used in &image.uses {
            let mut row = front.clone();
            row.extend([used.object.to_string(), used.values.join(",")]);
            rows.push(row);
        }
    }
    rows
}

fn platforms(image: &ListedImage) -> Vec<String> {
    let known = image.resolved.iter().flat_map(|resolved| &resolved.platforms);
    known.map(|(platform, _)| platform.to_string()).collect()
}

fn record(image: &ListedImage, unique: bool) -> Record {
    let resolved = image.resolved.as_ref();
    let platforms = resolved.iter().flat_map(|resolved| &resolved.platforms).map(|(platform, digest)| {
        Record::default().with("platform", platform.to_string()).with("digest", digest.to_string())
    });
    let name = image.name.as_ref();
    let record = Record::default()
        .with("image", image.full())
        .with("written", image.image.as_str())
        .with_option("registry", name.map(|name| name.repository.registry().to_owned()))
        .with_option("repository", name.map(|name| name.repository.path().to_owned()))
        .with_option("tag", name.and_then(|name| name.tag()).map(ToOwned::to_owned))
        .with_option("digest", digest(image).map(ToString::to_string))
        .with_option("mediaType", resolved.map(|resolved| resolved.media_type.clone()))
        .with_records("platforms", platforms.collect())
        .with_option("problem", image.problem.clone());
    if unique { record } else { record.with_records("uses", image.uses.iter().map(use_record).collect()) }
}

fn use_record(used: &ImageUse) -> Record {
    let values: Vec<Node> = used.values.iter().map(|path| path.as_str().into()).collect();
    Record::default()
        .with("kind", used.object.kind.as_str())
        .with("namespace", used.object.namespace.as_str())
        .with("name", used.object.name.as_str())
        .with("field", used.field.as_str())
        .with("chart", used.chart())
        .with("template", used.template.as_str())
        .with("values", values)
}

fn csv(images: &[ListedImage], unique: bool) -> String {
    let mut text = "image,registry,repository,tag,digest".to_owned();
    text.push_str(if unique { "\n" } else { ",kind,namespace,name,field,template,values\n" });
    for image in images {
        let name = image.name.as_ref();
        let front = [
            image.full(),
            name.map(|name| name.repository.registry().to_owned()).unwrap_or_default(),
            name.map(|name| name.repository.path().to_owned()).unwrap_or_default(),
            name.and_then(|name| name.tag()).unwrap_or_default().to_owned(),
            digest(image).map(ToString::to_string).unwrap_or_default(),
        ];
        if unique {
            push_row(&mut text, &front);
            continue;
        }
        for used in &image.uses {
            let mut row = front.to_vec();
            row.extend([used.object.kind.clone(), used.object.namespace.clone(), used.object.name.clone()]);
            row.extend([used.field.clone(), used.template.clone(), used.values.join(" ")]);
            push_row(&mut text, &row);
        }
    }
    text
}

fn push_row(text: &mut String, cells: &[String]) {
    let quoted = cells.iter().map(|cell| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    });
    text.push_str(&quoted.collect::<Vec<String>>().join(","));
    text.push('\n');
}

/// An SBOM in CycloneDX 1.5. It has no timestamp and no serial number, so that it is reproducible.
fn bill(images: &[ListedImage], chart: &ChartName) -> Record {
    let component = |kind: &str, name: &str, version: &str| {
        Record::default().with("type", kind).with("name", name).with("version", version)
    };
    let tool = component("application", "pintle", env!("CARGO_PKG_VERSION"));
    let metadata = Record::default()
        .with_record("tools", Record::default().with_records("components", vec![tool]))
        .with_record("component", component("application", &chart.0, &chart.1));
    Record::default()
        .with("bomFormat", "CycloneDX")
        .with("specVersion", "1.5")
        .with("version", 1_i64)
        .with_record("metadata", metadata)
        .with_records("components", images.iter().map(component_of).collect())
}

fn component_of(image: &ListedImage) -> Record {
    let digest = digest(image);
    let (name, tag) = match &image.name {
        Some(name) => (name.repository.to_string(), name.tag().map(ToOwned::to_owned)),
        None => (image.image.clone(), None),
    };
    let version = tag.clone().or_else(|| digest.map(ToString::to_string));
    let hashes = digest.map(|digest| {
        let algorithm = if digest.algorithm() == "sha512" { "SHA-512" } else { "SHA-256" };
        Record::default().with("alg", algorithm).with("content", digest.hex())
    });
    let property = |name: &str, value: &str| Record::default().with("name", name).with("value", value);
    let mut properties = Vec::new();
    for (platform, digest) in image.resolved.iter().flat_map(|resolved| &resolved.platforms) {
        properties.push(property(&format!("pintle:platform:{platform}"), &digest.to_string()));
    }
    for used in &image.uses {
        properties.push(property("pintle:usedBy", &format!("{} {}", used.object, used.field)));
        properties.push(property("pintle:template", &used.template));
        properties.extend(used.values.iter().map(|path| property("pintle:valuesPath", path)));
    }
    Record::default()
        .with("type", "container")
        .with("bom-ref", image.full())
        .with("name", name)
        .with_option("version", version)
        .with_option("purl", purl(image, tag.as_deref()))
        .with_records("hashes", hashes.into_iter().collect())
        .with_records("properties", properties)
}

/// The package URL; purl requires a digest for OCI images, so there is none without it.
fn purl(image: &ListedImage, tag: Option<&str>) -> Option<String> {
    let repository = &image.name.as_ref()?.repository;
    let digest = digest(image)?;
    let short = repository.path().rsplit('/').next().unwrap_or_default();
    let encoded_repository = repository.to_string().replace('/', "%2F").replace(':', "%3A");
    let tag = tag.map(|tag| format!("&tag={tag}")).unwrap_or_default();
    Some(format!(
        "pkg:oci/{short}@{}%3A{}?repository_url={encoded_repository}{tag}",
        digest.algorithm(),
        digest.hex()
    ))
}
