//! Rules that compare the dependencies in Chart.yaml with `charts/`.

use std::path::Path;

use pintle_chart::Chart;

use super::Findings;
use super::Severity::{Error, Warning};

pub(super) fn check(folder: &Path, findings: &mut Findings) {
    let chart = match pintle_chart::load_any_version(folder, &mut findings.log) {
        Ok(chart) => chart,
        Err(error) => {
            findings.check(Error, "", Err(format!("unable to load chart\n\t{error}")));
            return;
        }
    };
    let path = folder.to_string_lossy();
    findings.check(Error, &path, all_listed(&chart));
    findings.check(Error, &path, all_unique(&chart));
    findings.check(Warning, &path, all_present(&chart));
}

fn listed(chart: &Chart) -> Vec<&str> {
    chart.metadata.dependencies.iter().map(|dependency| dependency.name.as_str()).collect()
}

fn all_listed(chart: &Chart) -> Result<(), String> {
    let listed = listed(chart);
    let missing: Vec<&str> =
        chart.subcharts.iter().map(Chart::name).filter(|name| !listed.contains(name)).collect();
    fail_if_any("chart metadata is missing these dependencies", &missing)
}

fn all_present(chart: &Chart) -> Result<(), String> {
    let present: Vec<&str> = chart.subcharts.iter().map(Chart::name).collect();
    let missing: Vec<&str> = listed(chart).into_iter().filter(|name| !present.contains(name)).collect();
    fail_if_any("chart directory is missing these dependencies", &missing)
}

fn all_unique(chart: &Chart) -> Result<(), String> {
    let mut seen: Vec<&str> = Vec::new();
    let mut shadowing: Vec<&str> = Vec::new();
    for dependency in &chart.metadata.dependencies {
        let name = if dependency.alias.is_empty() { &dependency.name } else { &dependency.alias };
        if seen.contains(&name.as_str()) {
            shadowing.push(name);
        }
        seen.push(name);
    }
    fail_if_any("multiple dependencies with name or alias", &shadowing)
}

fn fail_if_any(what: &str, names: &[&str]) -> Result<(), String> {
    if names.is_empty() { Ok(()) } else { Err(format!("{what}: {}", names.join(","))) }
}
