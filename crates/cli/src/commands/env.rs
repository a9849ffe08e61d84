//! `env`: shows the settings from flags and environment.

use crate::command::{ArgCompletion, Command, Operands};
use crate::env::{Environment, Home, Setting};
use crate::failure::Failure;
use crate::flag::parsed::Parsed;
use crate::flag::value::Value;
use crate::flag::{Name, names};
use crate::invocation::Invocation;
use crate::kubeconfig;

/// `env [VAR]`
pub(crate) static COMMAND: Command = Command {
    name: "env",
    short: "show the environment of {program}",
    long: "\
Show the settings of {program} as environment variables: from flags and the environment, or their defaults.

With the name of a variable, show only its value.",
    operands: Operands::AtMost(1),
    completion: ArgCompletion::Variable,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let variables = variables(invocation.called_as, &invocation.flags, invocation.environment);
    if let Some(wanted) = invocation.flags.operands.first() {
        let value = variables.iter().find(|(name, _)| name == wanted).map_or("", |(_, value)| value);
        return invocation.ui.print(&format!("{value}\n"));
    }
    for (name, value) in &variables {
        invocation.ui.print(&format!("{name}=\"{value}\"\n"))?;
    }
    Ok(())
}

/// All variables with their values, sorted by name.
pub(crate) fn variables(
    called_as: &str,
    flags: &Parsed,
    environment: &Environment,
) -> Vec<(&'static str, String)> {
    let flag = |name: Name<String>| flags.text_or_setting(name, environment);
    let switch = |name: Name<bool>, setting: Setting| match flags.switch(name) {
        Some(on) => on.to_string(),
        None => environment.setting(setting),
    };
    let groups = match flags.list(names::KUBE_AS_GROUP) {
        [] => environment.groups().join(","),
        groups => groups.join(","),
    };
    let mut variables = vec![
        ("HELM_BIN", called_as.to_owned()),
        ("HELM_BURST_LIMIT", burst_limit(flags, environment)),
        ("HELM_CACHE_HOME", environment.home(Home::Cache, "")),
        ("HELM_CONFIG_HOME", environment.home(Home::Config, "")),
        ("HELM_CONTENT_CACHE", flag(names::CONTENT_CACHE)),
        ("HELM_DATA_HOME", environment.home(Home::Data, "")),
        ("HELM_DEBUG", switch(names::DEBUG, Setting::Debug)),
        ("HELM_KUBEAPISERVER", flag(names::KUBE_APISERVER)),
        ("HELM_KUBEASGROUPS", groups),
        ("HELM_KUBEASUSER", flag(names::KUBE_AS_USER)),
        ("HELM_KUBECAFILE", flag(names::KUBE_CA_FILE)),
        ("HELM_KUBECONTEXT", flag(names::KUBE_CONTEXT)),
        (
            "HELM_KUBEINSECURE_SKIP_TLS_VERIFY",
            switch(names::KUBE_INSECURE_SKIP_TLS_VERIFY, Setting::KubeInsecure),
        ),
        ("HELM_KUBETLS_SERVER_NAME", flag(names::KUBE_TLS_SERVER_NAME)),
        ("HELM_KUBETOKEN", flag(names::KUBE_TOKEN)),
        ("HELM_MAX_HISTORY", environment.setting(Setting::MaxHistory)),
        ("HELM_NAMESPACE", kubeconfig::namespace(flags, environment)),
        ("HELM_PLUGINS", environment.setting(Setting::Plugins)),
        ("HELM_QPS", qps(flags, environment)),
        ("HELM_REGISTRY_CONFIG", flag(names::REGISTRY_CONFIG)),
        ("HELM_REPOSITORY_CACHE", flag(names::REPOSITORY_CACHE)),
        ("HELM_REPOSITORY_CONFIG", flag(names::REPOSITORY_CONFIG)),
    ];
    // Helm ignores the variable here and shows only the flag.
    let kubeconfig = flags.text(names::KUBECONFIG);
    if !kubeconfig.is_empty() {
        variables.push(("KUBECONFIG", kubeconfig.to_owned()));
    }
    variables
}

fn burst_limit(flags: &Parsed, environment: &Environment) -> String {
    match flags.number(names::BURST_LIMIT) {
        Some(Value::Int(number)) => number.to_string(),
        _ => environment.setting(Setting::BurstLimit),
    }
}

fn qps(flags: &Parsed, environment: &Environment) -> String {
    let number = match flags.number(names::QPS) {
        Some(Value::Float32(number)) => *number,
        _ => environment.qps(),
    };
    match number {
        number if number.is_infinite() && number > 0.0 => "+Inf".to_owned(),
        number if number.is_infinite() => "-Inf".to_owned(),
        number => format!("{number:.2}"),
    }
}
