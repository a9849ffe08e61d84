//! The grammar of the command line, as Go's pflag reads it: `--f v`, `--f=v`, `-fv`, `-f v`, `-abc`, `--`.

use pintle_tree::quote::{push_escaped, quote};

use super::parsed::Parsed;
use super::{Flag, HELP, value};

/// What to do with unknown flags.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// Return an error.
    Refuse,
    /// Skip them and what looks like their value.
    Skip,
}

/// Parses `arguments` by the flags in `declared`.
///
/// # Errors
///
/// pflag's text about the first bad argument, with what was parsed before it.
pub(crate) fn parse(
    declared: Vec<&'static Flag>,
    arguments: &[String],
    unknown: Unknown,
) -> (Parsed, Result<(), String>) {
    let mut parser =
        Parser { declared: declared.clone(), parsed: Parsed::new(declared), rest: arguments, unknown };
    let result = parser.run();
    (parser.parsed, result)
}

struct Parser<'a> {
    declared: Vec<&'static Flag>,
    parsed: Parsed,
    rest: &'a [String],
    unknown: Unknown,
}

impl<'a> Parser<'a> {
    fn run(&mut self) -> Result<(), String> {
        while let Some((argument, rest)) = self.rest.split_first() {
            self.rest = rest;
            match argument.as_bytes() {
                [b'-', b'-'] => {
                    self.parsed.operands.extend_from_slice(rest);
                    return Ok(());
                }
                [b'-', b'-', ..] => self.long(argument)?,
                [b'-', _, ..] => self.shorts(&argument[1..])?,
                _ => self.parsed.operands.push(argument.clone()),
            }
        }
        Ok(())
    }

    fn long(&mut self, argument: &'a str) -> Result<(), String> {
        let body = &argument[2..];
        if body.starts_with(['-', '=']) {
            return Err(format!("bad flag syntax: {argument}"));
        }
        let (name, attached) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (body, None),
        };
        let Some(flag) = self.declared.iter().copied().find(|flag| flag.name == name) else {
            return match self.unknown {
                Unknown::Refuse => Err(format!("unknown flag: --{name}")),
                Unknown::Skip => {
                    if attached.is_none() {
                        self.skip_value();
                    }
                    Ok(())
                }
            };
        };
        let text = match (attached, flag.bare) {
            (Some(text), _) => text,
            (None, Some(bare)) => bare,
            (None, None) => self.next().ok_or_else(|| format!("flag needs an argument: --{name}"))?,
        };
        self.assign(flag, text)
    }

    /// Parses combined shorthands such as `-abc`; the first one that takes a value takes the rest.
    fn shorts(&mut self, run: &'a str) -> Result<(), String> {
        let mut run = run;
        while let Some(letter) = run.chars().next() {
            let after = &run[letter.len_utf8()..];
            let Some(flag) = self.declared.iter().copied().find(|flag| flag.short == Some(letter)) else {
                match self.unknown {
                    Unknown::Refuse => return Err(unknown_letter(run)),
                    Unknown::Skip if after.len() > 1 && after.starts_with('=') => return Ok(()),
                    Unknown::Skip => {
                        self.skip_value();
                        run = after;
                        continue;
                    }
                }
            };
            let (text, next) = match (after.strip_prefix('='), flag.bare) {
                (Some(text), _) if !text.is_empty() => (text, ""),
                (_, Some(bare)) => (bare, after),
                (_, None) if !after.is_empty() => (after, ""),
                (_, None) => {
                    let missing =
                        || format!("flag needs an argument: {} in -{run}", letter_in_quotes(letter));
                    (self.next().ok_or_else(missing)?, "")
                }
            };
            self.assign(flag, text)?;
            run = next;
        }
        Ok(())
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    fn skip_value(&mut self) {
        if self.rest.first().is_some_and(|next| !next.starts_with('-')) {
            self.rest = &self.rest[1..];
        }
    }

    fn assign(&mut self, flag: &'static Flag, text: &str) -> Result<(), String> {
        let previous = self.parsed.take(flag);
        let value = value::read(flag, previous, text).map_err(|reason| {
            let flag = quote(flag.spelled().as_bytes());
            format!("invalid argument {} for {flag} flag: {reason}", quote(text.as_bytes()))
        })?;
        self.parsed.set(flag, value);
        if let Some(advice) = flag.deprecated {
            self.parsed.deprecated.push((flag.name, advice));
        }
        Ok(())
    }
}

