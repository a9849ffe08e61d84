//! The hot paths of rendering a chart, one by one.

use std::hint::black_box;

use anyhow::{Result, anyhow};
use pintle_chart::{Chart, File};
use pintle_objects::Order;
use pintle_render::{Capabilities, Release, Target};
use pintle_tree::{Map, set};
use pintle_values::NullRules;

use crate::data;

/// One run; returns the size of its result, so that it is not optimized away.
type Run = Box<dyn FnMut() -> Result<usize>>;

/// A named hot path.
pub(crate) struct HotPath {
    /// The name, as in `benches/instructions.tsv`.
    pub(crate) name: &'static str,
    /// Prepares the data once and returns the function to run.
    pub(crate) prepare: fn() -> Result<Run>,
}

/// All hot paths, in pipeline order.
pub(crate) const ALL: &[HotPath] = &[
    HotPath { name: "yaml-read", prepare: yaml_read },
    HotPath { name: "yaml-validate", prepare: yaml_validate },
    HotPath { name: "yaml-write", prepare: yaml_write },
    HotPath { name: "set-parse", prepare: set_parse },
    HotPath { name: "load-archive", prepare: load_archive },
    HotPath { name: "coalesce", prepare: coalesce },
    HotPath { name: "render-small", prepare: || render(data::small_chart()) },
    HotPath { name: "render-umbrella", prepare: || render(data::umbrella()) },
    HotPath { name: "sort-objects", prepare: sort_objects },
    HotPath { name: "filter-hooks", prepare: filter_hooks },
];

fn yaml_read() -> Result<Run> {
    let text = data::values_text();
    Ok(Box::new(move || Ok(pintle_yaml::read_map(black_box(text.as_bytes()))?.len())))
}

fn yaml_validate() -> Result<Run> {
    let text = data::values_text();
    Ok(Box::new(move || {
        pintle_yaml::validate(black_box(text.as_bytes()))?;
        Ok(text.len())
    }))
}

fn yaml_write() -> Result<Run> {
    let tree = pintle_yaml::read(data::values_text().as_bytes())?;
    Ok(Box::new(move || Ok(pintle_yaml::write(black_box(&tree))?.len())))
}

fn set_parse() -> Result<Run> {
    let assignments = data::assignments();
    Ok(Box::new(move || {
        let mut values = Map::new();
        for assignment in &assignments {
            set::assign(black_box(assignment), &mut values)?;
        }
        Ok(values.len())
    }))
}

fn load_archive() -> Result<Run> {
    let archive = data::archive("umbrella", &data::umbrella())?;
    Ok(Box::new(move || {
        let chart = pintle_chart::load_archive(black_box(&archive[..]), &mut Vec::new())?;
        Ok(chart.subcharts.len())
    }))
}

fn coalesce() -> Result<Run> {
    let chart = processed(data::umbrella())?;
    let mut user = Map::new();
    set::assign("global.extra=1,sub3.replicas=7,sub4.containers.server=null", &mut user)?;
    Ok(Box::new(move || {
        let values = pintle_values::coalesce(black_box(&chart), &user, NullRules::Helm4, &mut Vec::new())?;
        Ok(values.len())
    }))
}

fn render(files: Vec<File>) -> Result<Run> {
    let chart = processed(files)?;
    let values = pintle_values::coalesce(&chart, &Map::new(), NullRules::Helm4, &mut Vec::new())?;
    let release =
        Release { name: "demo".into(), namespace: "default".into(), revision: 1, is_upgrade: false };
    let target = Target::offline(release, Capabilities::default());
    Ok(Box::new(move || {
        let rendered = pintle_render::render(black_box(&chart), &values, &target)
            .map_err(|error| anyhow!("cannot render: {error}"))?;
        Ok(rendered.files.iter().map(|file| file.text.len()).sum())
    }))
}

fn sort_objects() -> Result<Run> {
    let files = data::rendered_files();
    Ok(Box::new(move || {
        let sorted = pintle_objects::sort(black_box(&files), Order::Install)?;
        Ok(sorted.manifests.len() + sorted.hooks.len())
    }))
}

/// Every document is a hook of two events, so that the whole text is edited twice.
fn filter_hooks() -> Result<Run> {
    let text = data::hooks_text();
    Ok(Box::new(move || Ok(pintle_hooks::Filter::read(black_box(text.as_bytes()))?.to_vec().len())))
}

fn processed(files: Vec<File>) -> Result<Chart> {
    let chart = pintle_chart::load_files(files)?;
    Ok(pintle_values::process_dependencies(chart, &Map::new(), NullRules::Helm4, &mut Vec::new())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hot_path_is_deterministic() {
        for path in ALL {
            let mut run = (path.prepare)().unwrap();
            let first = run().unwrap();
            assert!(first > 0, "{} does nothing", path.name);
            assert_eq!(run().unwrap(), first, "{} depends on the runs before", path.name);
        }
    }
}
