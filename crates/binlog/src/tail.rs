//! The newest small groups with their events, made by the reader that comes first and shared by all that stand at the log's end.
//!
//! # Invariants
//! T1. Only groups whose commit records are durable are put here, by their number in the feed; numbers grow from front to back.
//! T2. Events are all that a group has, annotations included: who does not want them leaves them out.
//! T3. Memory: [`Tail::BYTES_MAX`], and what readers hold while they send one group each.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use event_format::EventKind;

use crate::api::{EmitOptions, EventSink, GroupHead, SinkClosed};
use crate::transaction::Chain;

/// One group, ready to be sent.
pub(crate) struct TailGroup {
    /// Its commit record in the feed.
    pub(crate) number: u64,
    pub(crate) head: GroupHead,
    pub(crate) chain: Chain,
    /// How the events were written.
    pub(crate) options: EmitOptions,
    pub(crate) events: Events,
}

/// A group's events.
#[derive(Default)]
pub(crate) struct Events {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl EventSink for Events {
    fn event(&mut self, bytes: &[u8], _: bool) -> Result<(), SinkClosed> {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
        Ok(())
    }
}

impl Events {
    pub(crate) fn replay(&self, annotate: bool, sink: &mut dyn EventSink) -> Result<(), SinkClosed> {
        let mut from = 0;
        for (i, end) in self.ends.iter().enumerate() {
            let event = &self.bytes[from..*end];
            from = *end;
            if annotate || event.get(4) != Some(&EventKind::ANNOTATE.0) {
                sink.event(event, i + 1 == self.ends.len())?;
            }
        }
        Ok(())
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct Tail(Mutex<TailGroups>);

#[derive(Default)]
struct TailGroups {
    /// By number.
    groups: VecDeque<(u64, Arc<TailGroup>)>,
    bytes: usize,
}

impl Tail {
    /// Larger groups are made by each reader itself.
    pub(crate) const GROUP_MAX: u64 = 256 << 10;
    const BYTES_MAX: usize = 4 << 20;

    fn groups(&self) -> std::sync::MutexGuard<'_, TailGroups> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, number: u64) -> Option<Arc<TailGroup>> {
        let all = self.groups();
        let at = all.place(number).ok()?;
        Some(Arc::clone(&all.groups[at].1))
    }

    /// Keeps the group, unless somebody was faster.
    pub(crate) fn put(&self, group: &Arc<TailGroup>) {
        let mut all = self.groups();
        let Err(at) = all.place(group.number) else { return };
        all.bytes += group.events.bytes.len();
        all.groups.insert(at, (group.number, Arc::clone(group)));
        while all.bytes > Self::BYTES_MAX {
            let Some((_, oldest)) = all.groups.pop_front() else { break };
            all.bytes -= oldest.events.bytes.len();
        }
    }
}

impl TailGroups {
    /// Where the group with this number is, or would be; most often they have no gaps.
    fn place(&self, number: u64) -> Result<usize, usize> {
        let first = self.groups.front().map_or(number, |(first, _)| *first);
        let guess = number.saturating_sub(first) as usize;
        match self.groups.get(guess) {
            Some((have, _)) if *have == number => Ok(guess),
            _ => self.groups.binary_search_by_key(&number, |(have, _)| *have),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Position;
    use crate::transaction::Phase;
    use base::{Gtid, Lsn, TrxId};

    fn group(number: u64, bytes: usize) -> Arc<TailGroup> {
        let place = Position { segment: 1, offset: number };
        let gtid = Gtid { domain_id: 0, server_id: 1, seq_no: number };
        let head = GroupHead {
            gtid,
            flags: 0,
            time: 0,
            thread_id: 0,
            commit_id: 0,
            position: place,
            end: place,
            span: 1,
        };
        let (trx, none) = (TrxId(1), Lsn::NONE);
        let chain = Chain { trx, last: none, extents: none, phase: Phase::Commit, decides: false };
        let events = Events { bytes: vec![0; bytes], ends: vec![bytes] };
        Arc::new(TailGroup { number, head, chain, options: EmitOptions::default(), events })
    }

    #[test]
    fn groups_are_found_by_number_whatever_the_gaps_and_the_oldest_go() {
        let tail = Tail::default();
        assert!(tail.get(0).is_none());
        for number in [7, 8, 11, 9, 20] {
            tail.put(&group(number, 100));
        }
        let has = |numbers: std::ops::Range<u64>| -> Vec<u64> {
            numbers.filter(|n| tail.get(*n).is_some_and(|group| group.number == *n)).collect()
        };
        assert_eq!(has(0..30), [7, 8, 9, 11, 20]);
        tail.put(&group(8, 50));
        assert_eq!(tail.get(8).map(|group| group.events.bytes.len()), Some(100), "the first one stays");
        tail.put(&group(21, Tail::BYTES_MAX - 150));
        assert_eq!(has(0..30), [20, 21]);
    }
}
