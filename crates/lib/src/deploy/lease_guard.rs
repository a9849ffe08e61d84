//! Holds the lease on a release during an operation: renews it, and stops the operation when it is lost or cancelled.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pintle_release::{Lease, StoreError, Timestamp};

use crate::records::Records;
use crate::{Error, Result, Session};

/// The lease of an operation on a release.
pub(super) struct LeaseGuard<'a> {
    session: &'a Session,
    records: &'a Records<'a>,
    number: u64,
    /// `None` for operations that do not lock the release.
    lease: Option<Lease>,
    renewed: Mutex<Timestamp>,
    is_lost: AtomicBool,
}

impl<'a> LeaseGuard<'a> {
    /// Returns a guard whose lease starts now. It is written with the first record.
    pub(super) fn new(session: &'a Session, records: &'a Records<'a>, number: u64) -> LeaseGuard<'a> {
        let lease = session.lease();
        let renewed = Mutex::new(lease.renewed);
        LeaseGuard { session, records, number, lease: Some(lease), renewed, is_lost: AtomicBool::new(false) }
    }

    /// Returns a guard that locks nothing.
    pub(super) fn disabled(session: &'a Session, records: &'a Records<'a>, number: u64) -> LeaseGuard<'a> {
        LeaseGuard { lease: None, ..LeaseGuard::new(session, records, number) }
    }

    /// Returns the lease to write with the next record, renewed to the current time.
    pub(super) fn lease(&self) -> Option<Lease> {
        self.lease.as_ref().map(|lease| lease.renewed_at(self.session.clock.now()))
    }

    /// Returns the lease that the record must have for this operation to write it.
    pub(super) fn held(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// Remembers that the lease is lost, and returns the error for it.
    pub(super) fn lost(&self, error: Error) -> Error {
        self.is_lost.store(true, Ordering::Relaxed);
        Error::LeaseLost { source: Box::new(error) }
    }

    /// Remembers that a lease was written.
    pub(super) fn record_renewal(&self, lease: Option<&Lease>) {
        if let Some(lease) = lease {
            *self.renewed.lock().unwrap_or_else(PoisonError::into_inner) = lease.renewed;
        }
    }

    /// Checks that the lease is still ours. Nobody takes over before it expires or the holder is considered dead, so the
    /// store is asked only if the process was suspended for longer than that. Records need no such check: the store tests
    /// the lease with each write.
    pub(super) async fn check(&self) -> Result<()> {
        let Some(lease) = &self.lease else { return Ok(()) };
        let renewed = *self.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_lost = self.is_lost.load(Ordering::Relaxed) || !(self.session.holder.is_current)();
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
            Err(error) => return Err(self.lost(error)),
        }
        Ok(())
    }

    /// Keeps the lease renewed until the operation is cancelled or loses it. Returns the reason.
    pub(super) async fn until_stopped(&self) -> Error {
        tokio::select! {
            () = self.session.cancel.cancelled() => Error::Cancelled,
            error = self.keep_renewed() => error,
        }
    }

    /// Keeps the lease renewed until another client has taken over.
    pub(super) async fn keep_renewed(&self) -> Error {
        if self.lease.is_none() {
            return std::future::pending().await;
        }
        // A third, so that a renewal that fails is repeated before the lease expires.
        let interval = (self.session.lease_duration / 3).max(Duration::from_millis(100));
        loop {
            tokio::time::sleep(interval).await;
            // A store that is unreachable for a while is no reason to stop: the lease is ours until it expires.
            if let Err(error @ Error::LeaseLost { .. }) = self.renew().await {
                return error;
            }
        }
    }
}
