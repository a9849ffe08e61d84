//! `schema`: generates and checks JSON schemas of values.

use pintle::ops::DeriveRequest;
use pintle::values::schema::SchemaFormat;

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::run_offline;
use crate::failure::Failure;
use crate::flag::groups::VALUES;
use crate::flag::{Flag, FlagCompletion, names};
use crate::invocation::Invocation;
use crate::report::Reporting;
use crate::{chart_reference, request, scripts};

/// `schema`
pub(crate) static COMMAND: Command = Command {
    name: "schema",
    short: "generate and check schemas of values",
    long: "Generate and check the JSON schemas of a chart's values.",
    subcommands: &[&CHECK, &DERIVE],
    ..Command::BLANK
};

static CHECK: Command = Command {
    name: "check",
    operands_text: "CHART",
    short: "check values against the schemas of a chart",
    long: "Check the values of a chart, merged with those of flags, against the schemas of the chart and its subcharts.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Chart,
    flags: &[VALUES],
    run: Some(check),
    ..Command::BLANK
};

static DERIVE: Command = Command {
    name: "derive",
    operands_text: "CHART",
    short: "generate a schema from a chart's values.yaml",
    long: "\
Print a JSON schema that matches values.yaml, with its comments as descriptions:

    {program} schema derive ./web > ./web/values.schema.json

`@schema` comments say more about a value, as blocks of YAML between two `# @schema` lines, or on one line:

    # @schema
    # type: [string, 'null']
    # @schema
    tag:
    policy: Always # @schema enum:[Always, Never]; required

With --from-templates, values that templates read but values.yaml does not have are included. With --check, nothing is printed,
and the command fails if values.schema.json of the chart is not what would be printed.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Chart,
    flags: &[&[Flag::text(names::OUTPUT, "the format of the schema: json or yaml")
        .short('o')
        .or("json")
        .completes(FlagCompletion::Words(&["json", "yaml"])),
        Flag::switch(names::FROM_TEMPLATES, "include values that only templates mention"),
        Flag::switch(names::CHECK, "fail if the schema file of the chart is not up to date")]],
    run: Some(derive),
    ..Command::BLANK
};

fn derive(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let format = match invocation.flags.text(names::OUTPUT) {
        "json" => SchemaFormat::Json,
        "yaml" => SchemaFormat::Yaml,
        other => {
            return Err(Failure::usage(format!("invalid format `{other}`: must be one of json, yaml")));
        }
    };
    let reference = invocation.operand(0).to_owned();
    let chart = chart_reference::locate(invocation, &reference)?.path;
    let file =
        chart.join(if format == SchemaFormat::Json { "values.schema.json" } else { "values.schema.yaml" });
    let from_templates = invocation.flags.on(names::FROM_TEMPLATES);
    let request = DeriveRequest { chart: chart.into(), format, from_templates };
    let schema = run_offline(pintle::ops::derive_schema(&request, &mut Reporting::new(invocation.ui)))?;
    if invocation.flags.on(names::CHECK) {
        return match crate::read::file(&file, crate::read::MAX_SETTINGS) {
            Ok(text) if text.trim_ascii_end() == schema.trim_ascii_end() => Ok(()),
            _ => Err(Failure::run_time(format!("{} is not up to date", file.display()))),
        };
    }
    invocation.ui.out().write_all(&schema)?;
    if schema.ends_with(b"\n") { Ok(()) } else { invocation.ui.print("\n") }
}

fn check(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let values = request::values(invocation)?;
    let reference = invocation.operand(0).to_owned();
    let chart = chart_reference::locate(invocation, &reference)?.into();
    let session = scripts::offline_session(invocation)?;
    let mut reporter = Reporting::new(invocation.ui);
    run_offline(pintle::ops::check_schema(&session, &chart, &values, &mut reporter))?;
    invocation.ui.print("The values match the schema.\n")
}
