//! Hit ratios of page replacement policies on synthetic traces: `cargo run --release -p storage --example replacement`.
//! The results are discussed in docs/design/replacement.md.
//!
//! A visit touches the root, one inner page and one leaf (1 to 4 touches, as several rows of a page are read); time is counted
//! in visits. Scans go over pages of their own, 9 touches each. Only leaf visits of the OLTP part count for the hit ratio.

use env::Random;

const LEAVES: u32 = 60_000;
const FANOUT: u32 = 400;
const INNER: u32 = LEAVES / FANOUT + 2;
const SCANNED: u32 = 200_000;
const PAGES: usize = (LEAVES + INNER + SCANNED) as usize;
const VISITS: u64 = 600_000;
const NIL: u32 = u32::MAX;

/// Doubly linked lists over page numbers.
struct Links {
    previous: Vec<u32>,
    next: Vec<u32>,
}

#[derive(Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
    len: usize,
}

const EMPTY: List = List { head: NIL, tail: NIL, len: 0 };

impl Links {
    fn new() -> Self {
        Self { previous: vec![NIL; PAGES], next: vec![NIL; PAGES] }
    }

    /// Puts `page` before `next`, at the end when that is `NIL`.
    fn insert(&mut self, list: &mut List, page: u32, next: u32) {
        let previous = if next == NIL { list.tail } else { self.previous[next as usize] };
        self.previous[page as usize] = previous;
        self.next[page as usize] = next;
        if previous == NIL {
            list.head = page
        } else {
            self.next[previous as usize] = page
        }
        if next == NIL {
            list.tail = page
        } else {
            self.previous[next as usize] = page
        }
        list.len += 1;
    }

    fn remove(&mut self, list: &mut List, page: u32) {
        let (previous, next) = (self.previous[page as usize], self.next[page as usize]);
        if previous == NIL {
            list.head = next
        } else {
            self.next[previous as usize] = next
        }
        if next == NIL {
            list.tail = previous
        } else {
            self.previous[next as usize] = previous
        }
        list.len -= 1;
    }
}

/// What every policy knows about a page.
#[derive(Clone, Copy, Default)]
struct Page {
    resident: bool,
    /// Old part, or the small queue.
    old: bool,
    stamp: u64,
    loaded: u64,
    /// PROMOTE, or the counter.
    uses: u8,
}

/// Pages that were evicted lately, oldest forgotten first.
struct Ghost {
    order: std::collections::VecDeque<(u32, u64)>,
    /// Number of the eviction that put the page here; 0 = not here.
    entry: Vec<u64>,
    evictions: u64,
    max: usize,
}

impl Ghost {
    fn new(max: usize) -> Self {
        Self { order: Default::default(), entry: vec![0; PAGES], evictions: 0, max }
    }

    fn add(&mut self, page: u32) {
        self.evictions += 1;
        self.entry[page as usize] = self.evictions;
        self.order.push_back((page, self.evictions));
        while self.order.len() > self.max {
            let Some((page, eviction)) = self.order.pop_front() else { return };
            if self.entry[page as usize] == eviction {
                self.entry[page as usize] = 0;
            }
        }
    }

    /// Whether the page was here; it is not any more.
    fn take(&mut self, page: u32) -> bool {
        std::mem::take(&mut self.entry[page as usize]) != 0
    }
}

/// How long a page must have been known before a touch counts.
struct Gate {
    time: u64,
    /// Never more than half of what pages live on probation (a moving average).
    adaptive: bool,
    residence: f64,
}

impl Gate {
    fn new(time: u64, adaptive: bool) -> Self {
        Self { time, adaptive, residence: f64::INFINITY }
    }
    fn get(&self) -> u64 {
        if self.adaptive { self.time.min((self.residence / 2.0) as u64) } else { self.time }
    }
    fn evicted_after(&mut self, time: u64) {
        self.residence = if self.residence.is_finite() {
            self.residence * 0.999 + time as f64 * 0.001
        } else {
            time as f64
        };
    }
}

trait Policy {
    /// Touches a page; whether it was in memory.
    fn touch(&mut self, page: u32, now: u64) -> bool;
}

/// The midpoint list: plain LRU without an old part, exact midpoint insertion, or lazy promotion.
struct Midpoint {
    pages: Vec<Page>,
    links: Links,
    list: List,
    old: u32,
    old_len: usize,
    frames: usize,
    old_share: f64,
    lazy: bool,
    gate: Gate,
    ghost: Ghost,
}

impl Midpoint {
    fn new(frames: usize, old_share: f64, lazy: bool, gate: Gate, ghost: usize) -> Self {
        let pages = vec![Page::default(); PAGES];
        let links = Links::new();
        Self {
            pages,
            links,
            list: EMPTY,
            old: NIL,
            old_len: 0,
            frames,
            old_share,
            lazy,
            gate,
            ghost: Ghost::new(ghost),
        }
    }

