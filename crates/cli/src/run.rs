//! Runs a command line: finds the command, parses its flags, runs it, and maps the result to an exit code.

use std::ffi::OsString;

use pintle_time::Zone;
use pintle_tree::quote::quote;

use crate::advice;
use crate::command::CommandPath;
use crate::command::find::find_from_entry_point;
use crate::commands::complete_request;
use crate::env::{Environment, Setting};
use crate::exit;
use crate::failure::{Failure, FailureKind};
use crate::flag::groups::GLOBAL;
use crate::flag::parse::{Unknown, parse, with_help};
use crate::flag::parsed::Parsed;
use crate::flag::{Kind, names};
use crate::help;
use crate::invocation::Invocation;
use crate::personality::{EntryPoint, Personality};
use crate::plugins;
use crate::ui::{Color, Ui};

/// Runs the program and returns its exit code.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> u8 {
    let mut words =
        arguments.map(|word| word.into_string().map_err(|word| word.to_string_lossy().into_owned()));
    let called_as = words.next().and_then(Result::ok).unwrap_or_default();
    let personality = Personality::from_name(&called_as);
    let mut ui = Ui::new(personality);
    let outcome = words
        .collect::<Result<Vec<String>, String>>()
        .map_err(|word| Failure::usage(format!("argument {} is not valid UTF-8", quote(word.as_bytes()))))
        .and_then(|words| dispatch(personality, &called_as, &words, &mut ui));
    let outcome = match outcome {
        Ok(()) => ui.flush(),
        Err(failure) => Err(failure),
    };
    match outcome {
        Ok(()) => 0,
        Err(failure) => {
            ui.fail(&failure);
            exit::code(personality, failure.class)
        }
    }
}

/// Runs a command line in this process.
///
/// # Errors
///
/// What the command fails with; nothing is printed about it.
pub(crate) fn dispatch(
    personality: Personality,
    called_as: &str,
    words: &[String],
    ui: &mut Ui,
) -> Result<(), Failure> {
    let environment = Environment::from_process();
    Zone::set_local(environment.variable("TZ"));
    if let Some(request) = complete_request(words) {
        return request.run(personality, called_as, &environment, ui);
    }
    ui.set_debug(plugins::command::is_debug(words, &environment));
    let entry_point = EntryPoint::from_name(called_as);
    let found = find_from_entry_point(entry_point, personality, words);
    // A command with a `--color` of its own, such as `diff` and `unittest`, does not follow that of Helm.
    let own_color =
        found.as_ref().is_ok_and(|(path, _)| path.command.own_flags().any(|flag| flag.name == "color"));
    let (early, _) = parse(GLOBAL.iter().collect(), if own_color { &[] } else { words }, Unknown::Skip);
    set_color(personality, &early, &environment, ui)?;
    if personality == Personality::Helm {
        crate::registry_access::check_login_file(&early, &environment, ui)?;
    }
    plugins::warn_as_helm(personality, words, &environment, ui);
    if entry_point.is_none()
        && let Some(plugin) = plugins::command::find(personality, words, &environment, ui)?
    {
        return plugin.run(personality, called_as, &environment, ui);
    }
    let (command_path, rest) = found?;
    let answers_by_exit_code = command_path.command.answers_by_exit_code;
    run_command(personality, called_as, command_path, &rest, &environment, ui).map_err(|mut failure| {
        use FailureKind::{AlreadyReported, BrokenPipe, Changes, Findings};
        if answers_by_exit_code && !matches!(failure.class, BrokenPipe | Changes | Findings | AlreadyReported)
        {
            failure.class = FailureKind::RunTime;
        }
        failure
    })
}

fn run_command(
    personality: Personality,
    called_as: &str,
    command_path: CommandPath,
    rest: &[String],
    environment: &Environment,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let unknown =
        if ignores_unknown_flags(&command_path, environment) { Unknown::Skip } else { Unknown::Refuse };
    let (flags, outcome) = parse(with_help(command_path.command.all_flags()), rest, unknown);
    outcome.map_err(|text| advice::flags::refused(text, &command_path))?;
    if personality == Personality::Helm {
        refuse_wide(&flags)?;
    }
    warn_about_boolean_wait(&flags, ui);
    for (flag, advice) in &flags.deprecated {
        ui.deprecated(flag, advice);
    }
    if personality == Personality::Helm {
        warn_about_deprecated_repositories(&flags, environment, ui);
    }
    let Some(command) = command_path.command.run.filter(|_| !flags.on(names::HELP)) else {
        return ui.print(&help::help(&command_path, personality, environment));
    };
    command_path.check_operands(&flags.operands)?;
    command_path.check_exclusive(&|name| flags.is_given(name))?;
    let mut invocation =
        Invocation { personality, called_as, command_path, flags, environment, chart_path: None, ui };
    let debug = invocation.debug();
    invocation.ui.set_debug(debug);
    if personality == Personality::Helm {
        crate::registry_access::check_tls_flags(&invocation)?;
    }
    command(&mut invocation).map_err(|mut failure| {
        // Helm's texts stay as they are.
        if personality == Personality::Pintle {
            advice::improve(&mut failure, &mut invocation);
        }
        failure
    })
}

