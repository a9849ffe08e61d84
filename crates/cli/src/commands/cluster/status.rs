//! `cluster status`: the content of an embedded cluster.

use std::collections::BTreeMap;

use super::reset::file_of;
use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::{connect, embedded};

/// `cluster status`
pub(crate) static COMMAND: Command = Command {
    name: "status",
    short: "show the contents of an embedded cluster",
    long: "\
Show the Kubernetes version of an embedded cluster with a file, and the number of its objects of each kind.

    {program} cluster status --cluster embedded:web.db",
    operands: Operands::None,
    completion: ArgCompletion::Nothing,
    run: Some(run),
    ..Command::BLANK
};

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    let chosen = embedded::from_flags(&invocation.flags, invocation.environment)?;
    let (cluster, file) = file_of(chosen)?;
    if !file.exists() {
        return Err(Failure::usage(format!("there is no cluster in `{}`", file.display()))
            .hint("the first command that writes to it creates it"));
    }
    let runtime = connect::runtime()?;
    let text = runtime.block_on(async {
        let api = cluster.open().await?;
        let listing = api.store().list("", None, usize::MAX, None, &|_| true);
        let objects = listing.map(|listing| listing.objects).unwrap_or_default();
        let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
        for object in &objects {
            let key = object.key.to_str_lossy();
            *kinds.entry(key.split('/').next().unwrap_or_default().to_owned()).or_default() += 1;
        }
        let mut text = format!(
            "FILE: {}\nKUBERNETES: {}\nREVISION: {}\nOBJECTS: {}\n",
            file.display(),
            api.catalog().version(),
            api.store().revision(),
            objects.len()
        );
        for (kind, count) in kinds {
            text.push_str(&format!("  {count:>6} {kind}\n"));
        }
        Ok::<String, Failure>(text)
    })?;
    invocation.ui.print(&text)
}
