//! Crashes at every disk call, below the transactions: whatever is lost, what comes back is the trees after a prefix of the
//! changes that holds every acknowledged one, and the next start finds the same.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use base::{IndexId, Lsn, PageNo, SpaceId, TrxId};
use env::{Clock, ManualClock, Random, SimDisk};
use log_format::record::{Record, SecIndex};
use page_format::{PageOp, SLOT_SIZE};

use crate::btree::{self, Seek, Tree, TreeKind};
use crate::checkpoint::{Checkpointer, Facts};
use crate::engine::ground::Ground;
use crate::engine::{EngineConfig, EngineError};
use crate::mtr::{Store, StoreError};
use crate::pool::{PoolConfig, PoolError};

const SPACE: SpaceId = SpaceId(1);
const INDEX: IndexId = IndexId(20);
const ROOT: PageNo = PageNo(1);

fn config() -> EngineConfig {
    let pool = PoolConfig { free_frame_timeout: Duration::from_millis(20), ..PoolConfig::with_frames(12) };
    EngineConfig {
        log_ring_size: 64 << 10,
        log_segment_size: 96 << 10,
        checkpoint_age: 256 << 10,
        pool,
        ..EngineConfig::with_frames(12)
    }
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(ManualClock::new(Duration::from_secs(1_800_000_000)))
}

/// A tree over pages, log and checkpoints, without transactions.
struct World {
    store: Store,
    tree: Tree,
    checkpointer: Checkpointer,
    /// Keeps the directory.
    _directory: Box<dyn Send + Sync>,
}

type Keys = BTreeSet<Vec<u8>>;

impl World {
    fn open(sim: &SimDisk) -> Result<Self, EngineError> {
        Self::open_with(sim, &config())
    }

    fn open_with(sim: &SimDisk, config: &EngineConfig) -> Result<Self, EngineError> {
        let ground = Ground::open(config, &sim.disk(), &clock())?;
        let store = Store::new(Arc::clone(&ground.pool), Arc::clone(&ground.log));
        store.set_reexecute(true);
        let checkpointer = Checkpointer::new(ground.log, ground.pool, ground.control);
        let tree = Tree::open(SPACE, ROOT, INDEX, TreeKind::Secondary);
        Ok(Self { store, tree, checkpointer, _directory: ground.directory })
    }

    /// Makes the tree's space; not yet durable.
    fn create(&self) -> Result<(), EngineError> {
        self.store.pool.create_space(SPACE)?;
        btree::create_space(&self.store, SPACE)?;
        let tree = Tree::create(&self.store, SPACE, INDEX, TreeKind::Secondary)?;
        assert_eq!(tree.root(), ROOT);
        Ok(())
    }

    fn insert(&self, key: &[u8]) -> Result<Lsn, EngineError> {
        let mut leaf = self.tree.make_room(&self.store, key, key.len() + 1 + SLOT_SIZE)?;
        assert!(!leaf.exact(), "the model knows that the key is not there");
        let trx = TrxId(7);
        let op = PageOp::InsertKey { slot: leaf.slot(), deleted: false, trx, key };
        let record = |part| Record::SecIndex(SecIndex { trx, previous: Lsn::NONE, index: INDEX, part, key });
        Ok(leaf.log(op, record)?.end)
    }

    fn remove(&self, key: &[u8]) -> Result<Lsn, EngineError> {
        let mut leaf = self.tree.write(&self.store, key)?;
        assert!(leaf.exact(), "the model knows that the key is there");
        let end = leaf.log_system(PageOp::Remove { slot: leaf.slot(), count: 1 })?.end;
        let sparse = leaf.is_sparse()?;
        drop(leaf);
        if sparse {
            self.tree.shrink(&self.store, key)?;
        }
        Ok(end)
    }

    /// The tree's keys; `None` when the space's creation was lost.
    fn keys(&self) -> Option<Keys> {
        let mut keys = Keys::new();
        let mut leaf = match self.tree.seek(&self.store, Seek::First) {
            Ok(leaf) => leaf,
            Err(StoreError::Pool(PoolError::NoSpace(_) | PoolError::Missing(_))) => return None,
            Err(e) => panic!("{e}"),
        };
        while leaf.is_valid() {
            keys.insert(leaf.key().unwrap().to_vec());
            leaf.move_next().unwrap();
        }
        drop(leaf);
        self.tree.check(&self.store).unwrap();
        Some(keys)
    }

    fn checkpoint(&self) -> Result<Lsn, EngineError> {
        let facts = || Facts {
            purge_position: self.store.log.reserved_lsn(),
            needed_log: Lsn::MAX,
            ..Facts::default()
        };
        self.checkpointer.take(&facts, false)
    }
}

/// What the workload did until the power went: states after each change, and how many of them were acknowledged.
#[derive(Default)]
struct History {
    states: Vec<Keys>,
    acknowledged: usize,
    created: bool,
    create_acknowledged: bool,
}

/// One run of a seeded workload; an error ends it.
fn work(world: &World, seed: u64, steps: usize, history: &mut History) -> Result<(), EngineError> {
    let mut random = Random::seeded(seed);
    if history.states.is_empty() {
        history.states.push(Keys::new());
        world.create()?;
        history.created = true;
    }
    for _ in 0..steps {
        let mut keys = history.states.last().cloned().unwrap_or_default();
        let end = if keys.is_empty() || random.below(10) < 7 {
            let mut key = random.next_u64().to_be_bytes().to_vec();
            key.resize(8 + random.below(2500) as usize, random.below(256) as u8);
            keys.insert(key.clone());
            // Pushed first: a change whose call fails may have happened.
            history.states.push(keys);
            world.insert(&key)?
        } else {
            let key = keys.iter().nth(random.below(keys.len() as u64) as usize).cloned().unwrap();
            keys.remove(&key);
            history.states.push(keys);
            world.remove(&key)?
        };
        if random.one_in(3) {
            world.store.log.wait_durable(end)?;
            history.acknowledged = history.states.len() - 1;
            history.create_acknowledged = true;
        }
        match random.below(24) {
            0 => drop(world.checkpoint()?),
            1 => world.store.pool.clean_once()?,
            2 => {
                world.store.pool.flush_to(world.store.log.durable_lsn())?;
                world.checkpoint()?;
            }
            3 => world.store.log.tick(),
            _ => {}
        }
    }
    Ok(())
}

