//! Who is signed in: the one-time link, and the cookies that it was exchanged for.

use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rand::RngCore as _;
use rand::rngs::OsRng;
use sha2::{Digest as _, Sha256};

use crate::clusters::Viewer;

/// How many browsers can be signed in at once; the one that was used longest ago is signed out for another.
const MAX_SIGNED_IN: usize = 32;

/// How long a cookie is valid after its last use.
const IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// A secret that is compared. Only its digest is kept, so that the time of a comparison reveals nothing.
#[derive(Clone, Copy)]
pub(crate) struct Secret([u8; 32]);

impl Secret {
    pub(crate) fn new(text: &str) -> Secret {
        Secret(Sha256::digest(text).into())
    }

    pub(crate) fn is(&self, presented: &str) -> bool {
        let presented: [u8; 32] = Sha256::digest(presented).into();
        let differences = self.0.iter().zip(presented).fold(0, |all, (own, other)| all | (own ^ other));
        // Keeps the compiler from turning the fold into a comparison that ends early.
        black_box(differences) == 0
    }
}

/// 256 random bits in hexadecimal.
///
/// # Errors
/// When the system has no random numbers.
pub(crate) fn random_text() -> std::io::Result<String> {
    let mut bytes = [0; 32];
    OsRng.try_fill_bytes(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

struct SignedIn {
    cookie: Secret,
    viewer: Option<Viewer>,
    used: Instant,
}

/// The link, and the browsers that are signed in.
pub(crate) struct SignIns {
    link: Mutex<Option<Secret>>,
    browsers: Mutex<Vec<SignedIn>>,
}

impl SignIns {
    pub(crate) fn new(link: Option<&str>) -> SignIns {
        SignIns { link: Mutex::new(link.map(Secret::new)), browsers: Mutex::default() }
    }

    /// Whether the token is that of the link, which can be used once.
    pub(crate) fn use_link(&self, token: &str) -> bool {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        let is_valid = link.is_some_and(|link| link.is(token));
        if is_valid {
            *link = None;
        }
        is_valid
    }

    /// Signs a browser in. Returns its cookie.
    pub(crate) fn sign_in(&self, viewer: Option<Viewer>) -> std::io::Result<String> {
        let text = random_text()?;
        let mut browsers = self.browsers();
        if browsers.len() >= MAX_SIGNED_IN
            && let Some(oldest) = (0..browsers.len()).min_by_key(|index| browsers[*index].used)
        {
            browsers.remove(oldest);
        }
        browsers.push(SignedIn { cookie: Secret::new(&text), viewer, used: Instant::now() });
        Ok(text)
    }

    /// Who a cookie belongs to.
    pub(crate) fn signed_in(&self, cookie: &str) -> Option<Option<Viewer>> {
        let mut browsers = self.browsers();
        browsers.retain(|browser| browser.used.elapsed() < IDLE);
        let browser = browsers.iter_mut().find(|browser| browser.cookie.is(cookie))?;
        browser.used = Instant::now();
        Some(browser.viewer.clone())
    }

    pub(crate) fn sign_out(&self, cookie: &str) {
        self.browsers().retain(|browser| !browser.cookie.is(cookie));
    }

    /// A poisoned lock is fine: an entry is added or removed by a single call.
    fn browsers(&self) -> MutexGuard<'_, Vec<SignedIn>> {
        self.browsers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_works_once_and_a_wrong_token_does_not_use_it_up() {
        let sign_ins = SignIns::new(Some("sesame"));
        assert!(!sign_ins.use_link("sesam") && !sign_ins.use_link(""));
        assert!(sign_ins.use_link("sesame"));
        assert!(!sign_ins.use_link("sesame"));
        assert!(!SignIns::new(None).use_link(""));
    }

    #[test]
    fn of_too_many_browsers_the_oldest_is_signed_out() {
        let sign_ins = SignIns::new(None);
        let first = sign_ins.sign_in(None).expect("random numbers");
        let others: Vec<String> =
            (0..MAX_SIGNED_IN).map(|_| sign_ins.sign_in(None).expect("random numbers")).collect();
        assert!(sign_ins.signed_in(&first).is_none());
        assert!(others.iter().all(|cookie| sign_ins.signed_in(cookie).is_some()));
        sign_ins.sign_out(&others[0]);
        assert!(sign_ins.signed_in(&others[0]).is_none());
    }
}