/// pflag reads a shorthand as one byte, and prints it as a character of that code.
fn unknown_letter(run: &str) -> String {
    let letter = run.bytes().next().map_or('\0', char::from);
    format!("unknown shorthand flag: {} in -{run}", letter_in_quotes(letter))
}

fn letter_in_quotes(letter: char) -> String {
    let mut text = String::from("'");
    push_escaped(letter, '\'', false, &mut text);
    text.push('\'');
    text
}

/// Adds `--help`, which every command has.
pub(crate) fn with_help(mut declared: Vec<&'static Flag>) -> Vec<&'static Flag> {
    declared.push(&HELP);
    declared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flag::{Kind, Name, names};

    static FLAGS: &[Flag] = &[
        Flag::switch(names::ALL, "").short('a'),
        Flag::text(Name::new("name"), "").short('n'),
        Flag::list(names::VALUES, "").short('f'),
        Flag::array(names::SET, ""),
        Flag::of(names::TIMEOUT, Kind::Duration, "5m0s", ""),
        Flag::text(names::DRY_RUN_TEXT, "").bare("unset"),
        Flag::switch(Name::new("old"), "").deprecated("use --all instead"),
    ];

    fn read(arguments: &[&str]) -> Result<Parsed, String> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        let (parsed, result) = parse(FLAGS.iter().collect(), &arguments, Unknown::Refuse);
        result.map(|()| parsed)
    }

    #[test]
    fn every_way_to_attach_a_value_gives_the_same() {
        for arguments in
            [&["--name", "x"][..], &["--name=x"], &["-nx"], &["-n", "x"], &["-n=x"], &["-an", "x"]]
        {
            assert_eq!(read(arguments).unwrap().text(Name::new("name")), "x", "{arguments:?}");
        }
    }

    #[test]
    fn an_optional_value_is_taken_only_after_an_equals_sign() {
        let parsed = read(&["--dry-run", "server", "--all=false"]).unwrap();
        assert_eq!(parsed.text(names::DRY_RUN_TEXT), "unset");
        assert_eq!(parsed.operands, ["server"]);
        assert!(!parsed.on(names::ALL));
        assert_eq!(read(&["--dry-run=server"]).unwrap().text(names::DRY_RUN_TEXT), "server");
    }

    #[test]
    fn lists_split_at_commas_and_arrays_do_not() {
        let parsed = read(&["-f", "a,b", "-f", "c", "--set", "x=1,y=2", "-", "--", "--set"]).unwrap();
        assert_eq!(parsed.list(names::VALUES), ["a", "b", "c"]);
        assert_eq!(parsed.list(names::SET), ["x=1,y=2"]);
        assert_eq!(parsed.operands, ["-", "--set"]);
    }

    #[test]
    fn errors_read_as_pflag_writes_them() {
        for (arguments, error) in [
            (&["--nope"][..], "unknown flag: --nope"),
            (&["-ax"], "unknown shorthand flag: 'x' in -x"),
            (&["--name"], "flag needs an argument: --name"),
            (&["-n"], "flag needs an argument: 'n' in -n"),
            (&["--=x"], "bad flag syntax: --=x"),
            (
                &["--timeout", "5"],
                "invalid argument \"5\" for \"--timeout\" flag: time: missing unit in duration \"5\"",
            ),
            (
                &["-a=maybe"],
                "invalid argument \"maybe\" for \"-a, --all\" flag: strconv.ParseBool: parsing \"maybe\": invalid syntax",
            ),
        ] {
            assert_eq!(read(arguments).unwrap_err(), error);
        }
    }

    #[test]
    fn a_deprecated_flag_works_and_leaves_a_note() {
        let parsed = read(&["--old"]).unwrap();
        assert!(parsed.on(Name::new("old")));
        assert_eq!(parsed.deprecated, [("old", "use --all instead")]);
    }

    #[test]
    fn unknown_flags_can_be_skipped_with_their_values() {
        let arguments: Vec<String> = ["--what", "x", "-z", "-nfoo", "y"].map(str::to_owned).to_vec();
        let (parsed, result) = parse(FLAGS.iter().collect(), &arguments, Unknown::Skip);
        assert_eq!((result, parsed.text(Name::new("name"))), (Ok(()), "foo"));
    }
}
