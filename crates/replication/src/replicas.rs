//! Who replicates from this server: registered replicas and running dumps.
//!
//! # Invariants
//! R1. Of one server id, 0 apart, only the newest dump goes on: the older one is told (error 4052) and ends.
//! R2. A dump's place never goes back, so what lies before the lowest place is needed by no connected replica.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Lsn;

/// COM_REGISTER_SLAVE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    pub server_id: u32,
    pub host: String,
    pub user: String,
    pub port: u16,
    pub connection: u64,
}

/// One running dump as others see it.
pub struct Dump {
    pub server_id: u32,
    pub connection: u64,
    /// Everything below has been sent or passed over.
    place: AtomicU64,
    replaced: AtomicBool,
    /// Ends the dump's wait.
    wake: Box<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for Dump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dump").field("server_id", &self.server_id).finish_non_exhaustive()
    }
}

impl Dump {
    /// The stream has come to `lsn`.
    pub fn advance(&self, lsn: Lsn) {
        self.place.fetch_max(lsn.0, Ordering::AcqRel);
    }
    pub fn place(&self) -> Lsn {
        Lsn(self.place.load(Ordering::Acquire))
    }
    /// A newer dump has come with the same server id.
    pub fn is_replaced(&self) -> bool {
        self.replaced.load(Ordering::Acquire)
    }
}

#[derive(Debug, Default)]
struct Inner {
    registered: BTreeMap<u32, Registered>,
    /// By connection.
    dumps: BTreeMap<u64, Arc<Dump>>,
    /// RESET MASTER runs: no dump may begin.
    closed: bool,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Replicas {
    inner: Mutex<Inner>,
}

/// RESET MASTER may not run, or a dump may not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InUse;

impl Replicas {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Every change is one operation on a map.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn register(&self, replica: Registered) {
        self.inner().registered.insert(replica.server_id, replica);
    }

    /// The connection has ended, or started over.
    pub fn forget(&self, connection: u64) {
        self.inner().registered.retain(|_, r| r.connection != connection);
    }

    /// Rows of SHOW SLAVE HOSTS, by server id.
    pub fn registered(&self) -> Vec<Registered> {
        self.inner().registered.values().cloned().collect()
    }

    /// A dump begins at `place`; R1. `wake` ends its waits.
    pub fn begin(
        &self,
        server_id: u32,
        connection: u64,
        place: Lsn,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> Result<Arc<Dump>, InUse> {
        let dump = Arc::new(Dump {
            server_id,
            connection,
            place: AtomicU64::new(place.0),
            replaced: AtomicBool::new(false),
            wake: Box::new(wake),
        });
        let mut inner = self.inner();
        if inner.closed {
            return Err(InUse);
        }
        let older: Vec<_> =
            inner.dumps.values().filter(|d| server_id != 0 && d.server_id == server_id).cloned().collect();
        inner.dumps.insert(connection, Arc::clone(&dump));
        drop(inner);
        for old in older {
            old.replaced.store(true, Ordering::Release);
            (old.wake)();
        }
        Ok(dump)
    }

    /// The dump of this connection has ended.
    pub fn end(&self, connection: u64) {
        self.inner().dumps.remove(&connection);
    }

    pub fn dumps(&self) -> Vec<Arc<Dump>> {
        self.inner().dumps.values().cloned().collect()
    }
    pub fn count(&self) -> usize {
        self.inner().dumps.len()
    }
    pub fn is_dump(&self, connection: u64) -> bool {
        self.inner().dumps.contains_key(&connection)
    }

    /// The lowest place of a running dump (R2).
    pub fn lowest_place(&self) -> Option<Lsn> {
        self.inner().dumps.values().map(|d| d.place()).min()
    }

    /// How many dumps have passed `lsn`.
    pub fn passed(&self, lsn: Lsn) -> usize {
        self.inner().dumps.values().filter(|d| d.place() >= lsn).count()
    }

    /// Runs `work` while no dump runs or may begin: RESET MASTER.
    pub fn without_dumps<T>(&self, work: impl FnOnce() -> T) -> Result<T, InUse> {
        {
            let mut inner = self.inner();
            if inner.closed || !inner.dumps.is_empty() {
                return Err(InUse);
            }
            inner.closed = true;
        }
        let result = work();
        self.inner().closed = false;
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(replicas: &Replicas, server_id: u32, connection: u64) -> Arc<Dump> {
        replicas.begin(server_id, connection, Lsn(5), || ()).unwrap()
    }

    #[test]
    fn the_newest_dump_of_a_server_id_goes_on() {
        let replicas = Replicas::default();
        let woken = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&woken);
        let first = replicas.begin(7, 1, Lsn(5), move || flag.store(true, Ordering::Relaxed)).unwrap();
        let other = begin(&replicas, 8, 2);
        let second = begin(&replicas, 7, 3);
        assert!(first.is_replaced() && woken.load(Ordering::Relaxed));
        assert!(!second.is_replaced() && !other.is_replaced());
        let tools = [begin(&replicas, 0, 4), begin(&replicas, 0, 5)];
        assert!(tools.iter().all(|d| !d.is_replaced()));
    }

    #[test]
    fn places_only_grow_and_the_lowest_is_known() {
        let replicas = Replicas::default();
        assert_eq!(replicas.lowest_place(), None);
        let (a, b) = (begin(&replicas, 1, 1), begin(&replicas, 2, 2));
        a.advance(Lsn(90));
        a.advance(Lsn(50));
        b.advance(Lsn(60));
        assert_eq!((replicas.lowest_place(), replicas.passed(Lsn(70))), (Some(Lsn(60)), 1));
        replicas.end(2);
        assert_eq!(replicas.lowest_place(), Some(Lsn(90)));
    }

    #[test]
    fn a_reset_keeps_dumps_out() {
        let replicas = Replicas::default();
        let refused = replicas.without_dumps(|| replicas.begin(1, 1, Lsn(1), || ()).map(|_| ()));
        assert_eq!(refused, Ok(Err(InUse)));
        let _dump = begin(&replicas, 1, 1);
        assert_eq!(replicas.without_dumps(|| ()), Err(InUse));
    }

    #[test]
    fn a_registration_lives_as_long_as_its_connection() {
        let replicas = Replicas::default();
        let replica =
            Registered { server_id: 77, host: "h".into(), user: String::new(), port: 4455, connection: 9 };
        replicas.register(replica.clone());
        replicas.register(Registered { port: 1, ..replica.clone() });
        assert_eq!(replicas.registered(), [Registered { port: 1, ..replica }]);
        replicas.forget(9);
        assert!(replicas.registered().is_empty());
    }
}
