//! Executes the template of a README.

use std::rc::Rc;

use pintle_gotmpl::{Exec, Limits, Set};

use crate::data;
use crate::error::Error;
use crate::files::ChartFiles;
use crate::functions::functions;
use crate::info::ChartInfo;
use crate::model::{DependencyValues, SortOrder, all_rows, sections};

/// The templates that READMEs can use.
const TEMPLATES: &str = include_str!("templates.gotmpl");

/// The README of a chart without a template of its own.
const DEFAULT: &str = r#"{{ template "chart.header" . }}
{{ template "chart.deprecationWarning" . }}

{{ template "chart.badgesSection" . }}

{{ template "chart.description" . }}

{{ template "chart.homepageLine" . }}

{{ template "chart.maintainersSection" . }}

{{ template "chart.sourcesSection" . }}

{{ template "chart.requirementsSection" . }}

{{ template "chart.valuesSection" . }}

{{- if not .SkipVersionFooter }}
{{ template "helm-docs.versionFooter" . }}
{{- end }}
"#;

/// The template that is used where a chart has none.
pub fn default_template() -> &'static str {
    DEFAULT
}

/// How to document a chart.
#[derive(Clone, Debug)]
pub struct Options {
    /// The text of the template; [`default_template`] unless the chart has one.
    pub template: String,
    /// The order of values.
    pub sort: SortOrder,
    /// The style of badges.
    pub badge_style: String,
    /// Whether values without comments are left out.
    pub only_described: bool,
    /// The version of helm-docs that the footer names, as its released binaries do. Empty for no footer, as in its builds
    /// from source.
    pub helm_docs_version: String,
    /// Whether the default template leaves the footer out.
    pub skip_version_footer: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            template: DEFAULT.to_owned(),
            sort: SortOrder::default(),
            badge_style: "flat-square".to_owned(),
            only_described: false,
            helm_docs_version: String::new(),
            skip_version_footer: false,
        }
    }
}

/// A rendered README.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readme {
    /// The text; up to the error, if there is one.
    pub text: String,
    /// The error that stopped the template.
    pub error: Option<String>,
}

/// Renders the README of a chart.
///
/// # Errors
/// When the template does not parse, or a value cannot be shown.
pub fn render(
    info: &ChartInfo,
    dependencies: &[DependencyValues<'_>],
    options: &Options,
    files: Rc<dyn ChartFiles>,
) -> Result<Readme, Error> {
    let mut set = Set::new(functions());
    // All are one template in Go: what a blank README shows is the text outside of definitions.
    let name = if info.directory.is_empty() { "." } else { &info.directory };
    for source in [&TEMPLATES.replace("BADGE_STYLE", &options.badge_style), &options.template] {
        set.parse(name, source.as_str()).map_err(|error| Error::Template(error.to_string()))?;
    }
    let rows = all_rows(info, dependencies, options.sort, options.only_described)?;
    let context = data::context(info, &rows, &sections(&rows), options, files);
    let mut out = Vec::new();
    let outcome = Exec::new(&set, Limits::default()).execute(name, &context, &mut out);
    let text = formatted(&String::from_utf8_lossy(&out));
    Ok(Readme { text, error: outcome.err().map(|error| error.to_string()) })
}

/// Takes out a blank before each line break, and all but one of adjacent empty lines.
fn formatted(text: &str) -> String {
    let text = text.replace(" \n", "\n");
    let mut out = String::with_capacity(text.len());
    let mut breaks = 0;
    for character in text.chars() {
        breaks = if character == '\n' { breaks + 1 } else { 0 };
        if breaks <= 2 {
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChartText, NoFiles};

    fn info(chart: &str, values: &str) -> ChartInfo {
        let text = ChartText { chart: chart.as_bytes(), requirements: None, values: values.as_bytes() };
        ChartInfo::parse("charts/web", &text, None).expect("a chart")
    }

    fn readme(template: &str, chart: &str, values: &str) -> Readme {
        let options = Options { template: template.to_owned(), ..Options::default() };
        render(&info(chart, values), &[], &options, Rc::new(NoFiles)).expect("a template that parses")
    }

    #[test]
    fn blanks_at_line_ends_and_empty_lines_are_taken_out() {
        assert_eq!(formatted("a \n\n\n\nb  \nc\n\n"), "a\n\nb \nc\n\n");
    }

    #[test]
    fn an_error_leaves_what_was_written_before_it() {
        let readme = readme("x{{ .Nothing }}y", "name: a\n", "");
        assert_eq!(readme.text, "x");
        let error = readme.error.expect("an error");
        assert!(error.contains("can't evaluate field Nothing in type document.chartTemplateData"), "{error}");
    }

    #[test]
    fn functions_are_those_of_sprig_and_go_yaml_3() {
        let shown = |template: &str| readme(template, "name: a\n", "");
        assert_eq!(shown(r#"{{ fromYaml "a: [1, 2.5, yes]" | toJson }}"#).text, r#"{"a":[1,2.5,"yes"]}"#);
        let failed = shown(r#"x{{ fail "stop" }}"#);
        assert_eq!(failed.text, "x");
        assert!(failed.error.is_some_and(|error| error.ends_with("error calling fail: stop")));
        let plain =
            shown(r#"{{ printf "%+v" .ChartRequirements }}{{ printf "%v" .ChartRequirements }}"#).text;
        assert_eq!(plain, "{[]}{[]}");
        let options = Options { template: "{{ env \"HOME\" }}".to_owned(), ..Options::default() };
        assert!(render(&info("name: a\n", ""), &[], &options, Rc::new(NoFiles)).is_err());
    }

    #[test]
    fn lists_that_are_missing_are_null_in_json_and_empty_ones_are_not() {
        let template = "{{ toJson .Sources }} {{ toJson .Maintainers }} {{ toJson .Dependencies }}";
        let missing = readme(template, "name: a\nsources: null\n", "").text;
        let empty = readme(template, "name: a\nsources: []\nmaintainers: []\ndependencies: []\n", "").text;
        assert_eq!((missing.as_str(), empty.as_str()), ("null null null", "[] [] []"));
    }

    #[test]
    fn a_readme_can_define_templates_again() {
        let template = r#"{{ define "chart.header" }}## {{ .Name }}{{ end }}{{ template "chart.header" . }}"#;
        assert_eq!(readme(template, "name: a\n", "").text, "## a");
    }

    #[test]
    fn html_tables_show_defaults_in_their_notation() {
        let template = r#"{{ template "chart.valuesTableHtml" . }}"#;
        let text = readme(template, "name: a\n", "# -- List\na: [1]\n").text;
        assert!(text.contains("<td><pre lang=\"json\">\n[\n  1\n]\n</pre>\n</td>"), "{text}");
    }
}
