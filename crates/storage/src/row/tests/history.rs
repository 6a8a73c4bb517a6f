//! Histories of random transactions, checked for cycles, in the manner of Elle's list-append.
//!
//! Each row holds a list; a transaction appends unique numbers to some and reads others. A list shows the order of its appends,
//! so all dependencies between transactions follow from what was read: `ww` (appended right before), `wr` (read the append of),
//! `rw` (read the list without the next append). Which circles of dependencies may exist is what an isolation level says.

use super::*;
use crate::row::{Change, Modified};
use env::Random;
use std::collections::{HashMap, HashSet};

const THREADS: u64 = 8;
const TRANSACTIONS: usize = 250;
const KEYS: u64 = 6;

#[derive(Debug, Clone)]
enum Op {
    Append { key: i64, element: u32 },
    Read { key: i64, list: Vec<u32> },
}

#[derive(Debug)]
struct Record {
    ops: Vec<Op>,
    committed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Edge {
    Ww,
    Wr,
    Rw,
}

#[derive(Clone, Copy)]
struct Level {
    isolation: Isolation,
    snapshot_isolation: bool,
    reads: ReadMode,
}

struct Lists {
    world: World,
    table: Arc<Table>,
}

impl Lists {
    fn new() -> Self {
        let world = World::new();
        let table = world.table(1, vec![int(), varchar(3000)], 1, &[]);
        let lists = Self { world, table };
        let mut trx = lists.world.begin(Isolation::RepeatableRead);
        for key in 0..KEYS as i64 {
            trx.insert(&lists.table, &lists.body(key, &[])).unwrap();
        }
        lists.world.commit(trx);
        lists
    }
    fn body(&self, key: i64, list: &[u8]) -> Vec<u8> {
        body(&self.table, &[Value::Int(key), Value::str(list, Collation::BINARY)])
    }
    fn list(&self, row: &[u8]) -> Vec<u8> {
        RowView::new(&self.table.spec().layout, row).unwrap().column(1).unwrap().unwrap().to_vec()
    }
    fn append(&self, trx: &mut Trx, key: i64, element: u32) -> Result<(), RowError> {
        let mut decide = |old: &[u8], out: &mut Vec<u8>| {
            let mut list = self.list(old);
            list.extend_from_slice(&element.to_le_bytes());
            out.extend_from_slice(&self.body(key, &list));
            Change::Update
        };
        let bytes = key_of(&self.table, 0, &[Value::Int(key)]);
        let done = trx.modify(&self.table, &bytes, WaitMode::Wait, &mut decide)?;
        assert_eq!(done, Modified::Updated);
        Ok(())
    }
    fn read(&self, trx: &mut Trx, key: i64, mode: ReadMode) -> Result<Vec<u32>, RowError> {
        let mut row = RowBuf::new();
        let bytes = key_of(&self.table, 0, &[Value::Int(key)]);
        assert!(trx.get(&self.table, 0, &bytes, mode, &mut row)?);
        let list = self.list(&row.body);
        Ok(list.chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    }

    /// One random transaction; its record says what it did.
    fn transact(&self, level: Level, random: &mut Random, next: &mut u32) -> Record {
        let mut trx = self.world.begin_with(TrxOptions {
            isolation: level.isolation,
            snapshot_isolation: level.snapshot_isolation,
            lock_wait_timeout: Duration::from_secs(5),
            ..TrxOptions::default()
        });
        let mut ops = Vec::new();
        for _ in 0..1 + random.below(4) {
            trx.start_statement();
            let key = random.below(KEYS) as i64;
            let done = if random.one_in(2) {
                *next += 1;
                ops.push(Op::Append { key, element: *next });
                self.append(&mut trx, key, *next)
            } else {
                self.read(&mut trx, key, level.reads).map(|list| ops.push(Op::Read { key, list }))
            };
            if let Err(error) = done {
                assert!(error.ends_transaction(), "{error:?}");
                trx.rollback().unwrap();
                return Record { ops, committed: false };
            }
            std::thread::yield_now();
        }
        let committed = !random.one_in(10);
        if committed {
            self.world.commit(trx)
        } else {
            trx.rollback().unwrap()
        }
        Record { ops, committed }
    }

    fn run(&self, level: Level) -> Vec<Record> {
        let mut history: Vec<Record> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..THREADS)
                .map(|thread| {
                    scope.spawn(move || {
                        let mut random = Random::seeded(thread * 77 + 5);
                        let mut next = thread as u32 * 1_000_000;
                        let one = |_| self.transact(level, &mut random, &mut next);
                        (0..TRANSACTIONS).map(one).collect::<Vec<_>>()
                    })
                })
                .collect();
            workers.into_iter().flat_map(|w| w.join().unwrap()).collect()
        });
        // What is there in the end.
        let mut trx = self.world.begin(Isolation::RepeatableRead);
        let last = |key| Op::Read { key, list: self.read(&mut trx, key, ReadMode::Consistent).unwrap() };
        let ops = (0..KEYS as i64).map(last).collect();
        history.push(Record { ops, committed: true });
        history
    }
}

