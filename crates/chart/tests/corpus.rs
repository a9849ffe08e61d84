//! Loads every chart of the corpus, and compares load errors with recorded ones of Helm.

use std::fs;
use std::io::Read;
use std::path::Path;

use pintle_chart::package::{Times, archive};
use pintle_chart::{Chart, File, load, load_archive, load_files};
use pintle_testkit::corpus;
use serde_json::Value;

/// Helm's recorded error for the chart.
fn recorded_failure(chart: &Path) -> Option<String> {
    let goldens = corpus("goldens/render")?.join(chart.file_name()?);
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(fs::File::open(goldens).ok()?).read_to_end(&mut unpacked).ok()?;
    let text = String::from_utf8_lossy(&unpacked);
    // The golden is one line in a tar of small files; its own text is easier to find than the entry.
    let after = text.split_once("default.err")?.1.split_once("Error: ")?.1;
    Some(after.split(['\n', '\0']).next()?.to_owned())
}

#[test]
fn every_chart_of_the_corpus_loads_and_survives_packing() {
    let Some(folder) = corpus("charts") else {
        println!("no corpus; skipped");
        return;
    };
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("the corpus is readable") {
        let path = entry.expect("the corpus is readable").path();
        if path.extension().is_none_or(|extension| extension != "tgz") {
            continue;
        }
        let chart = match load(&path, &mut Vec::new()) {
            Ok(chart) => chart,
            Err(error) => {
                assert_eq!(recorded_failure(&path), Some(error.to_string()), "{}", path.display());
                continue;
            }
        };
        let packed = archive(&chart, Times { all: None, fallback: 0 }).expect("can be packed");
        let again = load_archive(packed.as_slice(), &mut Vec::new()).expect("can be loaded again");
        // As text, because packing drops the dependencies of a v1 chart that keeps them in Chart.yaml.
        let text = |chart: &Chart| String::from_utf8(chart.metadata.to_yaml().expect("can be written"));
        assert_eq!(text(&again), text(&chart), "{}", path.display());
        assert_eq!(again.values, chart.values, "{}", path.display());
        assert_eq!(again.templates, chart.templates, "{}", path.display());
        assert_eq!(again.subcharts.len(), chart.subcharts.len(), "{}", path.display());
        count += 1;
    }
    println!("{count} charts loaded");
    assert!(count > 0);
}

#[test]
fn failures_to_load_have_helm_s_texts() {
    let Some(file) = corpus("goldens/behaviour/coalesce.jsonl") else {
        println!("no corpus; skipped");
        return;
    };
    let cases = fs::read_to_string(file).expect("the corpus is readable");
    let (mut passed, mut total) = (0, 0);
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).expect("each line is JSON");
        let files = case["in"]["files"].as_object().expect("files are a map");
        let files = files
            .iter()
            .map(|(name, text)| File::new(name, text.as_str().expect("texts are strings").as_bytes()))
            .collect();
        let got = load_files(files).map(drop).map_err(|error| error.to_string());
        let want = match case["out"]["stage"].as_str() {
            Some("load") => Err(case["out"]["err"].as_str().expect("errors are strings").to_owned()),
            _ => Ok(()),
        };
        total += 1;
        if got == want {
            passed += 1;
        } else {
            println!("{}: want {want:?}, got {got:?}", case["id"]);
        }
    }
    println!("{passed} of {total} passed");
    assert!(passed * 1000 >= total * 995, "{passed} of {total} passed");
}
