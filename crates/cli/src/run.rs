//! The way from the command line to a command and back to an exit code.

use std::ffi::OsString;

use pintle_tree::quote::quote;

use crate::command::CommandPath;
use crate::command::find::find_behind;
use crate::commands::complete_request;
use crate::env::{Environment, Setting};
use crate::exit;
use crate::failure::{Failure, FailureKind};
use crate::flag::groups::GLOBAL;
use crate::flag::parse::{Unknown, parse, with_help};
use crate::flag::parsed::Parsed;
use crate::flag::{Flag, Need};
use crate::help;
use crate::invocation::Invocation;
use crate::personality::{EntryPoint, Personality};
use crate::ui::{Color, Ui};

/// Runs the program and gives its exit code.
pub(crate) fn run(arguments: impl Iterator<Item = OsString>) -> u8 {
    let mut words =
        arguments.map(|word| word.into_string().map_err(|word| word.to_string_lossy().into_owned()));
    let called_as = words.next().and_then(Result::ok).unwrap_or_default();
    let personality = Personality::of(&called_as);
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

fn dispatch(personality: Personality, called_as: &str, words: &[String], ui: &mut Ui) -> Result<(), Failure> {
    let environment = Environment::of_process();
    if let Some(request) = complete_request(words) {
        return request.run(personality, called_as, &environment, ui);
    }
    let (early, _) = parse(GLOBAL.iter().collect(), words, Unknown::Skip);
    set_color(personality, &early, &environment, ui)?;
    let (place, rest) = find_behind(EntryPoint::of(called_as), personality, words)?;
    let (flags, outcome) = parse(with_help(place.command.all_flags()), &rest, Unknown::Refuse);
    outcome.map_err(|text| Failure::usage(text).hint(format!("`{} --help` lists the flags", place.path)))?;
    warn_about_waiting(&flags, ui);
    for (flag, advice) in &flags.deprecated {
        ui.deprecated(flag, advice);
    }
    if personality == Personality::Helm {
        warn_about_gone_repositories(&flags, &environment, ui);
    }
    let Some(command) = place.command.run.filter(|_| !flags.on("help")) else {
        return ui.print(&help::help(&place, personality, &environment));
    };
    place.check_operands(&flags.operands)?;
    place.check_exclusive(&|name| flags.given(name))?;
    refuse_what_is_missing(&place, &flags)?;
    let mut invocation = Invocation { personality, called_as, place, flags, environment: &environment, ui };
    crate::provenance::check_local_chart(&mut invocation)?;
    command(&mut invocation)
}

/// Decides on colours before anything else is looked at, as Helm does; a bad word is told in its log.
fn set_color(
    personality: Personality,
    flags: &Parsed,
    environment: &Environment,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let word = match flags.last_text(&["color", "colour"]) {
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

/// Helm warns at every start about repositories that were gone years ago, but about the second only if the first is there.
fn warn_about_gone_repositories(flags: &Parsed, environment: &Environment, ui: &mut Ui) {
    const GONE: [(&str, &str, &str); 2] = [
        ("stable", "kubernetes-charts.storage.googleapis.com", "https://charts.helm.sh/stable"),
        (
            "incubator",
            "kubernetes-charts-incubator.storage.googleapis.com",
            "https://charts.helm.sh/incubator",
        ),
    ];
    let path = flags.text_or_setting("repository-config", environment);
    let text = std::fs::read(path).unwrap_or_default();
    // Most files name neither, and need not be understood at every start.
    if !String::from_utf8_lossy(&text).contains("kubernetes-charts") {
        return;
    }
    let Ok(repositories) = pintle::repo::Repositories::parse(&text) else { return };
    for (name, old, new) in GONE {
        let Some(entry) = repositories.get(name) else { return };
        if entry.url.contains(old) {
            ui.note(&format!(
                "WARNING: {old:?} is deprecated for {name:?} and will be deleted Nov. 13, 2020.\nWARNING: You should \
                 switch to {new:?} via:\nWARNING: helm repo add {name:?} {new:?} --force-update"
            ));
        }
    }
}

/// Switch-like words of earlier times still work, with a warning.
fn warn_about_waiting(flags: &Parsed, ui: &mut Ui) {
    let given = if flags.declares("wait") { flags.text("wait") } else { return };
    let better = match given {
        "true" => "watcher",
        "false" => "hookOnly",
        _ => return,
    };
    ui.warn(&format!(
        "--wait={given} is deprecated (boolean value) and can be replaced with --wait={better}"
    ));
}

/// Refuses flags that need what is not built yet, because ignoring them would be a lie.
fn refuse_what_is_missing(place: &CommandPath, flags: &Parsed) -> Result<(), Failure> {
    let meant = |flag: &Flag| {
        flags.switch(flag.name).unwrap_or(true) && {
            flag.bare.is_some() || flags.last_text(&[flag.name]).is_none_or(|text| !text.is_empty())
        }
    };
    let Some((flag, need)) =
        flags.given_flags().filter(|flag| meant(flag)).find_map(|flag| Some((flag, flag.needs?)))
    else {
        return Ok(());
    };
    let (what, hint) = match need {
        Need::Plugin => ("plugins are not supported yet", "pipe the output into the program instead"),
    };
    Err(Failure::not_built(format!("--{} cannot be used with `{}`: {what}", flag.name, place.path), hint))
}
