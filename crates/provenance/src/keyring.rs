//! Keyrings: files with any number of keys, in any of the forms that GnuPG writes.

use pgp::composed::PublicOrSecret;
use pintle_tree::quote::quote;

use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::packets::{KEY_PARTS, PUBLIC_KEY, SECRET_KEY, frames};
use crate::{KEYRING_LIMIT, armor, keybox};

/// Kinds of armoured blocks that hold keys.
const KEYS: &[&str] = &["PGP PUBLIC KEY BLOCK", "PGP PRIVATE KEY BLOCK"];

/// Keys to sign with, or to verify with.
#[derive(Clone, Debug, Default)]
pub struct Keyring {
    entities: Vec<Entity>,
}

impl Keyring {
    /// Reads a keyring: binary, armoured (also several blocks after one another), or a keybox. Keys that cannot be
    /// understood are left out. `path` is the name of the file in errors.
    ///
    /// # Errors
    ///
    /// When the data is none of these, or when none of the keys can be understood.
    pub fn read_named(data: &[u8], path: &str) -> Result<Keyring> {
        if data.len() > KEYRING_LIMIT {
            return Err(Error::TooLarge { what: "the keyring", limit: KEYRING_LIMIT });
        }
        let failed = |form, reason| Error::Keyring { form, path: path.to_owned(), reason };
        if keybox::is_keybox(data) {
            let keys = keybox::keys(data).map_err(|reason| failed("keybox", reason))?;
            return Keyring::of_packets(&keys);
        }
        if !data.trim_ascii_start().starts_with(b"-----BEGIN PGP") {
            return Keyring::of_packets(data);
        }
        Keyring::of_armor(data).map_err(|reason| failed("armored keyring", reason))
    }

    /// As [`Keyring::read_named`], for data that is in no file.
    ///
    /// # Errors
    ///
    /// As [`Keyring::read_named`].
    pub fn read(data: &[u8]) -> Result<Keyring> {
        Keyring::read_named(data, "data")
    }

    /// The keys of all armoured blocks, up to one that ends before its data begins.
    fn of_armor(data: &[u8]) -> std::result::Result<Keyring, String> {
        let mut entities = Vec::new();
        for block in blocks(data) {
            let Some(kind) = armor::kind(block) else { break };
            if !KEYS.contains(&kind.as_str()) {
                let kind = quote(kind.as_bytes());
                return Err(format!("expected a public or private key block, got {kind}"));
            }
            let decoded = armor::decode(block, KEYS).map_err(|error| error.to_string())?;
            let keys = Keyring::of_packets(&decoded).map_err(|error| error.to_string())?;
            entities.extend(keys.entities);
        }
        if entities.is_empty() {
            return Err("no keys found".to_owned());
        }
        Ok(Keyring { entities })
    }

    fn of_packets(data: &[u8]) -> Result<Keyring> {
        let mut frames = frames(data)?;
        frames.retain(|frame| KEY_PARTS.contains(&frame.tag));
        let is_start = |tag: u8| matches!(tag, PUBLIC_KEY | SECRET_KEY);
        let mut entities = Vec::new();
        let mut failure = None;
        let mut at = 0;
        while at < frames.len() {
            let end = (at + 1..frames.len()).find(|next| is_start(frames[*next].tag)).unwrap_or(frames.len());
            match entity(&frames[at..end].iter().map(|frame| frame.bytes).collect::<Vec<_>>().concat()) {
                Ok(entity) => entities.push(entity),
                Err(error) => failure = Some(error),
            }
            at = end;
        }
        match failure {
            Some(failure) if entities.is_empty() => Err(failure),
            _ => Ok(Keyring { entities }),
        }
    }

    /// All keys.
    pub fn entities(&self) -> &[Entity] {
        &self.entities
    }

