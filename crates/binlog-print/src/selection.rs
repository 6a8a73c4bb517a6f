//! Which events are shown: by position, GTID, time, domain, server, database and table.
//!
//! # Rules
//! S1. A FORMAT_DESCRIPTION is always shown.
//! S2. GTID filters decide at the head of a group; every event up to the next head shares its fate.
//! S3. With a list of GTIDs to stop at, domains that are not in it are not shown.
//! S4. Times: reading begins to count at the first event at or after the start, whatever stands behind it, and ends for good at the
//!     first event at or after the stop.

use std::collections::HashMap;

use base::Gtid;
use event_format::{Event, Header};

use crate::Position;

/// Ids to show, or not to show.
#[derive(Debug, Clone, Default)]
pub struct IdFilter {
    ids: Vec<u32>,
    /// True: the ids are those that are not shown.
    ignores: bool,
}

impl IdFilter {
    pub fn only(ids: Vec<u32>) -> Self {
        Self { ids, ignores: false }
    }
    pub fn all_but(ids: Vec<u32>) -> Self {
        Self { ids, ignores: true }
    }
    fn takes(&self, id: u32) -> bool {
        self.ids.contains(&id) != self.ignores
    }
}

/// What is to be shown.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub database: Option<Vec<u8>>,
    pub table: Option<Vec<u8>>,
    /// Seconds since 1970.
    pub start_time: Option<u32>,
    pub stop_time: Option<u32>,
    /// Events to pass over.
    pub offset: u64,
    pub domains: Option<IdFilter>,
    pub servers: Option<IdFilter>,
    start: Option<HashMap<u32, Gtid>>,
    stop: Option<HashMap<u32, Gtid>>,
    stop_offset: Option<u64>,
    /// An offset to stop at is one of the last file.
    pub(crate) last_file: bool,
    /// Domains that have reached their stop.
    reached: Vec<u32>,
    started: bool,
    /// Domains of which a group behind the start has come.
    passed: Vec<u32>,
    /// The group's head was refused.
    skips_group: bool,
}

impl Selection {
    /// `--start-position`; an offset is for the reader of the first file.
    pub fn start_at(&mut self, start: &Position) {
        if let Position::Gtids(gtids) = start {
            self.start = Some(gtids.iter().map(|g| (g.domain_id, *g)).collect());
        }
    }

    /// `--stop-position`.
    pub fn stop_at(&mut self, stop: &Position) {
        match stop {
            Position::Offset(offset) => self.stop_offset = Some(*offset),
            Position::Gtids(gtids) => self.stop = Some(gtids.iter().map(|g| (g.domain_id, *g)).collect()),
        }
    }

    /// Groups may be missing from the output.
    pub(crate) fn filters_gtids(&self) -> bool {
        self.start.is_some() || self.stop.is_some() || self.domains.is_some() || self.servers.is_some()
    }

    /// GTIDs at which to stop that have not come.
    pub fn not_reached(&self) -> Vec<Gtid> {
        let mut missing: Vec<Gtid> = self
            .stop
            .iter()
            .flat_map(HashMap::values)
            .filter(|g| !self.reached.contains(&g.domain_id))
            .copied()
            .collect();
        missing.sort_unstable();
        missing
    }

    /// GTIDs to start behind of whose domains nothing later came: the logs may be the wrong ones.
    pub fn not_passed(&self) -> Vec<Gtid> {
        let mut missing: Vec<Gtid> = self
            .start
            .iter()
            .flat_map(HashMap::values)
            .filter(|g| !self.passed.contains(&g.domain_id))
            .copied()
            .collect();
        missing.sort_unstable();
        missing
    }

    /// A stop that is before its domain's start: stop, start.
    pub fn contradiction(&self) -> Option<(Gtid, Gtid)> {
        let start = self.start.as_ref()?;
        let pairs =
            self.stop.iter().flatten().filter_map(|(domain, stop)| Some((*stop, *start.get(domain)?)));
        pairs.filter(|(stop, start)| stop.seq_no < start.seq_no).min()
    }

    /// Neither this event nor what follows is to be shown.
    pub(crate) fn is_past(&self, at: u64, header: &Header, event: &Event<'_>) -> bool {
        let late = self.stop_time.is_some_and(|stop| header.timestamp >= stop);
        let far = self.last_file && self.stop_offset.is_some_and(|stop| at >= stop);
        let done = self.stop.as_ref().is_some_and(|stop| self.reached.len() == stop.len())
            && matches!(event, Event::Gtid(_) | Event::Rotate(_) | Event::Stop);
        (late || far || done) && !matches!(event, Event::FormatDescription(_))
    }

    pub(crate) fn takes(&mut self, header: &Header, event: &Event<'_>) -> bool {
        if matches!(event, Event::FormatDescription(_)) {
            self.skips_group = false;
            self.offset = self.offset.saturating_sub(1);
            return true;
        }
        if !self.started {
            if self.offset > 0 {
                self.offset -= 1;
                return false;
            }
            if self.start_time.is_some_and(|start| header.timestamp < start) {
                return false;
            }
            self.started = true;
        }
        if let Event::Gtid(gtid) = event {
            let id = Gtid { domain_id: gtid.domain_id, server_id: header.server_id, seq_no: gtid.seq_no };
            self.skips_group = !self.takes_group(id);
        }
        let of_server = || self.servers.as_ref().is_none_or(|servers| servers.takes(header.server_id));
        !self.skips_group && (matches!(event, Event::Rotate(_)) || of_server())
    }

    fn takes_group(&mut self, gtid: Gtid) -> bool {
        let domain = gtid.domain_id;
        if let Some(stop) = &self.stop {
            let Some(last) = stop.get(&domain) else { return false };
            let first_past = gtid.seq_no >= last.seq_no && !self.reached.contains(&domain);
            if first_past {
                self.reached.push(domain);
            }
            if gtid.seq_no > last.seq_no {
                return false;
            }
        }
        let before = self.start.as_ref().and_then(|start| start.get(&domain));
        let behind_start = before.is_none_or(|start| gtid.seq_no > start.seq_no);
        if behind_start && !self.passed.contains(&domain) {
            self.passed.push(domain);
        }
        behind_start && self.domains.as_ref().is_none_or(|domains| domains.takes(domain))
    }
}
