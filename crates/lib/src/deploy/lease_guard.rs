//! Holding on to a release while executor on it goes on: what keeps an operation alive in the eyes of others, and what can
//! end it from outside.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pintle_release::{Lease, StoreError, Timestamp};

use crate::records::Records;
use crate::{Error, Result, Session};

/// The hold of an operation on a release.
pub(super) struct LeaseGuard<'a> {
    session: &'a Session,
    records: &'a Records<'a>,
    number: u64,
    /// None leaves the release open to others.
    lease: Option<Lease>,
    renewed: Mutex<Timestamp>,
    is_lost: AtomicBool,
}

impl<'a> LeaseGuard<'a> {
    /// A hold that begins now.
    pub(super) fn new(session: &'a Session, records: &'a Records<'a>, number: u64) -> LeaseGuard<'a> {
        let lease = session.lease();
        let renewed = Mutex::new(lease.renewed);
        LeaseGuard { session, records, number, lease: Some(lease), renewed, is_lost: AtomicBool::new(false) }
    }

    /// No hold at all.
    pub(super) fn disabled(session: &'a Session, records: &'a Records<'a>, number: u64) -> LeaseGuard<'a> {
        LeaseGuard { lease: None, ..LeaseGuard::new(session, records, number) }
    }

    /// The lease to record with whatever is recorded now.
    pub(super) fn lease(&self) -> Option<Lease> {
        self.lease.as_ref().map(|lease| lease.renewed_at(self.session.clock.now()))
    }

    /// Notes that a lease has been recorded.
    pub(super) fn record_renewal(&self, lease: Option<&Lease>) {
        if let Some(lease) = lease {
            *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = lease.renewed;
        }
    }

    /// Makes sure that the release is still ours. Until the lease has run out nobody takes it; a program that was
    /// suspended for longer must ask.
    pub(super) async fn check(&self) -> Result<()> {
        let Some(lease) = &self.lease else { return Ok(()) };
        let renewed = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_lost = self.is_lost.load(Ordering::Relaxed);
        if is_lost || lease.renewed_at(renewed).is_expired(self.session.clock.now()) {
            return self.renew().await;
        }
        Ok(())
    }

    async fn renew(&self) -> Result<()> {
        let Some(lease) = self.lease() else { return Ok(()) };
        match self.records.renew(self.number, &lease).await {
            Ok(()) => self.record_renewal(Some(&lease)),
            Err(error @ Error::Store(StoreError::Backend { .. })) => return Err(error),
            Err(error) => {
                self.is_lost.store(true, Ordering::Relaxed);
                return Err(Error::LeaseLost { source: Box::new(error) });
            }
        }
        Ok(())
    }

    /// Renews the lease, and returns once the operation must stop.
    pub(super) async fn until_stopped(&self) -> Error {
        tokio::select! {
            () = self.session.cancel.cancelled() => Error::Cancelled,
            error = self.keep_renewed() => error,
        }
    }

    /// Renews the lease, and returns once someone else has taken the release over.
    pub(super) async fn keep_renewed(&self) -> Error {
        if self.lease.is_none() {
            return std::future::pending().await;
        }
        let interval = (self.session.lease_duration / 3).max(Duration::from_millis(100));
        loop {
            tokio::time::sleep(interval).await;
            // A lease that cannot be renewed for a while is still ours until the lease runs out.
            if let Err(error @ Error::LeaseLost { .. }) = self.renew().await {
                return error;
            }
        }
    }
}
