//! Busy polling: a connection's thread stays awake for a moment when its client is likely to send the next command at once.
//!
//! A client that works through a transaction answers within some 20 microseconds, about the time that putting a thread to sleep and waking it
//! takes (a virtual machine leaves and enters its processor for it). So the thread looks at the socket for [`LIMIT`] before it sleeps:
//! one client alone does a third more transactions a second (docs/benchmarks.md). It is a bet with somebody else's processor, hence
//!
//! # What must hold
//! B1. A thread polls only while the connections that are awake, itself among them, are at most half the processors: what has work never
//!     waits for one that has none. Others that wake end the poll.
//! B2. A client that does not come in time is believed: after [`MISSES`] polls in vain each further one makes twice as many waits sleep at
//!     once, up to [`SKIP_MAX`].

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use env::net::Stream;

/// How long a thread looks at the socket.
const LIMIT: Duration = Duration::from_micros(40);
/// Polls in vain, one after the other, that change nothing yet.
const MISSES: u32 = 4;
/// Waits without a poll after many in vain.
const SKIP_MAX: u32 = 1 << 10;

/// The threads of connections that do something: those that execute, wait for a lock or a sync, or poll.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Awake {
    threads: AtomicUsize,
    /// At most so many when one of them polls.
    polling_max: usize,
}

impl Awake {
    pub(crate) fn new(processors: usize) -> Self {
        Self { threads: AtomicUsize::new(0), polling_max: processors / 2 }
    }
    /// A thread begins to serve a connection; it is awake until the answer is dropped.
    pub(crate) fn enter(&self) -> Turn<'_> {
        self.threads.fetch_add(1, Ordering::Relaxed);
        Turn { awake: self, bets: Bets::default() }
    }
    /// A wait for something that is seldom: an awake thread is asleep until `wait` returns.
    pub(crate) fn asleep<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.threads.fetch_sub(1, Ordering::Relaxed);
        let result = wait();
        self.threads.fetch_add(1, Ordering::Relaxed);
        result
    }
    fn may_poll(&self) -> bool {
        self.threads.load(Ordering::Relaxed) <= self.polling_max
    }
}

/// One awake thread.
pub(crate) struct Turn<'a> {
    awake: &'a Awake,
    bets: Bets,
}

impl Turn<'_> {
    /// Waits for the client by `read`, which sleeps; before that, looks at `socket` for a moment if that may pay.
    pub(crate) fn wait<T>(&mut self, socket: Option<&Stream>, read: impl FnOnce() -> T) -> T {
        if let Some(socket) = socket
            && self.awake.may_poll()
            && self.bets.worth_it()
        {
            self.bets.won(socket.readable_soon(LIMIT, || self.awake.may_poll()));
        }
        self.awake.asleep(read)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.awake.threads.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What this client has taught (B2).
#[derive(Debug, Default)]
struct Bets {
    misses: u32,
    skip: u32,
}

impl Bets {
    /// Asked before each wait.
    fn worth_it(&mut self) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        true
    }
    /// How a poll ended.
    fn won(&mut self, won: bool) {
        self.misses = if won { 0 } else { self.misses.saturating_add(1) };
        self.skip = match self.misses.checked_sub(MISSES) {
            Some(more) => 1u32.checked_shl(more).map_or(SKIP_MAX, |n| n.min(SKIP_MAX)),
            None => 0,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::net::{Listener, Stream};
    use std::net::{IpAddr, Ipv4Addr};

    #[test]
    fn a_client_that_never_comes_at_once_is_soon_waited_for_asleep() {
        let mut bets = Bets::default();
        let mut polls = 0;
        for _ in 0..10_000 {
            if bets.worth_it() {
                polls += 1;
                bets.won(false);
            }
        }
        assert!((10..=30).contains(&polls), "{polls}");
        while !bets.worth_it() {}
        bets.won(true);
        assert!(bets.worth_it(), "one that comes is believed again");
    }

    #[test]
    fn only_the_first_of_two_polls_on_two_processors() {
        let listener = Listener::tcp(IpAddr::V4(Ipv4Addr::LOCALHOST), 0).unwrap();
        let address = (IpAddr::V4(Ipv4Addr::LOCALHOST), listener.port().unwrap()).into();
        let client = Stream::connect_tcp(address, Duration::from_secs(5)).unwrap();
        let (server, _) = listener.accept_within(Duration::from_secs(5)).unwrap().unwrap();
        let awake = Awake::new(2);
        let mut first = awake.enter();
        assert!(awake.may_poll());
        first.wait(Some(&server), || assert_eq!(awake.threads.load(Ordering::Relaxed), 0, "asleep"));
        assert_eq!(first.bets.misses, 1);
        std::io::Write::write_all(&mut &client, b"x").unwrap();
        assert!(server.readable_within(Duration::from_secs(5)).unwrap());
        first.wait(Some(&server), || ());
        assert_eq!(first.bets.misses, 0, "what is there is seen");
        let second = awake.enter();
        assert!(!awake.may_poll());
        first.wait(None, || assert!(awake.may_poll(), "one alone"));
        drop((first, second));
        assert_eq!(awake.threads.load(Ordering::Relaxed), 0);
        assert!(!Awake::new(1).enter().awake.may_poll(), "one processor is never given to a poll");
    }
}
