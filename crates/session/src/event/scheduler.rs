//! The event scheduler: a thread that waits for the next event that is due and starts an execution of its own for each.
//!
//! It looks at the dictionary's version at every tick, so definitions need not tell it anything. An event is taken up anew when its
//! schedule changes; that an execution has written its time does not count.
//!
//! # Locking
//! `Scheduler::state` is held for moments; SET GLOBAL event_scheduler waits on it until the thread has followed.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use catalog::program::{EventDef, EventStatus};

use super::{schedule, worker};
use crate::error_log::Severity;
use crate::registry::{Doing, Entry, Kill};
use crate::server::Server;
use crate::transport::Nowhere;

/// How often it looks whether something is due.
const TICK: Duration = Duration::from_millis(100);
/// How long SET GLOBAL waits for the thread.
const FOLLOW: Duration = Duration::from_secs(5);

/// Whether events run, and whether the thread has heard of it.
#[derive(Debug, Default)]
pub(crate) struct Scheduler {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default, Clone, Copy)]
struct State {
    /// There is a thread that listens.
    served: bool,
    wanted: bool,
    running: bool,
}

impl Scheduler {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is an assignment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// SET GLOBAL event_scheduler: returns when the thread has followed.
    pub(crate) fn set(&self, on: bool) {
        let mut state = self.state();
        state.wanted = on;
        self.changed.notify_all();
        if state.served {
            let wait = self.changed.wait_timeout_while(state, FOLLOW, |s| s.served && s.running != s.wanted);
            drop(wait);
        }
    }

    fn wanted(&self) -> bool {
        self.state().wanted
    }

    fn tell(&self, served: bool, running: bool) {
        let mut state = self.state();
        (state.served, state.running) = (served, running);
        self.changed.notify_all();
    }

    fn wait(&self) {
        let state = self.state();
        if state.running == state.wanted {
            drop(self.changed.wait_timeout(state, TICK));
        }
    }
}

/// An event that waits.
struct Waiting {
    def: Arc<EventDef>,
    due: Option<i64>,
}

/// The thread: as long as the server runs.
pub(crate) fn serve(server: &Arc<Server>) {
    server.scheduler().tell(true, false);
    while !server.is_stopping() {
        if server.scheduler().wanted() {
            run(server);
        }
        server.scheduler().wait();
    }
    server.scheduler().tell(false, false);
}

/// Runs events until the scheduler is switched off.
fn run(server: &Arc<Server>) {
    let transport = Arc::new(Nowhere);
    let Ok(entry) = server.connections.admit(transport, "localhost", server.now_us(), u64::MAX) else {
        return;
    };
    entry.set_identity("event_scheduler", "localhost");
    entry.begin(Doing::Daemon, b"", server.now_us());
    let note = format!("Event Scheduler: scheduler thread started with id {}", entry.id);
    server.log(Severity::Note, entry.id, &note);
    server.scheduler().tell(true, true);
    let mut waiting = HashMap::new();
    let mut version = 0;
    while server.scheduler().wanted() && !server.is_stopping() && entry.killed() != Kill::Connection {
        let now = server.wall_us().div_euclid(1_000_000);
        let current = server.dictionary().version();
        if current != version {
            version = current;
            take_up(server, &mut waiting, now);
        }
        show_state(&entry, &waiting);
        start_due(server, &mut waiting, now);
        server.scheduler().wait();
    }
    server.connections.remove(&entry);
    server.log(Severity::Note, entry.id, "Event Scheduler: Stopped");
    if entry.killed() == Kill::Connection {
        server.set_global(crate::variables::Var::EVENT_SCHEDULER, crate::variables::Setting::UInt(0));
    }
    server.scheduler().tell(true, false);
}

fn show_state(entry: &Entry, waiting: &HashMap<Key, Waiting>) {
    let empty = waiting.values().all(|w| w.due.is_none());
    entry.set_state(if empty { "Waiting on empty queue" } else { "Waiting for next activation" });
}

type Key = (String, String);

/// Compares what is known with the dictionary.
fn take_up(server: &Server, waiting: &mut HashMap<Key, Waiting>, now: i64) {
    let catalog = server.catalog();
    let mut seen = HashMap::new();
    for def in catalog.databases.values().flat_map(|d| d.events.values()) {
        if def.status != EventStatus::Enabled {
            continue;
        }
        let key = (def.schema.clone(), def.name.to_lowercase());
        let known = waiting
            .remove(&key)
            .filter(|w| w.def.schedule == def.schedule && w.def.context.modified == def.context.modified);
        let due = known.map_or_else(|| schedule::next(def, now), |w| w.due);
        seen.insert(key, Waiting { def: Arc::clone(def), due });
    }
    *waiting = seen;
}

fn start_due(server: &Arc<Server>, waiting: &mut HashMap<Key, Waiting>, now: i64) {
    for event in waiting.values_mut() {
        if event.due.is_none_or(|due| due > now) {
            continue;
        }
        let executed = EventDef { last_executed: Some(now), ..EventDef::clone(&event.def) };
        event.due = schedule::next(&executed, now);
        worker::start(server, Arc::clone(&event.def), now, event.due.is_none());
    }
}
