//! GTID positions: the last GTID of every domain, and of every server in it.
//!
//! Texts are MariaDB's: `gtid_binlog_pos` names the last GTID of each domain, `gtid_binlog_state` the last of each server in
//! each domain, the newest of a domain last.

use std::collections::BTreeMap;
use std::fmt::Write;

use base::Gtid;

use crate::Numbering;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Domain {
    /// Last sequence number by server.
    servers: BTreeMap<u32, u64>,
    last: Gtid,
    /// Highest sequence number of the domain.
    highest: u64,
}

/// What has been committed, by domain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GtidPositions(BTreeMap<u32, Domain>);

impl GtidPositions {
    /// From GTIDs in commit order.
    pub fn from_gtids(gtids: impl IntoIterator<Item = Gtid>) -> Self {
        let mut positions = Self::default();
        gtids.into_iter().for_each(|g| positions.advance(g));
        positions
    }

    /// The GTID that a commit gets now.
    pub fn next(&self, numbering: Numbering) -> Gtid {
        let highest = self.0.get(&numbering.domain_id).map_or(0, |d| d.highest);
        Gtid {
            domain_id: numbering.domain_id,
            server_id: numbering.server_id,
            seq_no: numbering.seq_no.unwrap_or(highest + 1),
        }
    }

    /// `gtid` has been committed.
    pub fn advance(&mut self, gtid: Gtid) {
        let domain = self.0.entry(gtid.domain_id).or_default();
        domain.servers.insert(gtid.server_id, gtid.seq_no);
        domain.last = gtid;
        domain.highest = domain.highest.max(gtid.seq_no);
    }

    /// The last GTID of each domain, by domain.
    pub fn last(&self) -> impl Iterator<Item = Gtid> {
        self.0.values().map(|d| d.last)
    }

    /// The last GTID of each server in each domain; a domain's newest comes last.
    pub fn state(&self) -> Vec<Gtid> {
        let mut out = Vec::new();
        for (domain_id, domain) in &self.0 {
            let others = domain.servers.iter().filter(|(server, _)| **server != domain.last.server_id);
            out.extend(others.map(|(s, n)| Gtid { domain_id: *domain_id, server_id: *s, seq_no: *n }));
            out.push(domain.last);
        }
        out
    }

    /// GTIDs in the state.
    pub fn len(&self) -> usize {
        self.0.values().map(|d| d.servers.len()).sum()
    }
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The last number of a server in a domain.
    pub fn of_server(&self, domain_id: u32, server_id: u32) -> Option<u64> {
        self.0.get(&domain_id)?.servers.get(&server_id).copied()
    }

    /// `@@gtid_binlog_pos`
    pub fn position_text(&self) -> String {
        join(self.last())
    }
    /// `@@gtid_binlog_state`
    pub fn state_text(&self) -> String {
        join(self.state())
    }
}

fn join(gtids: impl IntoIterator<Item = Gtid>) -> String {
    let mut out = String::new();
    for gtid in gtids {
        if !out.is_empty() {
            out.push(',');
        }
        // Writing to a string cannot fail.
        let _ = write!(out, "{gtid}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gtid(domain_id: u32, server_id: u32, seq_no: u64) -> Gtid {
        Gtid { domain_id, server_id, seq_no }
    }

    #[test]
    fn numbers_go_up_by_domain_whoever_commits() {
        let mut p = GtidPositions::default();
        let by =
            |domain_id, server_id| Numbering { domain_id, server_id, seq_no: None, thread_id: 0, flags: 0 };
        for expected in 1..4 {
            let next = p.next(by(0, 7));
            assert_eq!(next, gtid(0, 7, expected));
            p.advance(next);
        }
        p.advance(p.next(by(0, 8)));
        p.advance(p.next(by(5, 7)));
        assert_eq!(p.position_text(), "0-8-4,5-7-1");
        assert_eq!(p.state_text(), "0-7-3,0-8-4,5-7-1");
        assert_eq!(GtidPositions::from_gtids(p.state()).next(by(0, 7)).seq_no, 5);
    }

    #[test]
    fn a_number_that_was_set_is_used_and_does_not_take_the_counter_back() {
        let mut p = GtidPositions::default();
        p.advance(gtid(0, 1, 100));
        let set = p.next(Numbering { domain_id: 0, server_id: 1, seq_no: Some(50), thread_id: 0, flags: 0 });
        p.advance(set);
        assert_eq!(p.position_text(), "0-1-50");
        assert_eq!(
            p.next(Numbering { domain_id: 0, server_id: 1, seq_no: None, thread_id: 0, flags: 0 }).seq_no,
            101
        );
    }
}
