//! What the last file says after a crash: which groups stand whole in it, and about which transactions they decide.
//!
//! A file is begun only when the commits of all groups in those before are durable in the engine's log, so the last one is enough. What
//! follows its last whole group is a torn write, or the end of a clean stop.

use std::sync::Arc;

use base::Gtid;
use binlog::ReadError;
use env::File;
use event_format::{
    Event, EventKind, GtidEvent, Header, Query, StatusVariable, StatusVariables, gtid_flags, header_flags,
};

use crate::events::Events;

/// Name of an XA branch: format id, gtrid, bqual.
pub type BranchName = (u32, Vec<u8>, Vec<u8>);

/// What a group decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The transaction with this number has happened.
    Commit(u64),
    XaPrepare(BranchName),
    XaCommit(BranchName),
    XaRollback(BranchName),
    /// Another server wrote it.
    Nothing,
}

/// One whole group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub gtid: Gtid,
    pub start: u64,
    pub end: u64,
    pub decision: Decision,
}

/// See the module.
#[derive(Debug)]
pub struct LastFile {
    pub number: u64,
    /// The state before the first group.
    pub state: Vec<Gtid>,
    pub groups: Vec<Group>,
    /// Behind the last whole group or other event.
    pub end: u64,
    pub len: u64,
    /// The server did not close it.
    pub is_in_use: bool,
    /// Why reading ended before the end of the file.
    pub torn: Option<String>,
}

impl LastFile {
    pub(crate) fn read(file: Arc<dyn File>, name: &str, number: u64) -> Result<Self, ReadError> {
        let len = file.len()?;
        let mut flags = [0; 2];
        // A file whose head is not whole has no events.
        let is_in_use = file.read_at(&mut flags, 4 + 17).is_err()
            || u16::from_le_bytes(flags) & header_flags::IN_USE != 0;
        let mut events = Events::open(file, name, len)?;
        let state = events.state()?;
        let end = events.at();
        let mut found = Self { number, state, groups: Vec::new(), end, len, is_in_use, torn: None };
        if let Err(e) = found.scan(&mut events) {
            found.torn = Some(e.to_string());
        }
        Ok(found)
    }

    fn scan(&mut self, events: &mut Events) -> Result<(), ReadError> {
        let mut bytes = Vec::new();
        let mut open: Option<Open> = None;
        while let Some(header) = events.peek()? {
            let at = events.at();
            events.take(&header, &mut bytes)?;
            let (_, event) =
                event_format::read(&bytes, events.checksum()).map_err(|e| events.corrupt(at, e))?;
            match (&mut open, &event) {
                (_, Event::Gtid(gtid)) => open = Some(Open::new(gtid, &header, at)),
                (Some(group), event) => {
                    if let Some(decision) = group.event(event) {
                        let (gtid, start, end) = (group.gtid, group.start, events.at());
                        self.groups.push(Group { gtid, start, end, decision });
                        self.end = end;
                        open = None;
                    }
                }
                (None, _) => self.end = events.at(),
            }
        }
        if open.is_some() {
            self.torn = Some("the last group is not whole".to_owned());
        }
        Ok(())
    }

    /// GTIDs in the order of the file: the state, and the first `count` groups.
    pub fn gtids(&self, count: usize) -> Vec<Gtid> {
        self.state.iter().copied().chain(self.groups[..count].iter().map(|g| g.gtid)).collect()
    }
}

/// A group whose end has not come.
struct Open {
    gtid: Gtid,
    start: u64,
    flags: u8,
    branch: Option<BranchName>,
}

impl Open {
    fn new(event: &GtidEvent<'_>, header: &Header, start: u64) -> Self {
        let gtid = Gtid { domain_id: event.domain_id, server_id: header.server_id, seq_no: event.seq_no };
        let branch = event.xa.map(|xa| (xa.format_id, xa.gtrid.to_vec(), xa.bqual.to_vec()));
        Self { gtid, start, flags: event.flags, branch }
    }

    /// What the group decides, when this event ends it.
    fn event(&mut self, event: &Event<'_>) -> Option<Decision> {
        match event {
            Event::Xid(number) => Some(Decision::Commit(*number)),
            Event::XaPrepare(_) => Some(self.branch.take().map_or(Decision::Nothing, Decision::XaPrepare)),
            Event::Query(query) => self.query(query),
            _ if self.flags & gtid_flags::STANDALONE != 0 && is_statement(event.kind()) => {
                Some(Decision::Nothing)
            }
            _ => None,
        }
    }

    fn query(&mut self, query: &Query<'_>) -> Option<Decision> {
        let standalone = self.flags & gtid_flags::STANDALONE != 0;
        if !standalone && !ends_group(&query.sql) {
            return None;
        }
        if self.flags & gtid_flags::COMPLETED_XA != 0
            && let Some(branch) = self.branch.take()
        {
            let rolls_back = query.sql.starts_with(b"XA ROLLBACK");
            return Some(if rolls_back { Decision::XaRollback(branch) } else { Decision::XaCommit(branch) });
        }
        let mut variables = StatusVariables::new(query.status);
        let number = variables.find_map(|v| match v {
            Ok(StatusVariable::DdlXid(number)) => Some(number),
            _ => None,
        });
        Some(number.map_or(Decision::Nothing, Decision::Commit))
    }
}

/// Text of a query event that ends a group which is no single statement.
pub(crate) fn ends_group(sql: &[u8]) -> bool {
    sql == b"COMMIT" || sql == b"ROLLBACK"
}

/// The one event of a group of its own: what may come before it sets variables.
pub(crate) fn is_statement(kind: EventKind) -> bool {
    !matches!(
        kind,
        EventKind::INTVAR
            | EventKind::RAND
            | EventKind::USER_VAR
            | EventKind::ANNOTATE
            | EventKind::TABLE_MAP
    )
}
