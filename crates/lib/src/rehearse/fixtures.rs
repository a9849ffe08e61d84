//! Fixtures: objects that a chart expects in the cluster, such as CRDs, namespaces and Secrets.

use std::fs;
use std::path::{Path, PathBuf};

use pintle_objects::Object;

use crate::ops::load_chart;
use crate::{Error, Method, Result, Session, Silent, crds, deploy};

/// Applies the objects of files, folders and charts.
///
/// # Errors
/// Unreadable files, or objects that the API rejects, with the name of the file.
pub(super) async fn apply(session: &Session, paths: &[PathBuf], namespace: &str) -> Result<()> {
    let mut objects = Vec::new();
    for path in paths {
        let before = objects.len();
        if is_chart(path) {
            let chart = load_chart(path, &mut Silent)?;
            for crd in chart.crds() {
                read(&crd.path, &crd.file.data, &mut objects)?;
            }
        } else {
            for file in files(path)? {
                let data = pintle_chart::read_regular(&file)
                    .map_err(|error| fixture_error(&file.display().to_string(), &error))?;
                read(&file.display().to_string(), &data, &mut objects)?;
            }
        }
        if objects.len() == before {
            return Err(fixture_error(&path.display().to_string(), &"there are no objects in it"));
        }
    }
    // CRDs before their objects, namespaces before their content.
    let rank = |object: &Object| match object.kind() {
        "CustomResourceDefinition" => 0,
        "Namespace" => 1,
        _ => 2,
    };
    objects.sort_by_key(|(_, object)| rank(object));
    let (mut made, mut served) = (Vec::new(), false);
    for (file, object) in &mut objects {
        if rank(object) > 0 && !served {
            crds::wait_until_established(session, &made).await?;
            served = true;
        }
        let refused = |error: &dyn std::fmt::Display| fixture_error(file, error);
        session.cluster.scope(object, namespace).await.map_err(|error| refused(&error))?;
        deploy::create_or_apply(session, object, Method::ServerSide)
            .await
            .map_err(|error| refused(&error))?;
        if rank(object) == 0 {
            made.push(object.id());
        }
    }
    if !served {
        crds::wait_until_established(session, &made).await?;
    }
    Ok(())
}

fn fixture_error(file: &str, why: &dyn std::fmt::Display) -> Error {
    Error::Input(format!("cannot use {file}: {why}"))
}

fn is_chart(path: &Path) -> bool {
    path.join("Chart.yaml").is_file() || path.extension().is_some_and(|it| it == "tgz")
}

fn read(file: &str, data: &[u8], objects: &mut Vec<(String, Object)>) -> Result<()> {
    let read = Object::read_manifest(data, file).map_err(|error| fixture_error(file, &error))?;
    objects.extend(read.into_iter().map(|object| (file.to_owned(), object)));
    Ok(())
}

/// Returns the file itself, or all manifests below a folder, sorted by name.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    let refused = |error: &std::io::Error| fixture_error(&path.display().to_string(), error);
    if !fs::metadata(path).map_err(|error| refused(&error))?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries: std::io::Result<Vec<_>> = fs::read_dir(path).map_err(|error| refused(&error))?.collect();
    let mut entries: Vec<PathBuf> =
        entries.map_err(|error| refused(&error))?.iter().map(fs::DirEntry::path).collect();
    entries.sort();
    let mut found = Vec::new();
    for entry in entries {
        let is_manifest = entry.extension().is_some_and(|it| it == "yaml" || it == "yml" || it == "json");
        // Symbolic links to folders could form cycles.
        let is_folder = fs::symlink_metadata(&entry).is_ok_and(|it| it.is_dir());
        if is_folder || is_manifest {
            found.extend(files(&entry)?);
        }
    }
    Ok(found)
}
