//! `pull`: fetches charts into a folder.

use std::path::Path;

use pintle::repo::{Registries, Resolved, Resolver, pull};

use crate::chart_reference::{debug_devel, no_provenance};
use crate::command::{ArgCompletion, Command, Operands};
use crate::failure::Failure;
use crate::flag::groups::{CHART, COSIGN, DEVEL, REMOTE};
use crate::flag::{Flag, names};
use crate::invocation::Invocation;
use crate::{cosign, path, provenance, remote};

/// `pull CHART…`
pub(crate) static COMMAND: Command = Command {
    name: "pull",
    aliases: &["fetch"],
    operands_text: "[chart URL | repo/chartname] [...]",
    short: "fetch a chart, and unpack it if wanted",
    long: "\
Fetches the archive of a chart into the current folder, or into another (-d).

    {program} pull bitnami/nginx --version ^18.0.0
    {program} pull nginx --repo https://charts.bitnami.com/bitnami --untar
    {program} pull oci://registry.example.com/charts/web:1.2.3

The digest that the index or the registry declares is compared with what comes, and nothing is kept when it differs.",
    operands: Operands::AtLeast(1),
    completion: ArgCompletion::RemoteChart,
    flags: &[DEVEL, OWN, CHART, COSIGN, REMOTE],
    run: Some(run),
    ..Command::BLANK
};

static OWN: &[Flag] = &[
    Flag::switch(names::UNTAR, "unpack the archive"),
    Flag::switch(names::PROV, "fetch the provenance file too, without checking it"),
    Flag::text(names::UNTARDIR, "the folder to unpack into, inside of --destination").or("."),
    Flag::text(names::DESTINATION, "the folder to write to").short('d').or("."),
];

fn run(invocation: &mut Invocation<'_>) -> Result<(), Failure> {
    debug_devel(invocation);
    let getter = remote::getter(invocation, remote::TIMEOUT);
    for reference in invocation.flags.operands.clone() {
        let resolver = remote::resolver(invocation, &getter);
        let mut resolved = resolver.resolve(&remote::wanted(&invocation.flags, &reference))?;
        for line in &resolved.log {
            invocation.ui.log(line);
        }
        let mut text = match cosign::is_asked(&invocation.flags) {
            true => cosign::verify(invocation, &resolver, &mut resolved)?,
            false => String::new(),
        };
        let outcome = fetch(invocation, &resolver, &resolved, &reference, &mut text);
        // Messages about registries are printed first, even if the fetch failed.
        let notices = getter.registries().map(Registries::take_notices).unwrap_or_default();
        invocation.ui.print(&notices)?;
        outcome?;
        invocation.ui.print(&text)?;
    }
    Ok(())
}

fn fetch(
    invocation: &Invocation<'_>,
    resolver: &Resolver<'_>,
    resolved: &Resolved,
    reference: &str,
    text: &mut String,
) -> Result<(), Failure> {
    let flags = &invocation.flags;
    let destination = flags.text(names::DESTINATION).to_owned();
    let untar_to = flags.on(names::UNTAR).then(|| match flags.text(names::UNTARDIR) {
        folder if folder.starts_with('/') => path::clean(folder),
        folder => path::join(&[&destination, folder]),
    });
    let scratch;
    let folder = match &untar_to {
        Some(_) => {
            scratch = tempfile::Builder::new().prefix("helm-").tempdir()?;
            scratch.path()
        }
        None => Path::new(&destination),
    };
    let (archive, _) = pull::pull(resolver, resolved, folder)?;
    let verify = flags.on(names::VERIFY) && !cosign::is_asked(flags);
    if verify || invocation.flags.on(names::PROV) {
        let file = format!("{}.prov", archive.display());
        match resolver.provenance(resolved) {
            Ok(content) => {
                let name = Path::new(&file).file_name().unwrap_or_default();
                pintle::chart::write_below(folder, Path::new(name), &content)?;
            }
            Err(error) if verify => return Err(no_provenance(resolved, &error)),
            Err(error) => {
                // A chart that was looked up in the index of `--repo` is named by its URL.
                let by_index = !invocation.flags.text(names::REPO).is_empty();
                let reference = if by_index { resolved.source.url.as_str() } else { reference };
                text.push_str(&format!("WARNING: Verification not found for {reference}: {error}\n"))
            }
        }
        if verify {
            let verified = provenance::verify_archive(invocation, &archive.to_string_lossy(), &file)?;
            text.push_str(&provenance::words(&verified));
        }
    }
    if let Some(target) = untar_to {
        pull::expand(&archive, Path::new(&target))?;
    }
    Ok(())
}
