//! Connections that wait for their client without a thread.
//!
//! A connection that has been silent for [`PARK_AFTER`] between two commands gives its thread back: what the thread knew of it lies in the
//! lot, and one watcher waits for all sockets there. The next command, the end of the stream, a kill (which ends the stream) or the end of
//! its patience takes the connection out of the lot and gives it a thread again.
//!
//! # Invariants
//! P1. A connection is with a thread, in the lot, or on its way between the two in one thread's hands; never in two places.
//! P2. It lies in the lot before its socket is watched, so an event always finds it.
//! P3. Nothing that came from the client is held back: it is parked only when a read has found nothing for that long.
//!
//! # Locking
//! The lot's mutex, held for one map operation.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use env::hangup::ReadyWatcher;

use crate::connection::{self, Connected};
use crate::server::{CONNECTION_STACK, Server};

/// Silence after which a connection gives its thread back.
pub(crate) const PARK_AFTER: Duration = Duration::from_secs(1);
/// How often patience is looked at.
const TICK: Duration = Duration::from_millis(200);

struct Parked {
    connected: Box<Connected>,
    /// On the server's clock, microseconds.
    until_us: u64,
}

pub(crate) struct ParkingLot {
    watcher: ReadyWatcher,
    parked: Mutex<HashMap<u64, Parked>>,
}

impl ParkingLot {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { watcher: ReadyWatcher::new()?, parked: Mutex::default() })
    }
    fn parked(&self) -> MutexGuard<'_, HashMap<u64, Parked>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn take(&self, id: u64) -> Option<Box<Connected>> {
        self.parked().remove(&id).map(|p| p.connected)
    }
    /// Those whose clients have been silent for too long.
    fn overdue(&self, now_us: u64) -> Vec<u64> {
        self.parked().iter().filter(|(_, p)| p.until_us <= now_us).map(|(id, _)| *id).collect()
    }
}

/// A connection's thread is about to end: the connection stays in the lot.
pub(crate) fn park(server: &Arc<Server>, mut connected: Box<Connected>) {
    connected.rest();
    let id = connected.entry.id;
    let until_us = server.now_us() + connected.patience().saturating_sub(PARK_AFTER).as_micros() as u64;
    let transport = Arc::clone(connected.transport());
    server.parking.parked().insert(id, Parked { connected, until_us });
    let watched = transport.socket().map(|socket| server.parking.watcher.add(socket, id));
    // A kill may have come before the socket was watched: its end of the stream is seen when the watch begins.
    if !matches!(watched, Some(Ok(())))
        && let Some(connected) = server.parking.take(id)
    {
        wake(server, connected);
    }
}

/// Gives a connection a thread.
fn wake(server: &Arc<Server>, connected: Box<Connected>) {
    let shared = Arc::clone(server);
    let slot = Arc::new(Mutex::new(Some(connected)));
    let theirs = Arc::clone(&slot);
    let body = move || {
        let taken = theirs.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(connected) = taken {
            run(&shared, connected);
        }
    };
    while env::thread::spawn("connection", CONNECTION_STACK, body.clone()).is_err() {
        // Threads are scarce; one of them will end.
        server.clock().sleep(Duration::from_millis(10));
        if server.is_stopping() {
            return;
        }
    }
}

/// The body of a thread that goes on with a connection.
pub(crate) fn run(server: &Arc<Server>, connected: Box<Connected>) {
    if let Some(idle) = connection::go_on(connected) {
        park(server, idle);
    }
}

/// Watches the lot until the server has stopped and nobody is left.
pub(crate) fn watch(server: &Arc<Server>) {
    let mut ready = Vec::new();
    while !server.is_stopping() || server.has_connections() {
        ready.clear();
        if server.parking.watcher.wait(TICK, &mut ready).is_err() {
            server.clock().sleep(TICK);
        }
        for id in &ready {
            if let Some(connected) = server.parking.take(*id) {
                wake(server, connected);
            }
        }
        for id in server.parking.overdue(server.now_us()) {
            if let Some(mut connected) = server.parking.take(id) {
                connected.lose_patience();
                wake(server, connected);
            }
        }
    }
}
