//! What a flag is: one row of a command's table, from which parsing, help, completion and the reference page come.

pub(crate) mod csv;
pub(crate) mod deploy;
pub(crate) mod groups;
pub(crate) mod parse;
pub(crate) mod parsed;
pub(crate) mod value;

use crate::env::Setting;

/// The type of a flag's value: how it is read, and what help calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `--f`, `--f=false`.
    Bool,
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
    /// Comma separated with CSV quoting; repeating appends.
    List,
    /// Taken as typed; repeating appends.
    Array,
    /// `key=value` pairs.
    Pairs,
    /// How to wait for objects to become ready.
    WaitStrategy,
    /// The name of a post-renderer; may be given once.
    PostRenderer,
    /// One argument for the post-renderer.
    PostRendererArgument,
    /// The shape of the output: `table`, `json` or `yaml`.
    Format,
    /// A version of a release: a number for Helm, and more for us. The command reads it.
    Revision,
}

impl Kind {
    /// The word that stands for the value in help; empty for switches.
    pub(crate) fn placeholder(self) -> &'static str {
        match self {
            Kind::Bool => "",
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

    /// Whether giving the flag twice adds to it.
    pub(crate) fn repeats(self) -> bool {
        matches!(self, Kind::List | Kind::Array | Kind::Pairs | Kind::PostRendererArgument)
    }

    /// Whether `text` as a default means that there is none, so that help does not show it.
    pub(crate) fn is_zero(self, text: &str) -> bool {
        match self {
            Kind::Bool => text == "false" || text.is_empty(),
            Kind::Duration => text == "0s",
            Kind::Int | Kind::Uint | Kind::Float32 | Kind::Revision => text == "0",
            Kind::List | Kind::Array => text == "[]",
            Kind::Text | Kind::PostRenderer => text.is_empty(),
            Kind::Pairs | Kind::WaitStrategy | Kind::PostRendererArgument | Kind::Format => false,
        }
    }
}

/// Where a flag's value comes from when it is not given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fallback {
    /// Always the same text.
    Text(&'static str),
    /// The environment decides.
    Setting(Setting),
}

/// What the shell may offer as the value of a flag.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FlagCompletion {
    /// Files, as shells do by themselves.
    Files,
    /// Nothing at all.
    Nothing,
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these words, each with what it means.
    Described(&'static [(&'static str, &'static str)]),
    /// The contexts of the kubeconfig.
    Contexts,
    /// The namespaces of the cluster.
    Namespaces,
    /// The revisions of the release that is named.
    Revisions,
    /// The versions of the chart that is named.
    ChartVersions,
    /// The versions of Kubernetes that the cluster in the box can be.
    KubeVersions,
}

/// What a flag needs that this program cannot do yet; using such a flag is refused, never ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Plugins.
    Plugin,
}

/// One flag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag {
    /// The long name, without dashes.
    pub(crate) name: &'static str,
    /// The one-letter name.
    pub(crate) short: Option<char>,
    /// The type of its value.
    pub(crate) kind: Kind,
    /// Its value when not given.
    pub(crate) fallback: Fallback,
    /// One line for help.
    pub(crate) usage: &'static str,
    /// The value of the flag when it is given bare; such a flag takes a value only after `=`.
    pub(crate) bare: Option<&'static str>,
    /// Whether help and completion leave it out.
    pub(crate) hidden: bool,
    /// What to use instead, for a flag that still works but should not be used.
    pub(crate) deprecated: Option<&'static str>,
    /// What the shell offers for its value.
    pub(crate) completion: FlagCompletion,
    /// What it needs that is not there yet.
    pub(crate) needs: Option<Need>,
}

impl Flag {
    const fn new(name: &'static str, kind: Kind, fallback: &'static str, usage: &'static str) -> Flag {
        Flag {
            name,
            short: None,
            kind,
            fallback: Fallback::Text(fallback),
            usage,
            bare: None,
            hidden: false,
            deprecated: None,
            completion: FlagCompletion::Files,
            needs: None,
        }
    }

    /// A switch that is off unless given.
    pub(crate) const fn switch(name: &'static str, usage: &'static str) -> Flag {
        let mut flag = Flag::new(name, Kind::Bool, "false", usage);
        flag.bare = Some("true");
        flag
    }

    /// A text.
    pub(crate) const fn text(name: &'static str, usage: &'static str) -> Flag {
        Flag::new(name, Kind::Text, "", usage)
    }

    /// A comma separated list.
    pub(crate) const fn list(name: &'static str, usage: &'static str) -> Flag {
        Flag::new(name, Kind::List, "[]", usage)
    }

    /// A list that grows by one with each use.
    pub(crate) const fn array(name: &'static str, usage: &'static str) -> Flag {
        Flag::new(name, Kind::Array, "[]", usage)
    }

    /// A flag of any other kind, with the text of its default.
    pub(crate) const fn of(
        name: &'static str,
        kind: Kind,
        fallback: &'static str,
        usage: &'static str,
    ) -> Flag {
        Flag::new(name, kind, fallback, usage)
    }

    /// Gives the flag a one-letter name.
    pub(crate) const fn short(mut self, letter: char) -> Flag {
        self.short = Some(letter);
        self
    }

    /// Gives the flag another default.
    pub(crate) const fn or(mut self, fallback: &'static str) -> Flag {
        self.fallback = Fallback::Text(fallback);
        self
    }

    /// Lets the environment decide the default.
    pub(crate) const fn or_setting(mut self, setting: Setting) -> Flag {
        self.fallback = Fallback::Setting(setting);
        self
    }

    /// Makes the value optional: without `=`, it is `value`.
    pub(crate) const fn bare(mut self, value: &'static str) -> Flag {
        self.bare = Some(value);
        self
    }

    /// Leaves the flag out of help and completion.
    pub(crate) const fn hidden(mut self) -> Flag {
        self.hidden = true;
        self
    }

    /// Marks the flag as one to move away from; says what to use instead. Such flags are hidden.
    pub(crate) const fn deprecated(mut self, advice: &'static str) -> Flag {
        self.deprecated = Some(advice);
        self.hidden = true;
        self
    }

    /// Says what the shell offers as its value.
    pub(crate) const fn completes(mut self, completion: FlagCompletion) -> Flag {
        self.completion = completion;
        self
    }

    /// Says what the flag needs that is not there yet.
    pub(crate) const fn needs(mut self, need: Need) -> Flag {
        self.needs = Some(need);
        self
    }

    /// The flag as Go's messages about bad values name it: `-f, --values`.
    pub(crate) fn spelled(&self) -> String {
        match self.short {
            Some(letter) => format!("-{letter}, --{}", self.name),
            None => format!("--{}", self.name),
        }
    }
}

/// The help flag that every command has.
pub(crate) static HELP: Flag = Flag::switch("help", "").short('h');
