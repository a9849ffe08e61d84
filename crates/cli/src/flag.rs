//! The definition of a flag: one row of a command's table, from which parsing, help, completion and the reference page
//! are derived.

pub(crate) mod csv;
pub(crate) mod deploy;
pub(crate) mod groups;
pub(crate) mod names;
pub(crate) mod operations;
pub(crate) mod parse;
pub(crate) mod parsed;
pub(crate) mod value;

use std::collections::BTreeMap;
use std::marker::PhantomData;

use crate::env::Setting;

/// The type of a flag's value, as pflag has them: how it is parsed, and its name in help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `--f`, `--f=false`.
    Bool,
    /// A switch that may also be the word `cosign`.
    Verification,
    /// Any text.
    Text,
    /// A signed integer in Go's spelling.
    Int,
    /// An unsigned integer in Go's spelling.
    Uint,
    /// A 32-bit float.
    Float32,
    /// A Go duration such as `1h2m3s`.
    Duration,
    /// pflag's `stringSlice`: comma-separated with CSV quoting; repeating appends.
    List,
    /// pflag's `stringArray`: not split; repeating appends.
    Array,
    /// `key=value` pairs.
    Pairs,
    /// A wait strategy.
    WaitStrategy,
    /// A post-renderer; repeating appends.
    PostRenderer,
    /// One argument for the post-renderer.
    PostRendererArgument,
    /// The output format: `table`, `json` or `yaml`.
    Format,
    /// A reference to a version of a release: a number for Helm, also an id for us. The command parses it.
    Revision,
}

impl Kind {
    /// The name of the type in help; empty for switches.
    pub(crate) fn placeholder(self) -> &'static str {
        match self {
            Kind::Bool | Kind::Verification => "",
            Kind::Text => "string",
            Kind::Int | Kind::Revision => "int",
            Kind::Uint => "uint",
            Kind::Float32 => "float32",
            Kind::Duration => "duration",
            Kind::List => "strings",
            Kind::Array => "stringArray",
            Kind::Pairs => "stringToString",
            Kind::WaitStrategy => "WaitStrategy",
            Kind::PostRenderer => "postRendererString",
            Kind::PostRendererArgument => "postRendererArgsSlice",
            Kind::Format => "format",
        }
    }

    /// Whether repeating the flag appends.
    pub(crate) fn repeats(self) -> bool {
        matches!(
            self,
            Kind::List | Kind::Array | Kind::Pairs | Kind::PostRenderer | Kind::PostRendererArgument
        )
    }

    /// Whether help hides this default, as pflag's `defaultIsZeroValue` does.
    pub(crate) fn is_zero(self, text: &str) -> bool {
        match self {
            Kind::Bool | Kind::Verification => text == "false" || text.is_empty(),
            Kind::Duration => text == "0s",
            Kind::Int | Kind::Uint | Kind::Float32 | Kind::Revision => text == "0",
            Kind::List | Kind::Array => text == "[]",
            Kind::Text | Kind::PostRenderer => text.is_empty(),
            Kind::Pairs | Kind::WaitStrategy | Kind::PostRendererArgument | Kind::Format => false,
        }
    }
}

/// The default of a flag.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fallback {
    /// A constant.
    Text(&'static str),
    /// A setting of the environment.
    Setting(Setting),
}

/// How the shell completes the value of a flag.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FlagCompletion {
    /// Files: the default of shells.
    Files,
    /// Nothing.
    Nothing,
    /// The templates of the chart on the command line.
    Templates,
    /// The paths of the values of the chart on the command line.
    ValuePaths,
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these words, with descriptions.
    Described(&'static [(&'static str, &'static str)]),
    /// The contexts of the kubeconfig.
    Contexts,
    /// The namespaces of the cluster.
    Namespaces,
    /// The revisions of the release on the command line.
    Revisions,
    /// The versions of the chart on the command line.
    ChartVersions,
    /// The Kubernetes versions of the embedded cluster.
    KubeVersions,
}

/// The name of a flag, without dashes, and the type as which its value is read.
#[derive(Debug)]
pub(crate) struct Name<T> {
    text: &'static str,
    value: PhantomData<fn() -> T>,
}

