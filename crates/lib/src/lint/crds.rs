//! Rules for the files below `crds/`.

use std::path::Path;

use super::Findings;
use super::Severity::Error;
use super::document::documents;

const FOLDER: &str = "crds/";

pub(super) fn check(folder: &Path, findings: &mut Findings) {
    let path = folder.join("crds");
    if !path.exists() {
        return;
    }
    let is_folder = if path.is_dir() { Ok(()) } else { Err("not a directory".to_owned()) };
    if !findings.check(Error, FOLDER, is_folder) {
        return;
    }
    let chart = match pintle_chart::load_any_version(folder, &mut findings.log) {
        Ok(chart) => chart,
        Err(error) => {
            findings.check(Error, FOLDER, Err(error.to_string()));
            return;
        }
    };
    for crd in chart.crds() {
        for outcome in documents(&crd.file.data) {
            let document = match outcome {
                Ok(Some(document)) => document,
                Ok(None) => continue,
                Err(text) => {
                    findings.check(Error, &crd.file.name, Err(text));
                    return;
                }
            };
            let good_version = document.api_version.starts_with("apiextensions.k8s.io");
            let version = if good_version {
                Ok(())
            } else {
                Err("apiVersion is not in 'apiextensions.k8s.io'".to_owned())
            };
            findings.check(Error, &crd.file.name, version);
            let good_kind = document.kind == "CustomResourceDefinition";
            let kind = if good_kind {
                Ok(())
            } else {
                Err("object kind is not 'CustomResourceDefinition'".to_owned())
            };
            findings.check(Error, &crd.file.name, kind);
        }
    }
}
