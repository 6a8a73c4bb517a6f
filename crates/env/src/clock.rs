//! Monotonic and wall time, real and set by hand.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// Time since an arbitrary start; never goes back.
    fn monotonic(&self) -> Duration;
    /// Time since 1970-01-01 00:00:00 UTC; may jump.
    fn wall(&self) -> Duration;
    /// Returns after `time` has passed on this clock.
    fn sleep(&self, time: Duration);
}

/// The operating system's clocks.
#[derive(Debug)]
pub struct RealClock {
    start: Instant,
}

impl RealClock {
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for RealClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for RealClock {
    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }
    fn wall(&self) -> Duration {
        // A clock before 1970 is a broken clock; zero is as good an answer as any.
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }
    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// Real time since a moment, beside waits for other threads that real time ends, too.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    pub fn start() -> Self {
        Self(Instant::now())
    }
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A clock that moves only when told to; `sleep` moves it.
#[derive(Debug)]
pub struct ManualClock {
    monotonic_us: AtomicU64,
    wall_us: AtomicU64,
}

impl ManualClock {
    /// Starts at monotonic zero and the given wall time.
    pub fn new(wall: Duration) -> Self {
        Self { monotonic_us: AtomicU64::new(0), wall_us: AtomicU64::new(micros(wall)) }
    }
    /// Moves both clocks forward.
    pub fn advance(&self, by: Duration) {
        self.monotonic_us.fetch_add(micros(by), Ordering::Relaxed);
        self.wall_us.fetch_add(micros(by), Ordering::Relaxed);
    }
    /// Sets the wall clock alone, as an administrator or NTP does.
    pub fn set_wall(&self, to: Duration) {
        self.wall_us.store(micros(to), Ordering::Relaxed);
    }
}

fn micros(time: Duration) -> u64 {
    time.as_micros() as u64
}

impl Clock for ManualClock {
    fn monotonic(&self) -> Duration {
        Duration::from_micros(self.monotonic_us.load(Ordering::Relaxed))
    }
    fn wall(&self) -> Duration {
        Duration::from_micros(self.wall_us.load(Ordering::Relaxed))
    }
    fn sleep(&self, time: Duration) {
        self.advance(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_told() {
        let clock = ManualClock::new(Duration::from_secs(1000));
        assert_eq!(clock.monotonic(), Duration::ZERO);
        clock.sleep(Duration::from_millis(250));
        assert_eq!(clock.monotonic(), Duration::from_millis(250));
        assert_eq!(clock.wall(), Duration::from_millis(1_000_250));
        clock.set_wall(Duration::from_secs(5));
        assert_eq!(clock.wall(), Duration::from_secs(5));
        assert_eq!(clock.monotonic(), Duration::from_millis(250));
    }

    #[test]
    fn the_real_clock_does_not_go_back() {
        let clock = RealClock::new();
        let first = clock.monotonic();
        assert!(clock.monotonic() >= first);
        assert!(clock.wall() > Duration::from_secs(1_600_000_000));
    }
}
