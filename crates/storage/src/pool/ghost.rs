//! Pages that were evicted lately: a page that comes back while it is remembered has proved itself.
//!
//! Buckets of eight (fingerprint, number of the eviction). An entry counts while at most `capacity` evictions were noted
//! since; a full bucket forgets its oldest. Wrong answers are rare (32-bit fingerprints) and harmless.

use base::PageId;

const WAYS: usize = 8;

#[derive(Clone, Copy, Default)]
struct Entry {
    fingerprint: u32,
    /// 0 = empty.
    eviction: u32,
}

pub(super) struct Ghost {
    buckets: Box<[[Entry; WAYS]]>,
    capacity: u32,
    evictions: u32,
}

impl Ghost {
    pub(super) fn new(capacity: usize) -> Self {
        // Half full buckets rarely overflow.
        let buckets = (capacity / (WAYS / 2)).next_power_of_two().max(1);
        Self {
            buckets: vec![[Entry::default(); WAYS]; buckets].into(),
            capacity: capacity as u32,
            evictions: 0,
        }
    }

    fn place(&self, id: PageId) -> (usize, u32) {
        let mixed = (id.to_u64() ^ (id.to_u64() >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed as usize & (self.buckets.len() - 1), (mixed >> 32) as u32)
    }

    fn age(&self, entry: Entry) -> u32 {
        if entry.eviction == 0 { u32::MAX } else { self.evictions.wrapping_sub(entry.eviction) }
    }

    pub(super) fn add(&mut self, id: PageId) {
        self.evictions = self.evictions.wrapping_add(1).max(1);
        let (bucket, fingerprint) = self.place(id);
        let ways = &self.buckets[bucket];
        let same = ways.iter().position(|e| e.eviction != 0 && e.fingerprint == fingerprint);
        let way = same.or_else(|| (0..WAYS).max_by_key(|way| self.age(ways[*way]))).unwrap_or(0);
        self.buckets[bucket][way] = Entry { fingerprint, eviction: self.evictions };
    }

    /// Whether the page is remembered; it is not any more.
    pub(super) fn take(&mut self, id: PageId) -> bool {
        let (bucket, fingerprint) = self.place(id);
        for way in 0..WAYS {
            let entry = self.buckets[bucket][way];
            if entry.fingerprint == fingerprint && entry.eviction != 0 {
                self.buckets[bucket][way] = Entry::default();
                return self.age(entry) < self.capacity;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{PageNo, SpaceId};

    fn id(no: u32) -> PageId {
        PageId::new(SpaceId(9), PageNo(no))
    }

    #[test]
    fn the_last_evictions_are_remembered_once_and_older_ones_are_not() {
        let mut ghost = Ghost::new(1000);
        (0..5000).for_each(|no| ghost.add(id(no)));
        let remembered = (4000..5000).filter(|no| ghost.take(id(*no))).count();
        assert!(remembered > 950, "{remembered} of 1000");
        assert_eq!((4000..5000).filter(|no| ghost.take(id(*no))).count(), 0, "only once");
        assert_eq!((0..4000).filter(|no| ghost.take(id(*no))).count(), 0);
        ghost.add(id(7));
        ghost.add(id(7));
        assert!(ghost.take(id(7)) && !ghost.take(id(7)));
    }
}