/// The tree must stand at one of the states from the last acknowledged one on; returns which.
fn check(world: &World, history: &History, context: &str) -> usize {
    let Some(keys) = world.keys() else {
        assert!(!history.create_acknowledged, "{context}: an acknowledged space is gone");
        return 0;
    };
    let from = history.acknowledged;
    let found = history.states[from..].iter().position(|state| *state == keys);
    found.map(|at| from + at).unwrap_or_else(|| {
        let best = history.states.iter().position(|state| *state == keys);
        panic!("{context}: {} keys, acknowledged state {from}, found state {best:?}", keys.len())
    })
}

fn crash_at(seed: u64, call: u64, steps: usize) -> bool {
    let context = format!("seed {seed}, crash after call {call}");
    let sim = SimDisk::new(seed ^ call.wrapping_mul(0x9e37_79b9));
    sim.crash_after(call);
    let mut history = History::default();
    let finished = World::open(&sim).and_then(|world| work(&world, seed, steps, &mut history)).is_ok();
    sim.crash();
    // The second power cut comes in the middle of recovery; only then is the machine left alone.
    let mut random = Random::seeded(seed + call);
    sim.crash_after(sim.calls() + 1 + random.below(60));
    drop(World::open(&sim));
    sim.crash();
    let world = World::open(&sim).unwrap_or_else(|e| panic!("{context}: {e}"));
    let state = check(&world, &history, &context);
    let lost = !history.created || world.keys().is_none();
    if lost {
        return finished;
    }
    // Life goes on from what was found, and survives another crash.
    history.states.truncate(state + 1);
    history.acknowledged = state;
    work(&world, seed + 1, 5, &mut history).unwrap_or_else(|e| panic!("{context}, afterwards: {e}"));
    let synced = world.store.log.wait_durable(world.store.log.ready_lsn());
    synced.unwrap();
    history.acknowledged = history.states.len() - 1;
    drop(world);
    sim.crash();
    let world = World::open(&sim).unwrap_or_else(|e| panic!("{context}, again: {e}"));
    check(&world, &history, &context);
    finished
}

/// Calls that a whole run makes.
fn calls_of(seed: u64, steps: usize) -> u64 {
    let sim = SimDisk::new(seed);
    let mut history = History::default();
    let world = World::open(&sim).unwrap();
    work(&world, seed, steps, &mut history).unwrap();
    sim.calls()
}

#[test]
fn a_crash_at_any_call_leaves_a_prefix_with_all_that_was_acknowledged() {
    let rounds = std::env::var("MORSEDB_CRASH_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    for seed in 1..=rounds {
        let steps = 300;
        let calls = calls_of(seed, steps);
        let finished = (0..calls + 10).filter(|call| crash_at(seed, *call, steps)).count();
        assert!((1..100).contains(&finished), "the last few crashes come after the end: {finished}");
    }
}

#[test]
fn a_page_that_is_newer_than_the_log_stops_the_start() {
    let sim = SimDisk::new(3);
    let world = World::open(&sim).unwrap();
    world.create().unwrap();
    let end = world.insert(b"first").unwrap();
    world.store.log.wait_durable(end).unwrap();
    let last = world.insert(b"second").unwrap();
    world.store.pool.flush_all().unwrap();
    drop(world);
    // The last frame, which the page proves was durable, is damaged at rest; no later frame or checkpoint knows of it.
    let content = sim.content("log/000001.seg").unwrap();
    let record = (last.0 - 4096 - 4) as usize;
    assert!(content[record..record + 4] != [0; 4]);
    sim.flip_bit("log/000001.seg", record as u64 * 8);
    sim.kill();
    let before = sim.content("log/000001.seg");
    let Err(EngineError::Corrupt(found)) = World::open(&sim) else { panic!("must be refused") };
    assert_eq!(found.field, "page_lsn");
    assert_eq!(sim.content("log/000001.seg"), before, "the evidence is left alone");
    assert_eq!(sim.content("log/000002.seg"), None);
}

#[test]
fn a_log_of_several_windows_is_redone_over_pages_that_readers_load() {
    let config = EngineConfig { log_ring_size: 4 << 20, ..EngineConfig::with_frames(2048) };
    let sim = SimDisk::new(4);
    let world = World::open_with(&sim, &config).unwrap();
    world.create().unwrap();
    let mut random = Random::seeded(5);
    let mut keys = Keys::new();
    for i in 0..7000 {
        let mut key = random.next_u64().to_be_bytes().to_vec();
        key.resize(8 + random.below(2500) as usize, random.below(256) as u8);
        world.insert(&key).unwrap();
        keys.insert(key);
        if i == 3500 {
            // The file has pages that redo finds too old, and no checkpoint knows of them.
            world.store.pool.flush_all().unwrap();
        }
    }
    world.store.log.wait_durable(world.store.log.ready_lsn()).unwrap();
    drop(world);
    sim.crash();
    let world = World::open_with(&sim, &config).unwrap();
    assert_eq!(world.keys(), Some(keys));
    assert!(world.store.pool.counters().reads > 100, "most pages came from the file");
}