    fn unlink(&mut self, page: u32) {
        if self.old == page {
            self.old = self.links.next[page as usize];
        }
        self.old_len -= usize::from(self.pages[page as usize].old);
        self.links.remove(&mut self.list, page);
    }

    fn insert_head(&mut self, page: u32, now: u64) {
        let state = &mut self.pages[page as usize];
        (state.old, state.uses, state.stamp) = (false, 0, now);
        let head = self.list.head;
        self.links.insert(&mut self.list, page, head);
        self.adjust();
    }

    fn adjust(&mut self) {
        let target = (self.list.len as f64 * self.old_share) as usize;
        while self.old_len < target {
            self.old = if self.old == NIL { self.list.tail } else { self.links.previous[self.old as usize] };
            self.pages[self.old as usize].old = true;
            self.old_len += 1;
        }
        while self.old_len > target {
            self.pages[self.old as usize].old = false;
            self.old = self.links.next[self.old as usize];
            self.old_len -= 1;
        }
    }

    fn evict(&mut self, now: u64) {
        loop {
            let victim = self.list.tail;
            self.unlink(victim);
            let state = &mut self.pages[victim as usize];
            if self.lazy && state.uses > 0 {
                self.insert_head(victim, now);
                continue;
            }
            state.resident = false;
            let lived = now - state.stamp;
            if state.old {
                self.gate.evicted_after(lived);
            }
            self.adjust();
            return self.ghost.add(victim);
        }
    }
}

impl Policy for Midpoint {
    fn touch(&mut self, page: u32, now: u64) -> bool {
        let state = &mut self.pages[page as usize];
        if state.resident {
            if self.old_share == 0.0 || (now - state.stamp > self.gate.get() && (self.lazy || state.old)) {
                if self.lazy {
                    state.uses = 1;
                } else {
                    self.unlink(page);
                    self.insert_head(page, now);
                }
            }
            return true;
        }
        if self.list.len >= self.frames {
            self.evict(now);
        }
        self.pages[page as usize] = Page { resident: true, stamp: now, loaded: now, ..Page::default() };
        if self.ghost.take(page) || self.old == NIL {
            self.insert_head(page, now);
        } else {
            let second = self.links.next[self.old as usize];
            self.links.insert(&mut self.list, page, second);
            self.pages[page as usize].old = true;
            self.old_len += 1;
            self.adjust();
        }
        false
    }
}

/// S3-FIFO: a small queue on probation, a main queue with a counter, a ghost list; touches count only through the gate.
struct S3Fifo {
    pages: Vec<Page>,
    links: Links,
    small: List,
    main: List,
    frames: usize,
    small_max: usize,
    gate: Gate,
    ghost: Ghost,
}

impl S3Fifo {
    fn new(frames: usize, small_share: f64, gate: Gate, ghost: usize) -> Self {
        let small_max = (frames as f64 * small_share) as usize;
        let pages = vec![Page::default(); PAGES];
        Self {
            pages,
            links: Links::new(),
            small: EMPTY,
            main: EMPTY,
            frames,
            small_max,
            gate,
            ghost: Ghost::new(ghost),
        }
    }

    fn evict(&mut self, now: u64) {
        loop {
            if self.small.len > self.small_max || self.main.len == 0 {
                let page = self.small.tail;
                self.links.remove(&mut self.small, page);
                let state = &mut self.pages[page as usize];
                if state.uses > 0 {
                    (state.old, state.uses, state.stamp) = (false, 0, now);
                    let head = self.main.head;
                    self.links.insert(&mut self.main, page, head);
                    continue;
                }
                self.gate.evicted_after(now - state.loaded);
                state.resident = false;
                return self.ghost.add(page);
            }
            let page = self.main.tail;
            self.links.remove(&mut self.main, page);
            let state = &mut self.pages[page as usize];
            if state.uses > 0 {
                state.uses -= 1;
                let head = self.main.head;
                self.links.insert(&mut self.main, page, head);
                continue;
            }
            state.resident = false;
            return;
        }
    }
}

impl Policy for S3Fifo {
    fn touch(&mut self, page: u32, now: u64) -> bool {
        let gate = self.gate.get();
        let state = &mut self.pages[page as usize];
        if state.resident {
            let gate = if state.old { gate } else { gate / 8 };
            if state.uses < 3 && now - state.stamp > gate {
                state.uses += 1;
                state.stamp = now;
            }
            return true;
        }
        if self.small.len + self.main.len >= self.frames {
            self.evict(now);
        }
        let known = self.ghost.take(page);
        self.pages[page as usize] = Page { resident: true, old: !known, stamp: now, loaded: now, uses: 0 };
        let queue = if known { &mut self.main } else { &mut self.small };
        let head = queue.head;
        self.links.insert(queue, page, head);
        false
    }
}

