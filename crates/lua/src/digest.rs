//! The digest of a chart's scripts, which identifies what a user has consented to.

use pintle_chart::{Chart, ext};
use pintle_tree::Str;
use sha2::{Digest as _, Sha256};

use crate::require;

/// Returns the digest of all scripts of a chart, its subcharts and the libraries they use, and of the permissions
/// they request. It is the same whether the chart comes from a folder, an archive or a release record, and does not
/// depend on versions, templates and values.
pub fn scripts_digest(chart: &Chart) -> String {
    let mut files = Vec::new();
    add_tree(chart, chart.name(), &mut files);
    for library in require::chosen_libraries(chart) {
        add(library, &format!("library/{}", library.name()), &mut files);
    }
    // A stable sort, so that duplicate names (which no loader produces) keep their order.
    files.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut digest = Sha256::new();
    for (path, data) in files {
        // Length prefixes keep the boundary between two strings unambiguous.
        for part in [path.as_bytes(), &data[..]] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
    }
    let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn add_tree(chart: &Chart, path: &str, files: &mut Vec<(String, Str)>) {
    add(chart, path, files);
    for subchart in &chart.subcharts {
        add_tree(subchart, &format!("{path}/charts/{}", subchart.name()), files);
    }
}

fn add(chart: &Chart, path: &str, files: &mut Vec<(String, Str)>) {
    let extensions = chart.files.iter().filter(|file| ext::is_extension(file));
    files.extend(extensions.map(|file| (format!("{path}/{}", file.name), file.data.text())));
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_chart::File;

    fn chart(name: &str, files: &[(&str, &str)]) -> Chart {
        let files = files.iter().map(|(name, text)| File::new(*name, text.as_bytes())).collect();
        let mut chart = Chart { files, ..Chart::default() };
        chart.metadata.name = name.to_owned();
        chart
    }

    #[test]
    fn a_digest_is_that_of_the_scripts_and_of_nothing_else() {
        let scripts = [("ext/lua/chart.lua", "a"), ("ext/permissions.yaml", "lua: [os]")];
        let base = scripts_digest(&chart("web", &scripts));
        assert!(base.starts_with("sha256:") && base.len() == 71, "{base}");
        let mut same = chart("web", &[scripts[1], ("README.md", "x"), scripts[0]]);
        same.metadata.version = "2.0.0".to_owned();
        same.subcharts.push(chart("plain", &[]));
        assert_eq!(scripts_digest(&same), base, "order, version and other files do not count");
        let mut with_child = chart("web", &scripts);
        with_child.subcharts.push(chart("db", &[("ext/lua/chart.lua", "b")]));
        let mut with_library = chart("web", &scripts);
        with_library.libraries.push(chart("db", &[("ext/lua/chart.lua", "b")]));
        with_library.libraries[0].metadata.version = "1.0.0".to_owned();
        let wanted = pintle_chart::metadata::Dependency { name: "db".to_owned(), ..Default::default() };
        with_library.metadata.libraries.push(wanted);
        for other in [
            chart("other", &scripts),
            chart("web", &[("ext/lua/chart.lua", "b"), scripts[1]]),
            chart("web", &[scripts[0], ("ext/permissions.yaml", "lua: [network]")]),
            chart("web", &[scripts[0], scripts[1], ("ext/lua/x.lua", "")]),
            chart("web", &[scripts[0], scripts[0], scripts[1]]),
            chart("web", &[("ext/lua/chart.lua", ""), scripts[1]]),
            with_child,
            with_library,
        ] {
            assert_ne!(scripts_digest(&other), base);
        }
    }
}