// Not derived: derives would require the same traits of `T`.
impl<T> Clone for Name<T> {
    fn clone(&self) -> Name<T> {
        *self
    }
}

impl<T> Copy for Name<T> {}

impl<T> Name<T> {
    pub(crate) const fn new(text: &'static str) -> Name<T> {
        Name { text, value: PhantomData }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        self.text
    }
}

/// The value of a flag with `key=value` pairs.
pub(crate) type Pairs = BTreeMap<String, String>;

/// One flag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag {
    /// The long name, without dashes.
    pub(crate) name: &'static str,
    /// The one-letter name.
    pub(crate) short: Option<char>,
    /// The type of its value.
    pub(crate) kind: Kind,
    /// The default.
    pub(crate) fallback: Fallback,
    /// The text in help.
    pub(crate) usage: &'static str,
    /// The value without `=` (pflag's `NoOptDefVal`); such a flag takes a value only after `=`.
    pub(crate) bare: Option<&'static str>,
    /// Whether help and completion leave it out.
    pub(crate) hidden: bool,
    /// The advice for a deprecated flag.
    pub(crate) deprecated: Option<&'static str>,
    pub(crate) completion: FlagCompletion,
}

impl Flag {
    const fn new<T>(name: Name<T>, kind: Kind, fallback: &'static str, usage: &'static str) -> Flag {
        Flag {
            name: name.as_str(),
            short: None,
            kind,
            fallback: Fallback::Text(fallback),
            usage,
            bare: None,
            hidden: false,
            deprecated: None,
            completion: FlagCompletion::Files,
        }
    }

    /// A boolean flag that is off by default.
    pub(crate) const fn switch(name: Name<bool>, usage: &'static str) -> Flag {
        let mut flag = Flag::new(name, Kind::Bool, "false", usage);
        flag.bare = Some("true");
        flag
    }

    /// A string flag.
    pub(crate) const fn text(name: Name<String>, usage: &'static str) -> Flag {
        Flag::new(name, Kind::Text, "", usage)
    }

    /// A `stringSlice` flag.
    pub(crate) const fn list(name: Name<Vec<String>>, usage: &'static str) -> Flag {
        Flag::new(name, Kind::List, "[]", usage)
    }

    /// A `stringArray` flag.
    pub(crate) const fn array(name: Name<Vec<String>>, usage: &'static str) -> Flag {
        Flag::new(name, Kind::Array, "[]", usage)
    }

    /// A flag of another kind, with the text of its default.
    pub(crate) const fn of<T>(
        name: Name<T>,
        kind: Kind,
        fallback: &'static str,
        usage: &'static str,
    ) -> Flag {
        Flag::new(name, kind, fallback, usage)
    }

    /// Sets the shorthand.
    pub(crate) const fn short(mut self, letter: char) -> Flag {
        self.short = Some(letter);
        self
    }

    /// Sets the default.
    pub(crate) const fn or(mut self, fallback: &'static str) -> Flag {
        self.fallback = Fallback::Text(fallback);
        self
    }

    /// Takes the default from a setting of the environment.
    pub(crate) const fn or_setting(mut self, setting: Setting) -> Flag {
        self.fallback = Fallback::Setting(setting);
        self
    }

    /// Makes the value optional: without `=` it is `value`.
    pub(crate) const fn bare(mut self, value: &'static str) -> Flag {
        self.bare = Some(value);
        self
    }

    /// Hides the flag from help and completion.
    pub(crate) const fn hidden(mut self) -> Flag {
        self.hidden = true;
        self
    }

    /// Marks the flag as deprecated, with advice. Such flags are hidden.
    pub(crate) const fn deprecated(mut self, advice: &'static str) -> Flag {
        self.deprecated = Some(advice);
        self.hidden = true;
        self
    }

    /// Sets the completion of the value.
    pub(crate) const fn completes(mut self, completion: FlagCompletion) -> Flag {
        self.completion = completion;
        self
    }

    /// The flag as pflag's errors name it: `-f, --values`.
    pub(crate) fn spelled(&self) -> String {
        match self.short {
            Some(letter) => format!("-{letter}, --{}", self.name),
            None => format!("--{}", self.name),
        }
    }
}

/// The help flag that every command has.
pub(crate) static HELP: Flag = Flag::switch(names::HELP, "").short('h');
