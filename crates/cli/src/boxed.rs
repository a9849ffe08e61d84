//! The cluster in the box: chosen by `--cluster` or `PINTLE_CLUSTER`, never silently.

use std::path::Path;

use pintle::cluster::Cluster;
use pintle::embedded::{self, Embedded};

use crate::env::Environment;
use crate::failure::Failure;
use crate::flag::parsed::Parsed;
use crate::ui::Ui;

/// The embedded cluster that the user asks for, if he does.
pub(crate) fn chosen(flags: &Parsed, environment: &Environment) -> Result<Option<Embedded>, Failure> {
    let word = flags.text_or_setting("cluster", environment);
    match word.as_str() {
        "" => Ok(None),
        "embedded" => Ok(Some(Embedded { seed: rand::random(), ..Embedded::default() })),
        other => match other.strip_prefix("embedded:") {
            Some(file) if !file.is_empty() => {
                Ok(Some(Embedded { file: Some(file.into()), seed: rand::random(), ..Embedded::default() }))
            }
            _ => Err(Failure::usage(format!("`{other}` is no cluster in the box"))
                .hint("--cluster takes `embedded`, or `embedded:FILE` for one that is kept in a file")),
        },
    }
}

/// Opens it, whether its file is there or is yet to be made.
pub(crate) async fn open(chosen: &Embedded, namespace: &str) -> Result<Cluster, Failure> {
    let api = chosen.open().await?;
    Ok(embedded::cluster(&api, namespace))
}

/// The cluster for those who make nothing in it. Where there is no file yet, that is an empty one without a file: a look,
/// or a name that was misspelt, leaves nothing behind. A file that could not be made is refused when it is opened.
pub(crate) fn as_it_is(chosen: Embedded, ui: &mut Ui) -> Embedded {
    let could_be_made = |file: &Path| match file.parent() {
        Some(folder) if folder != Path::new("") => folder.is_dir(),
        _ => true,
    };
    match &chosen.file {
        Some(file) if !file.exists() && could_be_made(file) => {
            ui.warn(&format!(
                "there is no cluster in `{}` yet, which counts as an empty one",
                file.display()
            ));
            Embedded { file: None, ..chosen }
        }
        _ => chosen,
    }
}
