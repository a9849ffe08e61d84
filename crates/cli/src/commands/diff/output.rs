//! The options of a comparison from flags and environment, and the printing of its report.

use std::any::Any;
use std::io::IsTerminal as _;
use std::path::Path;
use std::rc::Rc;

use pintle::diff::{Options, ParseOptions, Report, SecretDisplay, Summary};
use pintle_gotmpl::{Encoded, Object, Value};

use crate::failure::{Failure, FailureKind, reason};
use crate::flag::names;
use crate::flag::value::{Value as FlagValue, read_bool};
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::text_template;

/// The format of a report.
pub(super) enum Format {
    Diff,
    Simple,
    Json,
    Structured,
    Dyff,
    /// The text of a template, with its name.
    Template {
        name: String,
        text: String,
    },
    /// The template of the format `json`.
    DefaultTemplate,
}

/// How to compare and to print.
pub(super) struct Display {
    pub(super) options: Options,
    format: Format,
    colored: bool,
}

impl Display {
    /// Reads flags and environment.
    pub(super) fn from_flags(invocation: &mut Invocation<'_>) -> Result<Display, Failure> {
        let format = format(invocation)?;
        let flags = &invocation.flags;
        let mut suppressed_kinds = flags.list(names::SUPPRESS).to_vec();
        if flags.on(names::SUPPRESS_SECRETS) {
            suppressed_kinds.push("Secret".to_owned());
        }
        let secrets = match (flags.on(names::SHOW_SECRETS_DECODED), flags.on(names::SHOW_SECRETS)) {
            (true, _) => SecretDisplay::Decoded,
            (false, true) => SecretDisplay::Plain,
            (false, false) => SecretDisplay::Redacted,
        };
        let find_renames = match flags.number(names::FIND_RENAMES) {
            Some(FlagValue::Float32(share)) => *share,
            _ => 0.0,
        };
        let options = Options {
            context: usize::try_from(flags.int(names::CONTEXT, invocation.environment)).ok(),
            strip_trailing_cr: flags.on(names::STRIP_TRAILING_CR),
            secrets,
            suppressed_kinds,
            find_renames,
            suppressed_lines: flags.list(names::SUPPRESS_OUTPUT_LINE_REGEX).to_vec(),
            structured: matches!(format, Format::Structured),
        };
        Ok(Display { options, format, colored: is_colored(invocation) })
    }

    /// Prints a report. Returns whether there are differences.
    pub(super) fn print(
        &self,
        invocation: &mut Invocation<'_>,
        report: &Report<'_>,
    ) -> Result<bool, Failure> {
        for warning in &report.warnings {
            invocation.ui.note(&format!("Warning: {warning}"));
        }
        let out = invocation.ui.out();
        match &self.format {
            Format::Diff => report.write_diff(out, self.colored)?,
            Format::Simple => report.write_simple(out, self.colored)?,
            Format::Structured => report.write_structured(out)?,
            Format::Dyff => report.write_dyff(out, self.colored)?,
            Format::Json | Format::DefaultTemplate => {
                report.write_json(out)?;
                note_unrecognized(invocation, report);
            }
            Format::Template { name, text } => {
                let summaries = report.summaries().0.into_iter().map(Rc::new).collect();
                let rendered = text_template::diff(name, text, summaries)
                    .map_err(|text| template_failure(invocation, text))?;
                invocation.ui.out().write_all(&rendered)?;
                invocation.ui.print("\n")?;
                note_unrecognized(invocation, report);
            }
        }
        Ok(report.has_changes())
    }
}

/// Says how many entries are not in the output because their keys cannot be read back.
fn note_unrecognized(invocation: &mut Invocation<'_>, report: &Report<'_>) {
    for _ in 0..report.summaries().1 {
        invocation.ui.note("error processing report entry");
    }
}

/// helm-diff prints the error of a template as if it were output.
fn template_failure(invocation: &mut Invocation<'_>, text: String) -> Failure {
    match invocation.ui.print(&format!("{text}\n")) {
        Ok(()) if invocation.personality == Personality::Helm => {
            // Logged, and not an error of the command.
            let message = "Error loading custom template";
            invocation.ui.note(message);
            Failure::new(FailureKind::AlreadyReported, message)
        }
        Ok(()) => Failure::run_time(text),
        Err(failure) => failure,
    }
}

fn format(invocation: &mut Invocation<'_>) -> Result<Format, Failure> {
    let mut word = invocation.flags.text(names::OUTPUT).to_owned();
    let set = invocation.environment.variable("HELM_DIFF_OUTPUT").filter(|text| !text.trim().is_empty());
    if let (false, Some(set)) = (invocation.flags.given(names::OUTPUT), set) {
        word = set;
    }
    Ok(match word.as_str() {
        "simple" => Format::Simple,
        "json" => Format::Json,
        "structured" => Format::Structured,
        "dyff" => Format::Dyff,
        "template" => match invocation.environment.variable("HELM_DIFF_TPL") {
            None => Format::DefaultTemplate,
            Some(file) => {
                let text = crate::read::file(&file, crate::read::MAX_STREAM).map_err(|error| {
                    template_failure(invocation, format!("open {file}: {}", reason(&error)))
                })?;
                let name = Path::new(&file).file_name().unwrap_or_default().to_string_lossy().into_owned();
                Format::Template { name, text: String::from_utf8_lossy(&text).into_owned() }
            }
        },
        // As in helm-diff, where anything else is the default.
        _ => Format::Diff,
    })
}

/// Whether to use colors: flags, then the environment, then whether the output goes to a terminal.
fn is_colored(invocation: &Invocation<'_>) -> bool {
    let flags = &invocation.flags;
    let variable = |name| invocation.environment.variable(name);
    let wanted = match flags.given(names::COLOR) {
        true => Some(flags.on(names::COLOR)),
        false => variable("HELM_DIFF_COLOR").and_then(|text| read_bool(&text).ok()),
    };
    match wanted {
        _ if flags.on(names::NO_COLOR) => false,
        Some(wanted) => wanted,
        None if flags.given(names::NO_COLOR) => true,
        None => {
            let poor = variable("TERM").is_some_and(|term| term == "dumb")
                || variable("NO_COLOR").is_some_and(|text| !text.is_empty());
            std::io::stdout().is_terminal() && !poor
        }
    }
}

/// How manifests are split.
pub(super) fn parse_options(invocation: &Invocation<'_>, namespace: &str) -> ParseOptions {
    ParseOptions {
        namespace: namespace.to_owned(),
        normalize: invocation.flags.on(names::NORMALIZE_MANIFESTS),
        include_tests: invocation.flags.on(names::INCLUDE_TESTS),
    }
}

/// An entry as templates see it.
#[derive(Debug)]
pub(crate) struct TemplateEntry(pub(crate) Rc<Summary>);

impl TemplateEntry {
    fn fields(&self) -> [(&'static str, &str); 5] {
        let Summary { namespace, name, kind, api, change } = &*self.0;
        [("Namespace", namespace), ("Name", name), ("Kind", kind), ("API", api), ("Change", change)]
    }
}

impl Object for TemplateEntry {
    fn type_name(&self) -> &'static str {
        "diff.ReportTemplateSpec"
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn field(&self, name: &str) -> Option<Value> {
        self.fields().iter().find(|(other, _)| *other == name).map(|(_, value)| Value::from(*value))
    }

    fn print(&self) -> String {
        format!("{{{}}}", self.fields().map(|(_, value)| value).join(" "))
    }

    fn encode(&self) -> Encoded {
        Encoded::Fields(self.fields().map(|(name, value)| (name, Value::from(value))).to_vec())
    }
}
