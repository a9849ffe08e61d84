//! Holding on to a release while work on it goes on: what keeps an operation alive in the eyes of others, and what can
//! end it from outside.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pintle_release::{Claim, Moment, StoreError};

use crate::records::Records;
use crate::{Error, Result, Session};

/// The hold of an operation on a release.
pub(super) struct Tenure<'a> {
    session: &'a Session,
    records: &'a Records<'a>,
    number: u64,
    /// None leaves the release open to others.
    claim: Option<Claim>,
    renewed: Mutex<Moment>,
    is_lost: AtomicBool,
}

impl<'a> Tenure<'a> {
    /// A hold that begins now.
    pub(super) fn new(session: &'a Session, records: &'a Records<'a>, number: u64) -> Tenure<'a> {
        let claim = session.claim();
        let renewed = Mutex::new(claim.renewed);
        Tenure { session, records, number, claim: Some(claim), renewed, is_lost: AtomicBool::new(false) }
    }

    /// No hold at all.
    pub(super) fn none(session: &'a Session, records: &'a Records<'a>, number: u64) -> Tenure<'a> {
        Tenure { claim: None, ..Tenure::new(session, records, number) }
    }

    /// The claim to record with whatever is recorded now.
    pub(super) fn claim(&self) -> Option<Claim> {
        self.claim.as_ref().map(|claim| claim.renewed_at(self.session.clock.now()))
    }

    /// Notes that a claim has been recorded.
    pub(super) fn note(&self, claim: Option<&Claim>) {
        if let Some(claim) = claim {
            *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = claim.renewed;
        }
    }

    /// Makes sure that the release is still ours. Until the lease has run out nobody takes it; a program that was
    /// suspended for longer must ask.
    pub(super) async fn check(&self) -> Result<()> {
        let Some(claim) = &self.claim else { return Ok(()) };
        let renewed = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_lost = self.is_lost.load(Ordering::Relaxed);
        if is_lost || claim.renewed_at(renewed).is_stale(self.session.clock.now()) {
            return self.renew().await;
        }
        Ok(())
    }

    async fn renew(&self) -> Result<()> {
        let Some(claim) = self.claim() else { return Ok(()) };
        match self.records.renew(self.number, &claim).await {
            Ok(()) => self.note(Some(&claim)),
            Err(error @ Error::Store(StoreError::Backend { .. })) => return Err(error),
            Err(error) => {
                self.is_lost.store(true, Ordering::Relaxed);
                return Err(Error::TakenOver { source: Box::new(error) });
            }
        }
        Ok(())
    }

    /// Renews the claim, and returns once the operation must stop.
    pub(super) async fn until_stopped(&self) -> Error {
        tokio::select! {
            () = self.session.cancel.cancelled() => Error::Cancelled,
            error = self.keep() => error,
        }
    }

    /// Renews the claim, and returns once someone else has taken the release over.
    pub(super) async fn keep(&self) -> Error {
        if self.claim.is_none() {
            return std::future::pending().await;
        }
        let pause = (self.session.lease / 3).max(Duration::from_millis(100));
        loop {
            tokio::time::sleep(pause).await;
            // A claim that cannot be renewed for a while is still ours until the lease runs out.
            if let Err(error @ Error::TakenOver { .. }) = self.renew().await {
                return error;
            }
        }
    }
}
