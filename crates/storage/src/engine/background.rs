//! The engine's threads: the log's tick, checkpoints, the page cleaner, purge, and at start the rollback of losers.
//!
//! A thread that meets an error notes it and goes on; when the log has failed everything else fails by itself, and the server
//! sees it and stops (L7).

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use env::thread::{JoinHandle, SMALL_STACK};

use crate::Cleaner;
use crate::engine::{Engine, EngineError};
use crate::purge::Purge;
use crate::table::TableSource;

const TICK: Duration = Duration::from_secs(1);

/// Transactions that purge works through between two looks at whether it should stop.
const PURGE_BATCH: usize = 1000;
/// How long purge sleeps when it has nothing to do.
const PURGE_PAUSE: Duration = Duration::from_millis(50);

/// The running threads; dropping this ends them.
pub(super) struct Background {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    cleaner: Option<Cleaner>,
}

/// What the threads and their owner share.
#[derive(Default)]
struct Shared {
    stop: Mutex<bool>,
    stopping: Condvar,
    errors: Mutex<Vec<String>>,
}

impl Shared {
    /// Waits; true when the threads are to end.
    fn pause(&self, time: Duration) -> bool {
        let stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.stopping.wait_timeout_while(stop, time, |stop| !*stop);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn note(&self, error: String) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        // One error that comes back every second is told once.
        if errors.last() != Some(&error) && errors.len() < 100 {
            errors.push(error);
        }
    }
}

pub(super) fn start(engine: &Arc<Engine>, source: Arc<dyn TableSource>) -> Result<(), EngineError> {
    let unfinished = engine.unfinished.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some((losers, queue)) = unfinished else { panic!("an engine is started once") };
    let purge = Purge::new(Arc::clone(engine.kernel()), Arc::clone(&source), queue);
    *engine.purge.lock().unwrap_or_else(PoisonError::into_inner) = Some(purge);
    if !engine.config().background {
        return losers.roll_back(&*source);
    }
    let mut background = engine.background();
    let shared = Arc::new(Shared::default());
    let mut started = Background { shared: Arc::clone(&shared), threads: Vec::new(), cleaner: None };
    started.spawn("log-tick", engine, |engine, shared| {
        while !shared.pause(Duration::ZERO) {
            engine.log().wait_for_work(TICK);
            engine.log().tick();
        }
    })?;
    started.spawn("checkpoint", engine, |engine, shared| {
        while !shared.pause(TICK) {
            if let Err(e) = engine.checkpoint_if_due() {
                shared.note(format!("checkpoint: {e}"));
            }
        }
    })?;
    started.spawn("rollback", engine, move |_, shared| {
        if let Err(e) = losers.roll_back(&*source) {
            shared.note(format!("rollback of a transaction that the crash had left: {e}"));
        }
    })?;
    started.spawn("purge", engine, |engine, shared| {
        let mut pause = Duration::ZERO;
        while !shared.pause(pause) {
            pause = match engine.purge_some(PURGE_BATCH) {
                Ok(0) => PURGE_PAUSE,
                Ok(_) => Duration::ZERO,
                Err(e) => {
                    shared.note(format!("purge: {e}"));
                    TICK
                }
            };
        }
    })?;
    started.cleaner = Some(Cleaner::start(Arc::clone(engine.pool())).map_err(thread_error)?);
    *background = Some(started);
    Ok(())
}

fn thread_error(e: std::io::Error) -> EngineError {
    EngineError::Directory(format!("a background thread could not be started: {e}"))
}

impl Background {
    fn spawn(
        &mut self,
        name: &str,
        engine: &Arc<Engine>,
        body: impl FnOnce(&Engine, &Shared) + Send + 'static,
    ) -> Result<(), EngineError> {
        let (engine, shared) = (Arc::clone(engine), Arc::clone(&self.shared));
        let thread =
            env::thread::spawn(name, SMALL_STACK, move || body(&engine, &shared)).map_err(thread_error)?;
        self.threads.push(thread);
        Ok(())
    }

    pub(super) fn take_errors(&self) -> Vec<String> {
        let mut errors =
            std::mem::take(&mut *self.shared.errors.lock().unwrap_or_else(PoisonError::into_inner));
        errors.extend(self.cleaner.as_ref().and_then(Cleaner::take_error));
        errors
    }

    /// Tells the threads to end and waits for them; `wake` interrupts what they wait for elsewhere.
    pub(super) fn stop(mut self, wake: impl Fn()) {
        *self.shared.stop.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.stopping.notify_all();
        wake();
        for thread in self.threads.drain(..) {
            // A panic of the thread was reported where it happened.
            let _ = thread.join();
        }
    }
}
