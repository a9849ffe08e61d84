//! The client-side rate limit (`--qps`, `--burst-limit`), a token bucket as client-go's flow control.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

/// A token bucket that refills at a steady rate. Each request takes a token, and waits when there is none.
pub(crate) struct RateLimiter {
    /// Seconds per token.
    interval: f64,
    burst: f64,
    state: Mutex<Bucket>,
}

struct Bucket {
    tokens: f64,
    refilled: Option<Instant>,
}

impl RateLimiter {
    /// Allows `qps` requests per second, and `burst` at once.
    pub(crate) fn new(qps: f32, burst: u32) -> Self {
        let burst = f64::from(burst.max(1));
        RateLimiter {
            interval: 1.0 / f64::from(qps),
            burst,
            state: Mutex::new(Bucket { tokens: burst, refilled: None }),
        }
    }

    /// Waits for a token.
    pub(crate) async fn acquire(&self) {
        let wait = self.reserve(Instant::now());
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }

    /// Takes a token, possibly one that is not there yet, and returns how long to wait for it. So waiting callers are
    /// served in order.
    fn reserve(&self, now: Instant) -> Duration {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(refilled) = state.refilled {
            let passed = now.saturating_duration_since(refilled).as_secs_f64();
            state.tokens = (state.tokens + passed / self.interval).min(self.burst);
        }
        state.refilled = Some(now);
        state.tokens -= 1.0;
        let seconds = (-state.tokens * self.interval).max(0.0);
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_free_and_then_each_request_waits_its_turn() {
        let limiter = RateLimiter::new(10.0, 2);
        let now = Instant::now();
        assert_eq!([limiter.reserve(now), limiter.reserve(now)], [Duration::ZERO; 2]);
        assert_eq!(limiter.reserve(now).as_millis(), 100);
        assert_eq!(limiter.reserve(now).as_millis(), 200);
        let later = now + Duration::from_secs(60);
        assert_eq!([limiter.reserve(later), limiter.reserve(later)], [Duration::ZERO; 2]);
        assert_eq!(limiter.reserve(later).as_millis(), 100);
    }
}