/// Refuses an output format that Helm does not know, as its parser does.
fn refuse_wide(flags: &Parsed) -> Result<(), Failure> {
    let format = flags.given_flags().find(|flag| flag.kind == Kind::Format);
    let Some(flag) = format.filter(|_| flags.text(names::OUTPUT) == "wide") else { return Ok(()) };
    let spelled = quote(flag.spelled().as_bytes());
    Err(Failure::usage(format!("invalid argument \"wide\" for {spelled} flag: invalid format type")))
}

/// Whether unknown flags are ignored, so that `diff upgrade` can stand in for `upgrade` with the same flags.
fn ignores_unknown_flags(command_path: &CommandPath, environment: &Environment) -> bool {
    command_path.command.may_ignore_unknown_flags
        && environment.variable("HELM_DIFF_IGNORE_UNKNOWN_FLAGS").is_some_and(|text| text == "true")
}

/// Sets the color mode before anything else, as Helm does. Helm logs an invalid mode and then fails.
fn set_color(
    personality: Personality,
    flags: &Parsed,
    environment: &Environment,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let word = match flags.last_text(&[names::COLOR_TEXT, names::COLOUR]) {
        Some(word) => word.to_owned(),
        None => environment.setting(Setting::Color),
    };
    let color = match word.as_str() {
        "never" => Color::Never,
        "always" => Color::Always,
        "auto" => Color::Auto,
        other => {
            let text = format!(
                "invalid color mode {}: must be one of: never, auto, always",
                quote(other.as_bytes())
            );
            if personality == Personality::Pintle {
                return Err(Failure::usage(text));
            }
            ui.note(&format!("level=WARN msg=\"command failed\" error={}", quote(text.as_bytes())));
            return Err(Failure::new(FailureKind::AlreadyReported, text));
        }
    };
    ui.set_color(color, environment);
    Ok(())
}

/// Prints Helm's warning about two repositories that were shut down. Helm returns early, so it warns about the second
/// only if the first is configured.
fn warn_about_deprecated_repositories(flags: &Parsed, environment: &Environment, ui: &mut Ui) {
    const DEPRECATED: [(&str, &str, &str); 2] = [
        ("stable", "kubernetes-charts.storage.googleapis.com", "https://charts.helm.sh/stable"),
        (
            "incubator",
            "kubernetes-charts-incubator.storage.googleapis.com",
            "https://charts.helm.sh/incubator",
        ),
    ];
    let path = flags.text_or_setting(names::REPOSITORY_CONFIG, environment);
    let text = crate::read::file(path, crate::read::MAX_SETTINGS).unwrap_or_default();
    // Most files contain neither; a cheap text search saves parsing the file at every start.
    if !String::from_utf8_lossy(&text).contains("kubernetes-charts") {
        return;
    }
    let Ok(repositories) = pintle::repo::Repositories::parse(&text) else { return };
    for (name, old, new) in DEPRECATED {
        let Some(entry) = repositories.get(name) else { return };
        if entry.url.contains(old) {
            ui.note(&format!(
                "WARNING: {old:?} is deprecated for {name:?} and will be deleted Nov. 13, 2020.\nWARNING: You should \
                 switch to {new:?} via:\nWARNING: helm repo add {name:?} {new:?} --force-update"
            ));
        }
    }
}

/// Warns about the deprecated booleans of `--wait`, which still work.
fn warn_about_boolean_wait(flags: &Parsed, ui: &mut Ui) {
    let given = if flags.declares(names::WAIT) { flags.text(names::WAIT) } else { return };
    let better = match given {
        "true" => "watcher",
        "false" => "hookOnly",
        _ => return,
    };
    ui.warn(&format!(
        "--wait={given} is deprecated (boolean value) and can be replaced with --wait={better}"
    ));
}