/// What the visits look like.
#[derive(Clone, Copy)]
struct Trace {
    name: &'static str,
    skew: f64,
    scans: bool,
    drift: bool,
}

const TRACES: [Trace; 6] = [
    Trace { name: "zipf 0.8", skew: 0.8, scans: false, drift: false },
    Trace { name: "zipf 1.0", skew: 1.0, scans: false, drift: false },
    Trace { name: "0.9 + scans", skew: 0.9, scans: true, drift: false },
    Trace { name: "0.9 + drift", skew: 0.9, scans: false, drift: true },
    Trace { name: "scans + drift", skew: 0.9, scans: true, drift: true },
    Trace { name: "zipf 0.3", skew: 0.3, scans: false, drift: false },
];

/// Hit ratio of leaf visits in percent, the first third left out.
fn run(policy: &mut dyn Policy, trace: Trace) -> f64 {
    let mut random = Random::seeded(42);
    let mut cumulative: Vec<f64> = (1..=LEAVES).map(|rank| f64::from(rank).powf(-trace.skew)).collect();
    for i in 1..cumulative.len() {
        cumulative[i] += cumulative[i - 1];
    }
    let total = cumulative[cumulative.len() - 1];
    let mut place: Vec<u32> = (0..LEAVES).collect();
    for i in (1..place.len()).rev() {
        place.swap(i, random.below(i as u64 + 1) as usize);
    }
    let (mut hits, mut counted, mut scan_at) = (0u32, 0u32, 0);
    for now in 0..VISITS {
        let drawn = random.unit() * total;
        let rank = cumulative.partition_point(|c| *c < drawn).min(place.len() - 1);
        if trace.drift && now % 20 == 0 {
            // A cold page becomes as hot as the one it takes the place of.
            let hot = (random.unit() * random.unit() * f64::from(LEAVES)) as usize;
            place.swap(hot, random.below(u64::from(LEAVES)) as usize);
        }
        let leaf = place[rank];
        policy.touch(LEAVES, now);
        policy.touch(LEAVES + 1 + leaf / FANOUT, now);
        let hit = policy.touch(leaf, now);
        for _ in 0..random.below(4) {
            policy.touch(leaf, now);
        }
        if now >= VISITS / 3 {
            counted += 1;
            hits += u32::from(hit);
        }
        // Half of the time a scan reads a page for every second visit.
        if trace.scans && now % 2 == 0 && now / 50_000 % 2 == 1 {
            for _ in 0..9 {
                policy.touch(LEAVES + INNER + scan_at, now);
            }
            scan_at = (scan_at + 1) % SCANNED;
        }
    }
    f64::from(hits) * 100.0 / f64::from(counted)
}

/// A policy by name, for a number of frames and a gate in visits.
type Make = fn(usize, u64) -> Box<dyn Policy>;

const POLICIES: [(&str, Make); 8] = [
    ("LRU", |n, _| Box::new(Midpoint::new(n, 0.0, false, Gate::new(0, false), 0))),
    ("midpoint, exact", |n, t| Box::new(Midpoint::new(n, 0.37, false, Gate::new(t, false), 0))),
    ("midpoint, lazy", |n, t| Box::new(Midpoint::new(n, 0.37, true, Gate::new(t, false), 0))),
    ("lazy, adaptive gate", |n, t| Box::new(Midpoint::new(n, 0.37, true, Gate::new(t, true), 0))),
    ("lazy, ghost", |n, t| Box::new(Midpoint::new(n, 0.37, true, Gate::new(t, false), n))),
    ("lazy, adaptive, ghost", |n, t| Box::new(Midpoint::new(n, 0.37, true, Gate::new(t, true), n))),
    ("S3-FIFO, gate", |n, t| Box::new(S3Fifo::new(n, 0.1, Gate::new(t, false), n))),
    ("S3-FIFO, adaptive gate", |n, t| Box::new(S3Fifo::new(n, 0.1, Gate::new(t, true), n))),
];

fn main() {
    for (frames, gate) in
        [(12_000, 5_000), (3_000, 5_000), (30_000, 5_000), (12_000, 50_000), (3_000, 200_000)]
    {
        println!("\n{frames} frames, gate {gate} visits");
        print!("{:24}", "");
        TRACES.iter().for_each(|trace| print!("{:>15}", trace.name));
        println!();
        for (name, make) in POLICIES {
            print!("{name:24}");
            for trace in TRACES {
                print!("{:15.1}", run(&mut *make(frames, gate), trace));
            }
            println!();
        }
    }
}
