//! Chart extensions: the `ext/` folder with scripts and requested permissions.

use crate::{Chart, File};

/// The folder reserved for extensions.
pub const FOLDER: &str = "ext/";

/// The folder of scripts.
const SCRIPTS: &str = "ext/lua/";

/// The main script.
pub const MAIN: &str = "ext/lua/chart.lua";

/// The file in which a chart requests permissions.
pub const PERMISSIONS: &str = "ext/permissions.yaml";

/// Whether a file belongs to the extensions, which `.Files` does not show.
pub fn is_extension(file: &File) -> bool {
    file.name.starts_with(FOLDER)
}

/// The main script.
pub fn main_script(chart: &Chart) -> Option<&File> {
    chart.files.iter().find(|file| file.name == MAIN)
}

/// All scripts by module name: `a.b` for `ext/lua/a/b.lua`.
pub fn scripts(chart: &Chart) -> impl Iterator<Item = (String, &File)> {
    chart.files.iter().filter_map(|file| {
        let name = file.name.strip_prefix(SCRIPTS)?.strip_suffix(".lua")?;
        // A dot in a file name would make the module name ambiguous.
        (!name.is_empty() && !name.contains('.')).then(|| (name.replace('/', "."), file))
    })
}

/// Whether the chart or a subchart has a main script.
pub fn has_scripts(chart: &Chart) -> bool {
    let below = chart.subcharts.iter().chain(&chart.libraries);
    main_script(chart).is_some() || below.into_iter().any(has_scripts)
}

/// The file in which the chart requests permissions.
pub fn permissions(chart: &Chart) -> Option<&File> {
    chart.files.iter().find(|file| file.name == PERMISSIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(files: &[&str]) -> Chart {
        Chart { files: files.iter().map(|name| File::new(*name, &b""[..])).collect(), ..Chart::default() }
    }

    #[test]
    fn scripts_have_dotted_names() {
        let chart =
            chart(&["ext/lua/chart.lua", "ext/lua/a/b.lua", "ext/lua/a.b.lua", "ext/x.lua", "lua/y.lua"]);
        let names: Vec<String> = scripts(&chart).map(|(name, _)| name).collect();
        assert_eq!(names, ["chart", "a.b"]);
        assert_eq!(chart.files.iter().filter(|file| is_extension(file)).count(), 4);
    }

    #[test]
    fn scripts_of_subcharts_and_libraries_are_found() {
        let mut parent = chart(&["ext/lua/other.lua"]);
        assert!(!has_scripts(&parent));
        let mut child = chart(&[]);
        child.libraries.push(chart(&["ext/lua/chart.lua"]));
        parent.subcharts.push(child);
        assert!(has_scripts(&parent));
    }
}
