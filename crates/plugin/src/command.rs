//! What a plugin runs on which platform, and the variables in it.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// A command for one platform, or for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlatformCommand {
    /// The operating system by its Go name; empty for all.
    pub os: String,
    /// The architecture by its Go name; empty for all.
    pub arch: String,
    /// The program, with arguments after single blanks.
    pub command: String,
    /// More arguments.
    pub args: Vec<String>,
}

/// A platform by its Go names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Platform {
    /// `linux`, `darwin`, `windows` and so on.
    pub os: &'static str,
    /// `amd64`, `arm64` and so on.
    pub arch: &'static str,
}

impl Platform {
    /// The platform that this program was built for.
    pub fn current() -> Platform {
        let os = match std::env::consts::OS {
            "macos" => "darwin",
            os => os,
        };
        let arch = match std::env::consts::ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            "x86" => "386",
            "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
            arch => arch,
        };
        Platform { os, arch }
    }
}

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
}

/// Chooses the command for a platform: operating system and architecture first, then the operating system alone, then a
/// command for all. One that names only an architecture never counts.
fn choose(commands: &[PlatformCommand], platform: Platform) -> Option<&PlatformCommand> {
    let os = |command: &&PlatformCommand| command.os.eq_ignore_ascii_case(platform.os);
    let for_both =
        commands.iter().find(|command| os(command) && command.arch.eq_ignore_ascii_case(platform.arch));
    let for_os = || commands.iter().find(|command| os(command) && command.arch.is_empty());
    let for_all = || commands.iter().find(|command| command.os.is_empty() && command.arch.is_empty());
    for_both.or_else(for_os).or_else(for_all)
}

/// Chooses the command for a platform, expands the variables of the program and, with `expand_args`, those of its
/// arguments, and appends `extra`, which are not expanded.
///
/// # Errors
/// When there is no command for the platform.
pub fn prepare(
    commands: &[PlatformCommand],
    platform: Platform,
    expand_args: bool,
    extra: &[String],
    environment: &BTreeMap<String, String>,
) -> Result<Prepared> {
    let none = || Error::Input("no plugin command is applicable".to_owned());
    let chosen = choose(commands, platform).ok_or_else(none)?;
    let mut words = chosen.command.split(' ');
    let program = words.next().filter(|word| !word.is_empty()).ok_or_else(none)?;
    let argument = |text: &str| if expand_args { expand(text, environment) } else { text.to_owned() };
    let mut args: Vec<String> = words.map(argument).collect();
    args.extend(chosen.args.iter().map(|arg| argument(arg)));
    args.extend_from_slice(extra);
    Ok(Prepared { program: expand(program, environment), args })
}

/// Replaces `$NAME` and `${NAME}` as Go's `os.Expand` does; unset variables are empty.
pub fn expand(text: &str, environment: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if after.is_empty() {
            out.push('$');
            return out;
        }
        let (name, width) = shell_name(after);
        match name {
            "" if width == 0 => out.push('$'),
            "" => {}
            name => out.push_str(environment.get(name).map_or("", String::as_str)),
        }
        rest = &after[width..];
    }
    out.push_str(rest);
    out
}

/// The name after a dollar sign, and how many bytes it takes with its braces.
fn shell_name(text: &str) -> (&str, usize) {
    let special = |byte: u8| byte.is_ascii_digit() || b"*#$@!?-".contains(&byte);
    let bytes = text.as_bytes();
    if bytes[0] == b'{' {
        return match text.find('}') {
            _ if bytes.len() > 2 && special(bytes[1]) && bytes[2] == b'}' => (&text[1..2], 3),
            Some(1) => ("", 2),
            Some(end) => (&text[1..end], end + 1),
            None => ("", 1),
        };
    }
    if special(bytes[0]) {
        return (&text[..1], 1);
    }
    let end = bytes.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    let end = end.unwrap_or(bytes.len());
    (&text[..end], end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINUX: Platform = Platform { os: "linux", arch: "amd64" };

    fn command(os: &str, arch: &str, command: &str) -> PlatformCommand {
        PlatformCommand { os: os.into(), arch: arch.into(), command: command.into(), args: Vec::new() }
    }

    fn program(commands: &[PlatformCommand]) -> Result<String> {
        prepare(commands, LINUX, true, &[], &BTreeMap::new()).map(|prepared| prepared.program)
    }

    #[test]
    fn the_most_exact_platform_wins() {
        let commands = [
            command("", "amd64", "never"),
            command("", "", "all"),
            command("LINUX", "", "os"),
            command("linux", "AMD64", "both"),
        ];
        assert_eq!(program(&commands).unwrap(), "both");
        assert_eq!(program(&commands[..3]).unwrap(), "os");
        assert_eq!(program(&commands[..2]).unwrap(), "all");
        let none = program(&commands[..1]).unwrap_err();
        assert_eq!(none.to_string(), "no plugin command is applicable");
        assert!(program(&[command("plan9", "", "x")]).is_err());
        assert!(program(&[command("", "", "")]).is_err());
    }

    #[test]
    fn two_blanks_give_an_empty_argument_and_extra_arguments_are_not_expanded() {
        let environment = BTreeMap::from([("DIR".to_owned(), "/p".to_owned())]);
        let mut one = command("", "", "$DIR/run  go ${DIR}");
        one.args = vec!["$DIR".to_owned()];
        let prepared =
            prepare(std::slice::from_ref(&one), LINUX, true, &["$DIR".to_owned()], &environment).unwrap();
        assert_eq!(
            (prepared.program.as_str(), prepared.args),
            ("/p/run", vec!["".into(), "go".into(), "/p".into(), "/p".into(), "$DIR".into()])
        );
        let plain = prepare(&[one], LINUX, false, &[], &environment).unwrap();
        assert_eq!(plain.args, ["", "go", "${DIR}", "$DIR"]);
    }

    #[test]
    fn variables_expand_as_in_go() {
        let environment =
            BTreeMap::from([("A".to_owned(), "x".to_owned()), ("1".to_owned(), "one".to_owned())]);
        for (text, expanded) in [
            ("$A/$B.", "x/."),
            ("${A}b$", "xb$"),
            ("$ a", "$ a"),
            ("${}a", "a"),
            ("${Aa", "Aa"),
            ("$1a$$", "onea"),
            ("é$Aé", "éxé"),
        ] {
            assert_eq!(expand(text, &environment), expanded, "{text}");
        }
    }
}
