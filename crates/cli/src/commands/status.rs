//! `status`: shows a release and its objects in the cluster.

use pintle::ops::{ResourceView, StatusReport};

use crate::command::{ArgCompletion, Command, Operands};
use crate::connect::{self, Connection};
use crate::failure::Failure;
use crate::flag::deploy::{OUTPUT, REVISION};
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::output::format::{Format, print_data};
use crate::output::release::Shown;
use crate::output::resources;
use crate::report::ClusterReporter;
use crate::request;

/// `status RELEASE_NAME`
pub(crate) static COMMAND: Command = Command {
    name: "status",
    operands_text: "RELEASE_NAME",
    short: "show the status of a release",
    long: "\
Show the status of a release: time and namespace of the last deployment, version and description, objects in the
cluster, results of tests, and notes.",
    operands: Operands::Exactly(1),
    completion: ArgCompletion::Release,
    flags: &[REVISION, OUTPUT, HELM_3],
    run: Some(run),
    ..Command::BLANK
};

/// Flags of Helm 3 that scripts still use.
static HELM_3: &[Flag] = &[
    Flag::switch(names::SHOW_DESC, "").deprecated("it has no effect: the description is always shown"),
    Flag::switch(names::SHOW_RESOURCES, "").deprecated("it has no effect: the resources are always shown"),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let at = request::revision(invocation)?;
    let format = Format::from_flags(&invocation.flags);
    let connection = Connection::open(invocation)?;
    let view = match format {
        _ if !connection.has_cluster => ResourceView::None,
        Format::Table => ResourceView::Tables,
        _ => ResourceView::Objects,
    };
    let name = invocation.operand(0).to_owned();
    let StatusReport { version, resources } = {
        let mut reporter = ClusterReporter::new(invocation.ui, format.is_data());
        let (session, namespace) = (&connection.session, &connection.namespace);
        connection.run(pintle::ops::status(session, namespace, &name, &at, view, &mut reporter))?
    };
    if format.is_data() {
        let id = connect::keeps_ids(invocation.personality, invocation.environment);
        return print_data(invocation.ui, format, &resources::record(&version, &resources, id));
    }
    let tables = resources::tables(&resources);
    let mut shown = Shown { details: false, resources: &tables, ..Shown::of(&version, invocation) };
    let granted = pintle::ops::granted_permissions(&version);
    if !granted.is_empty() {
        shown.remarks.push(format!("PERMISSIONS: {granted}"));
    }
    shown.print(format, invocation.ui)
}
