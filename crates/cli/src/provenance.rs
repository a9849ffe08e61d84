//! Signs and verifies charts: reads keyrings, provenance files and passphrases, and calls GnuPG for keys that only its
//! agent has.

use std::cell::RefCell;
use std::io::{BufRead as _, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use pintle::KeyringFile;
use pintle::ops::read_signature_file;
use pintle::provenance::{Entity, Error, Keyring, Verified, sign};
use pintle_tree::quote::quote;

use crate::failure::{Failure, reason, signature_hint};
use crate::flag::names;
use crate::invocation::Invocation;
use crate::personality::Personality;
use crate::report::Reporting;
use crate::ui::Ui;
use crate::{clock, prompt};

/// The size limit of a passphrase file.
const PASSPHRASE_LIMIT: usize = 64 << 10;

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let failure = Failure::run_time(error.to_string());
        match signature_hint(&error) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// The text for a chart with a valid signature.
pub(crate) fn words(verified: &Verified) -> String {
    let mut text: String = verified.signed_by.iter().map(|name| format!("Signed by: {name}\n")).collect();
    text.push_str(&format!("Using Key With Fingerprint: {}\n", verified.fingerprint));
    text.push_str(&format!("Chart Hash Verified: {}\n", verified.file_hash));
    text
}

fn now() -> u64 {
    u64::try_from(clock::now()).unwrap_or_default()
}

/// The keyring of `--keyring`.
pub(crate) fn keyring_file(invocation: &Invocation<'_>) -> KeyringFile {
    let path = invocation.flags.text_or_setting(names::KEYRING, invocation.environment).into();
    KeyringFile { path, now: now() }
}

fn keyring(invocation: &Invocation<'_>) -> Result<Keyring, Failure> {
    Ok(pintle::ops::keyring(&keyring_file(invocation))?)
}

/// The signing key, and how to get its passphrase.
pub(crate) struct Signer {
    key: String,
    passphrase_file: String,
    /// A passphrase from a file or standard input is read once and used for all charts.
    passphrase: RefCell<Option<Vec<u8>>>,
}

impl Signer {
    /// The signer of `--sign` and its flags; `None` without it.
    pub(crate) fn from_flags(invocation: &Invocation<'_>) -> Result<Option<Signer>, Failure> {
        let flags = &invocation.flags;
        if !flags.on(names::SIGN) {
            return Ok(None);
        }
        if flags.text(names::KEY).is_empty() {
            return Err(Failure::usage("--key is required for signing a package"));
        }
        if flags.text_or_setting(names::KEYRING, invocation.environment).is_empty() {
            return Err(Failure::usage("--keyring is required for signing a package"));
        }
        Ok(Some(Signer {
            key: flags.text(names::KEY).to_owned(),
            passphrase_file: flags.text(names::PASSPHRASE_FILE).to_owned(),
            passphrase: RefCell::new(None),
        }))
    }

    /// The signer of a plugin. Unlike for charts, the key may be the only one of the keyring.
    ///
    /// # Errors
    ///
    /// A keyring that cannot be read or does not have the key.
    pub(crate) fn for_plugin(invocation: &Invocation<'_>) -> Result<Signer, Failure> {
        let flags = &invocation.flags;
        let (key, reading) = (flags.text(names::KEY).to_owned(), "error reading from keyring");
        if !may_use_gnupg(invocation) {
            let keyring = keyring(invocation).map_err(|failure| failure.during(reading))?;
            if key.is_empty() {
                return Err(Failure::usage("private key not found").hint("--key names the key to sign with"));
            }
            keyring.find(&key)?;
        }
        let passphrase_file = flags.text(names::PASSPHRASE_FILE).to_owned();
        let signer = Signer { key, passphrase_file, passphrase: RefCell::new(None) };
        signer.read_whole_passphrase()?;
        Ok(signer)
    }

    /// Takes the whole passphrase file, as Helm does for plugins: it may be empty.
    fn read_whole_passphrase(&self) -> Result<(), Failure> {
        if !matches!(self.passphrase_file.as_str(), "" | "-") {
            let text = read_signature_file(Path::new(&self.passphrase_file), PASSPHRASE_LIMIT)?;
            let end = text.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |at| at + 1);
            *self.passphrase.borrow_mut() = Some(text[..end].to_vec());
        }
        Ok(())
    }

    /// Signs an archive: writes the provenance file next to it.
    pub(crate) fn sign(&self, invocation: &mut Invocation<'_>, archive: &Path) -> Result<(), Failure> {
        let provenance = self.sign_text(invocation, |ui| {
            pintle::ops::text_to_sign(archive, &mut Reporting::new(ui))
                .map_err(|error| Failure::from(error).during("failed to load chart for signing"))
        })?;
        let file = format!("{}.prov", archive.display());
        let (folder, name) = (archive.parent().unwrap_or(Path::new("")), crate::path::base(&file).to_owned());
        pintle::chart::write_below(folder, Path::new(&name), &provenance)
            .map_err(|error| Failure::run_time(format!("open {file}: {}", reason(&error))))
    }

    /// Signs a text, which is generated once the key is available.
    pub(crate) fn sign_text(
        &self,
        invocation: &mut Invocation<'_>,
        text: impl FnOnce(&mut Ui) -> Result<Vec<u8>, Failure>,
    ) -> Result<Vec<u8>, Failure> {
        let keyring = match keyring(invocation) {
            Ok(keyring) => keyring,
            // GnuPG's agent may have the secret key, wherever the public key is.
            Err(_) if may_use_gnupg(invocation) && !invocation.flags.given(names::KEYRING) => {
                Keyring::default()
            }
            Err(failure) => return Err(failure),
        };
        let found = keyring.find(&self.key);
        if let Err(error @ Error::SeveralKeys { .. }) = found {
            return Err(error.into());
        }
        let given = self.given_passphrase()?;
        let opened = found.and_then(|entity| Ok((entity, entity.needs_passphrase()?)));
        let provenance = match opened {
            Ok((entity, is_locked)) => {
                let passphrase = match given {
                    Some(passphrase) => Some(passphrase),
                    None if is_locked => Some(ask(invocation, entity)?.into_bytes()),
                    None => None,
                };
                let text = text(invocation.ui)?;
                sign(entity, passphrase.as_deref(), &text, now())?
            }
            // GnuPG would search for an empty key name, and create its home directory for that.
            Err(error @ Error::NoKey) if self.key.is_empty() && may_use_gnupg(invocation) => {
                return Err(Failure::from(error).hint("--key names the key that signs"));
            }
            Err(error @ (Error::NoKey | Error::NotPrivate | Error::Stub)) if may_use_gnupg(invocation) => {
                let text = text(invocation.ui)?;
                let key = keyring.find(&self.key).map_or_else(|_| self.key.clone(), Entity::fingerprint);
                gnupg(&key, given.as_deref(), &text).map_err(|why| {
                    Failure::from(error).hint(format!("GnuPG cannot sign with it either: {why}"))
                })?
            }
            Err(error) => return Err(error.into()),
        };
        Ok(provenance)
    }

    /// The first line of the passphrase file, if one is set.
    fn given_passphrase(&self) -> Result<Option<Vec<u8>>, Failure> {
        if self.passphrase_file.is_empty() {
            return Ok(None);
        }
        if let Some(known) = &*self.passphrase.borrow() {
            return Ok(Some(known.clone()));
        }
        let mut line = Vec::new();
        if self.passphrase_file == "-" {
            if !has_input() {
                return Err(Failure::usage(
                    "specified reading passphrase from stdin, without input on stdin",
                ));
            }
            std::io::stdin().lock().take(PASSPHRASE_LIMIT as u64).read_until(b'\n', &mut line)?;
        } else {
            let text = read_signature_file(Path::new(&self.passphrase_file), PASSPHRASE_LIMIT)?;
            line.extend(text.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default());
        }
        if line.is_empty() {
            return Err(Failure::usage("EOF").with_pintle_text("the passphrase file is empty"));
        }
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let line = line.strip_suffix(b"\r").unwrap_or(line).to_vec();
        *self.passphrase.borrow_mut() = Some(line.clone());
        Ok(Some(line))
    }
}

