//! The embedded cluster: selected by `--cluster` or `PINTLE_CLUSTER`, never by default.

pub(crate) mod server;

use std::path::Path;

use pintle::embedded::Embedded;

use crate::env::Environment;
use crate::failure::Failure;
use crate::flag::names;
use crate::flag::parsed::Parsed;
use crate::ui::Ui;

/// The selected embedded cluster; `None` for a real one.
pub(crate) fn from_flags(flags: &Parsed, environment: &Environment) -> Result<Option<Embedded>, Failure> {
    let word = flags.text_or_setting(names::CLUSTER, environment);
    match by_name(&word) {
        None if !word.is_empty() => Err(Failure::usage(format!("invalid cluster `{word}`"))
            .hint("use `embedded`, or `embedded:FILE` to keep it in a file")),
        chosen => Ok(chosen),
    }
}

/// The embedded cluster of a name; `None` for other names.
pub(crate) fn by_name(name: &str) -> Option<Embedded> {
    let file = match (name, name.strip_prefix("embedded:")) {
        ("embedded", _) => None,
        (_, Some(file)) if !file.is_empty() => Some(file.into()),
        _ => return None,
    };
    Some(Embedded { file, seed: rand::random(), ..Embedded::default() })
}

/// The cluster for commands that only read. If its file does not exist they get an empty cluster in memory, so that a
/// misspelt name leaves no file behind. A path in which no file can be created is kept, and rejected when it is opened.
pub(crate) fn without_creating(chosen: Embedded, ui: &mut Ui) -> Embedded {
    let can_be_created = |file: &Path| match file.parent() {
        Some(folder) if folder != Path::new("") => folder.is_dir(),
        _ => true,
    };
    match &chosen.file {
        Some(file) if !file.exists() && can_be_created(file) => {
            ui.warn(&format!("there is no cluster in `{}` yet; using an empty one", file.display()));
            Embedded { file: None, ..chosen }
        }
        _ => chosen,
    }
}