/// Dependencies of committed transactions, by position in the history.
struct Graph {
    edges: Vec<HashSet<(usize, Edge)>>,
}

impl Graph {
    /// Derives the dependencies; panics on what no level above READ UNCOMMITTED allows in a single list.
    fn of(history: &[Record]) -> Self {
        let mut writer = HashMap::new();
        let mut order: HashMap<i64, Vec<u32>> = HashMap::new();
        for (at, record) in history.iter().enumerate() {
            for op in &record.ops {
                match op {
                    Op::Append { element, .. } => _ = writer.insert(*element, at),
                    Op::Read { key, list } if record.committed => {
                        let longest = order.entry(*key).or_default();
                        if list.len() > longest.len() {
                            longest.clone_from(list);
                        }
                    }
                    Op::Read { .. } => {}
                }
            }
        }
        let mut graph = Self { edges: vec![HashSet::new(); history.len()] };
        for (key, longest) in &order {
            let distinct: HashSet<_> = longest.iter().collect();
            assert_eq!(distinct.len(), longest.len(), "key {key}: an append happened twice");
            for pair in longest.windows(2) {
                graph.add(writer[&pair[0]], writer[&pair[1]], Edge::Ww);
            }
            for element in longest {
                assert!(history[writer[element]].committed, "key {key}: {element} was rolled back");
            }
        }
        for (at, record) in history.iter().enumerate().filter(|(_, r)| r.committed) {
            graph.add_reads(at, record, &order, &writer);
        }
        for (at, record) in history.iter().enumerate().filter(|(_, r)| r.committed) {
            for op in &record.ops {
                if let Op::Append { key, element } = op {
                    assert!(order[key].contains(element), "transaction {at}: append {element} is lost");
                }
            }
        }
        graph
    }

    fn add_reads(
        &mut self,
        at: usize,
        record: &Record,
        order: &HashMap<i64, Vec<u32>>,
        writer: &HashMap<u32, usize>,
    ) {
        let mut own: HashMap<i64, Vec<u32>> = HashMap::new();
        for op in &record.ops {
            match op {
                Op::Append { key, element } => own.entry(*key).or_default().push(*element),
                Op::Read { key, list } => {
                    let mine = own.get(key).map_or(&[][..], |m| m);
                    assert!(list.ends_with(mine), "transaction {at} does not see its own appends");
                    assert!(order[key].starts_with(list), "key {key}: two orders of appends");
                    let others = &list[..list.len() - mine.len()];
                    if let Some(last) = others.last() {
                        // All of that transaction's appends to the key, not the first ones only.
                        let after = order[key].get(others.len()).map(|next| writer[next]);
                        let from = writer[last];
                        assert!(
                            after != Some(from) || from == at,
                            "transaction {at} has read half of {from}"
                        );
                        self.add(from, at, Edge::Wr);
                    }
                    if let Some(next) = order[key].get(list.len()) {
                        self.add(at, writer[next], Edge::Rw);
                    }
                }
            }
        }
    }