/// Whether standard input is redirected. Helm accepts pipes only; we accept files too.
fn has_input() -> bool {
    #[cfg(unix)]
    {
        use rustix::fs::{FileType, fstat};
        fstat(rustix::stdio::stdin()).is_ok_and(|found| {
            matches!(FileType::from_raw_mode(found.st_mode), FileType::Fifo | FileType::RegularFile)
        })
    }
    #[cfg(not(unix))]
    {
        !std::io::IsTerminal::is_terminal(&std::io::stdin())
    }
}

fn ask(invocation: &mut Invocation<'_>, entity: &Entity) -> Result<String, Failure> {
    let name =
        entity.user_ids().into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "Unknown".to_owned());
    let answer = prompt::hidden(invocation.ui, &format!("Password for key {} >  ", quote(name.as_bytes())));
    if answer.is_err() {
        // Helm ends the line of the prompt in any case.
        invocation.ui.print("\n")?;
    }
    answer
}

/// Helm never runs GnuPG, so neither do we under its name.
fn may_use_gnupg(invocation: &Invocation<'_>) -> bool {
    invocation.personality == Personality::Pintle
}

/// Signs a text with GnuPG, by a key of its agent.
fn gnupg(key: &str, passphrase: Option<&[u8]>, text: &[u8]) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("gpg: {}", reason(&error));
    let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
    file.write_all(text).map_err(failed)?;
    let mut command = Command::new("gpg");
    command.args(["--batch", "--yes", "--digest-algo", "SHA512", "--local-user", key, "--output", "-"]);
    if passphrase.is_some() {
        command.args(["--pinentry-mode", "loopback", "--passphrase-fd", "0"]);
    }
    command.arg("--clearsign").arg("--").arg(file.path());
    command.stdin(if passphrase.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    if let (Some(mut stdin), Some(passphrase)) = (child.stdin.take(), passphrase) {
        // GnuPG may exit without reading its input.
        let _ = stdin.write_all(passphrase);
    }
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; "))
}
