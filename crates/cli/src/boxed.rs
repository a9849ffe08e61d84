//! The cluster in the box: chosen by `--cluster` or `PINTLE_CLUSTER`, never silently.

use pintle::cluster::Cluster;
use pintle::embedded::{self, Embedded};

use crate::env::Environment;
use crate::failure::Failure;
use crate::flag::parsed::Parsed;

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

/// Opens it.
pub(crate) async fn open(chosen: &Embedded, namespace: &str) -> Result<Cluster, Failure> {
    let api = chosen.open().await?;
    Ok(embedded::cluster(&api, namespace))
}