    /// The key that `id` means: one with exactly this user id, or else the only one that has it within a user id, or else
    /// the one with this fingerprint or key id.
    ///
    /// # Errors
    ///
    /// When there is none, or when several keys have the text in their user ids.
    pub fn find(&self, id: &str) -> Result<&Entity> {
        let mut candidate: Option<&Entity> = None;
        let mut is_vague = false;
        // Of two copies of a key, the one with the secret key is preferred.
        let better = |known: Option<&Entity>, entity: &Entity| {
            known.is_none_or(|known| entity.is_secret() && !known.is_secret())
        };
        let mut exact: Option<&Entity> = None;
        for entity in &self.entities {
            let names = entity.user_ids();
            if names.iter().any(|name| name == id) && better(exact, entity) {
                exact = Some(entity);
            }
            if names.iter().any(|name| name.contains(id)) {
                is_vague |= candidate.is_some_and(|known| known.fingerprint() != entity.fingerprint());
                if better(candidate, entity) {
                    candidate = Some(entity);
                }
            }
        }
        if let Some(entity) = exact {
            return Ok(entity);
        }
        if is_vague {
            return Err(Error::SeveralKeys { id: id.to_owned() });
        }
        candidate.or_else(|| self.by_number(id)).ok_or(Error::NoKey)
    }

    /// The key with this fingerprint or key id, as people write them.
    fn by_number(&self, id: &str) -> Option<&Entity> {
        let id: String = id.chars().filter(|letter| !letter.is_whitespace()).collect();
        let id = id.strip_prefix("0x").or_else(|| id.strip_prefix("0X")).unwrap_or(&id).to_ascii_uppercase();
        if !matches!(id.len(), 8 | 16 | 40 | 64) || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let all = || self.entities.iter().filter(|entity| entity.answers_to(&id));
        let first = all().next()?;
        // Short ids are easy to forge, so an ambiguous one matches no key.
        if all().any(|entity| entity.fingerprint() != first.fingerprint()) {
            return None;
        }
        all().find(|entity| entity.is_secret()).or(Some(first))
    }
}

fn entity(packets: &[u8]) -> Result<Entity> {
    let unreadable = |error: pgp::errors::Error| Error::data(error.to_string());
    let mut keys = PublicOrSecret::from_bytes_many(packets).map_err(unreadable)?;
    match keys.next() {
        Some(key) => Ok(Entity::new(key.map_err(unreadable)?)),
        None => Err(Error::data("first packet was not a public/private key")),
    }
}

/// Armoured blocks that follow one another.
fn blocks(data: &[u8]) -> Vec<&[u8]> {
    const BEGIN: &[u8] = b"-----BEGIN PGP ";
    let starts: Vec<usize> = data
        .windows(BEGIN.len())
        .enumerate()
        .filter(|(_, window)| *window == BEGIN)
        .map(|(at, _)| at)
        .collect();
    let ends = starts.iter().skip(1).copied().chain([data.len()]);
    starts.iter().zip(ends).map(|(start, end)| &data[*start..end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn armour_that_holds_no_keys_is_refused_in_helm_s_words() {
        let block = |kind: &str, body: &str| format!("-----BEGIN {kind}-----\n{body}-----END {kind}-----\n");
        let public = "PGP PUBLIC KEY BLOCK";
        for (text, reason) in [
            (block("PGP MESSAGE", "\nAAEC\n"), "expected a public or private key block, got \"PGP MESSAGE\""),
            (block(public, "\n"), "no keys found"),
            (format!("-----BEGIN {public}-----\n"), "no keys found"),
            (format!("-----BEGIN {public}\n"), "no keys found"),
            (format!("-----BEGIN {public}-----\n\nmQENBF"), "unexpected EOF"),
            (block(public, "\n!!!!\n"), "illegal base64 data at input byte 0"),
        ] {
            let error = Keyring::read_named(text.as_bytes(), "k.asc").unwrap_err().to_string();
            assert_eq!(error, format!("reading armored keyring k.asc: {reason}"));
        }
    }
}