    fn add(&mut self, from: usize, to: usize, edge: Edge) {
        if from != to {
            self.edges[from].insert((to, edge));
        }
    }

    /// Is there a way from one transaction to another over edges that `allowed` takes?
    fn reaches(&self, from: usize, to: usize, allowed: impl Fn(Edge) -> bool) -> bool {
        let (mut seen, mut open) = (HashSet::from([from]), vec![from]);
        while let Some(at) = open.pop() {
            if at == to {
                return true;
            }
            let next = self.edges[at].iter().filter(|(_, e)| allowed(*e)).map(|(n, _)| *n);
            open.extend(next.filter(|n| seen.insert(*n)));
        }
        false
    }

    /// Edges of a kind that close a circle whose other edges `allowed` takes.
    fn circles(&self, closing: Edge, allowed: impl Fn(Edge) -> bool + Copy) -> usize {
        let all = self.edges.iter().enumerate();
        let of_kind = all.flat_map(|(from, to)| to.iter().map(move |(to, e)| (from, *to, *e)));
        of_kind.filter(|(from, to, e)| *e == closing && self.reaches(*to, *from, allowed)).count()
    }
}

const WRITES: fn(Edge) -> bool = |e| e == Edge::Ww;
const KNOWN: fn(Edge) -> bool = |e| e != Edge::Rw;
const ANY: fn(Edge) -> bool = |_| true;

fn check(isolation: Isolation, snapshot_isolation: bool, reads: ReadMode) -> Graph {
    let lists = Lists::new();
    let history = lists.run(Level { isolation, snapshot_isolation, reads });
    let committed = history.iter().filter(|r| r.committed).count();
    assert!(committed > history.len() / 20, "only {committed} transactions got through");
    let graph = Graph::of(&history);
    assert_eq!(graph.circles(Edge::Ww, WRITES), 0, "G0: a circle of writes");
    assert_eq!(graph.circles(Edge::Wr, KNOWN), 0, "G1c: a circle of information flow");
    graph
}

#[test]
fn read_committed_has_no_circles_of_what_is_known() {
    check(Isolation::ReadCommitted, true, ReadMode::Consistent);
}

#[test]
fn snapshot_isolation_has_no_circle_with_one_anti_dependency() {
    let graph = check(Isolation::RepeatableRead, true, ReadMode::Consistent);
    assert_eq!(graph.circles(Edge::Rw, KNOWN), 0, "G-single: read skew or a lost update");
}

#[test]
fn classic_repeatable_read_has_such_circles() {
    let graph = check(Isolation::RepeatableRead, false, ReadMode::Consistent);
    assert!(graph.circles(Edge::Rw, KNOWN) > 0, "2,000 transactions on six rows, and no lost update");
}

#[test]
fn locking_reads_are_serializable() {
    let graph = check(Isolation::Serializable, true, SHARED);
    assert_eq!(graph.circles(Edge::Rw, ANY), 0, "G2: a circle of any kind");
}

#[test]
fn the_checker_sees_a_lost_update_and_a_read_skew() {
    let append = |key, element| Op::Append { key, element };
    let read = |key, list: &[u32]| Op::Read { key, list: list.to_vec() };
    let committed = |ops| Record { ops, committed: true };
    let history = [
        committed(vec![read(1, &[]), append(1, 1)]),
        committed(vec![read(1, &[]), append(1, 2)]),
        committed(vec![read(1, &[1, 2])]),
    ];
    assert!(Graph::of(&history).circles(Edge::Rw, KNOWN) > 0);
    let history = [
        committed(vec![append(1, 1), append(2, 2)]),
        committed(vec![read(1, &[]), read(2, &[2])]),
        committed(vec![read(1, &[1]), read(2, &[2])]),
    ];
    assert!(Graph::of(&history).circles(Edge::Rw, KNOWN) > 0);
}
