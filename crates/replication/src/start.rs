//! Where a replica's stream starts, and what of it the replica has already: decisions on GTIDs alone.
//!
//! # Rules (observed on MariaDB 10.11 and 11.8)
//! - A domain of the position that the log does not know is accepted: nothing of it can be sent yet.
//! - A GTID that the log cannot have is refused: ahead of the log, or of a server that never wrote in a domain that the log knows.
//! - The log must still hold everything behind the position; domains that the position leaves out start at their beginning.
//! - A number that the log jumped over is refused in strict mode when the scan meets the jump, and is passed over otherwise.
//!
//! # Invariants
//! T1. A group is sent exactly when it comes behind the position's GTID of its domain; order of servers inside a domain is the log's.

use std::collections::BTreeMap;

use base::Gtid;

/// Why a replica's position cannot be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartError {
    /// The log ends before it.
    Ahead(Gtid),
    /// The log has gone further without it.
    Diverged(Gtid),
    /// The events behind it are not kept any more.
    Purged,
}

/// The state of a log at one place: the last GTID of each server in each domain, a domain's newest as its last entry.
pub type State = [Gtid];

/// Whether `state`, which is that of the whole log, can hold what follows `position`.
pub fn check_known(position: &[Gtid], state: &State) -> Result<(), StartError> {
    for asked in position {
        let mut domain = state.iter().filter(|g| g.domain_id == asked.domain_id);
        let Some(last) = domain.clone().next_back() else { continue };
        let own = domain.find(|g| g.server_id == asked.server_id);
        if own.is_some_and(|g| g.seq_no >= asked.seq_no) {
            continue;
        }
        let newest = state.iter().filter(|g| g.domain_id == asked.domain_id).map(|g| g.seq_no).max();
        let passed = newest.unwrap_or(last.seq_no) >= asked.seq_no;
        return Err(if passed { StartError::Diverged(*asked) } else { StartError::Ahead(*asked) });
    }
    Ok(())
}

/// Whether a stream that begins at a place with `state` has everything behind `position`.
pub fn covers(position: &[Gtid], state: &State) -> bool {
    state.iter().all(|have| {
        let Some(asked) = position.iter().find(|g| g.domain_id == have.domain_id) else { return false };
        let own = state.iter().find(|g| g.domain_id == asked.domain_id && g.server_id == asked.server_id);
        let newest = state.iter().rfind(|g| g.domain_id == asked.domain_id);
        match own {
            // The asked one comes later than this place.
            None => true,
            Some(own) if own.seq_no < asked.seq_no => true,
            Some(own) => own.seq_no == asked.seq_no && newest == Some(own),
        }
    })
}

/// What becomes of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Send,
    /// The replica has it.
    Skip,
    /// Strict mode: the asked GTID is missing between two that the log has.
    Hole(Gtid),
}

/// Passes over what a replica has.
#[derive(Debug, Clone)]
pub struct Skipper {
    /// By domain: the last GTID that the replica has, until the stream has passed it.
    waiting: BTreeMap<u32, Waiting>,
    strict: bool,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    asked: Gtid,
    /// The log knew nothing of the domain when the replica came.
    empty_domain: bool,
}

impl Skipper {
    /// `at_start` is the state where the stream begins, `known` that of the whole log.
    pub fn new(position: &[Gtid], at_start: &State, known: &State, strict: bool) -> Self {
        let mut waiting = BTreeMap::new();
        for asked in position {
            let newest = at_start.iter().rfind(|g| g.domain_id == asked.domain_id);
            if newest == Some(asked) {
                continue;
            }
            let empty_domain = !known.iter().any(|g| g.domain_id == asked.domain_id);
            waiting.insert(asked.domain_id, Waiting { asked: *asked, empty_domain });
        }
        Self { waiting, strict }
    }

    /// Nothing is passed over: a stream that starts at a place in a file.
    pub fn nothing() -> Self {
        Self { waiting: BTreeMap::new(), strict: false }
    }

    /// Looks at the next group of the log.
    pub fn judge(&mut self, gtid: Gtid) -> Verdict {
        let Some(Waiting { asked, empty_domain }) = self.waiting.get(&gtid.domain_id).copied() else {
            return Verdict::Send;
        };
        if gtid.server_id != asked.server_id {
            if empty_domain {
                self.waiting.remove(&gtid.domain_id);
                return Verdict::Send;
            }
            return Verdict::Skip;
        }
        if gtid.seq_no < asked.seq_no {
            return Verdict::Skip;
        }
        self.waiting.remove(&gtid.domain_id);
        if gtid.seq_no == asked.seq_no {
            return Verdict::Skip;
        }
        if self.strict && !empty_domain { Verdict::Hole(asked) } else { Verdict::Send }
    }
}

/// START SLAVE UNTIL master_gtid_pos.
#[derive(Debug, Clone)]
pub struct Until {
    /// By domain: the last GTID to send.
    open: BTreeMap<u32, Gtid>,
    /// Stop in front of the GTIDs instead of behind them.
    before: bool,
}

/// What UNTIL says of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    Within,
    /// The last one of its domain.
    Last,
    /// Not to be sent.
    Beyond,
}

impl Until {
    pub fn new(until: &[Gtid], position: &[Gtid], before: bool) -> Self {
        // What the replica has passed already is reached.
        let reached = |u: &Gtid| {
            position
                .iter()
                .any(|p| p.domain_id == u.domain_id && p.server_id == u.server_id && p.seq_no >= u.seq_no)
        };
        let open = until.iter().filter(|u| !reached(u)).map(|u| (u.domain_id, *u)).collect();
        Self { open, before }
    }

    /// Nothing is left to send: the stream ends.
    pub fn is_reached(&self) -> bool {
        self.open.is_empty()
    }

    /// Domains that UNTIL does not name are not sent.
    pub fn judge(&mut self, gtid: Gtid) -> Limit {
        let Some(last) = self.open.get(&gtid.domain_id).copied() else { return Limit::Beyond };
        if last.server_id != gtid.server_id || gtid.seq_no < last.seq_no {
            return Limit::Within;
        }
        self.open.remove(&gtid.domain_id);
        if gtid.seq_no == last.seq_no && !self.before { Limit::Last } else { Limit::Beyond }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gtid_list::{parse_position, parse_state};

    fn known(position: &str, state: &str) -> Result<(), StartError> {
        check_known(&parse_position(position).unwrap(), &parse_state(state).unwrap())
    }
    fn gtid(text: &str) -> Gtid {
        parse_state(text).unwrap()[0]
    }

    #[test]
    fn positions_that_the_log_cannot_have_are_refused() {
        let state = "0-1-3,0-2-11,2-1-1";
        for good in ["", "0-2-11", "0-2-7", "0-1-3", "77-1-5", "0-1-2,2-1-1"] {
            assert_eq!(known(good, state), Ok(()), "{good}");
        }
        assert_eq!(known("0-2-100", state), Err(StartError::Ahead(gtid("0-2-100"))));
        assert_eq!(known("0-5-300", state), Err(StartError::Ahead(gtid("0-5-300"))));
        assert_eq!(known("0-5-3", state), Err(StartError::Diverged(gtid("0-5-3"))));
        assert_eq!(known("0-1-4", state), Err(StartError::Diverged(gtid("0-1-4"))));
    }

    #[test]
    fn a_log_that_begins_later_does_not_cover() {
        let covered = |position: &str, state: &str| {
            covers(&parse_position(position).unwrap(), &parse_state(state).unwrap())
        };
        assert!(covered("", ""));
        assert!(covered("0-1-5", ""));
        assert!(!covered("", "0-1-1"));
        assert!(!covered("0-1-5", "0-1-5,2-1-1"));
        assert!(covered("0-1-5,2-1-1", "0-1-5,2-1-1"));
        assert!(covered("0-1-6", "0-1-5"));
        assert!(!covered("0-1-4", "0-1-5"));
        // The position's server wrote, then another did: what the other wrote is needed.
        assert!(!covered("0-1-5", "0-1-5,0-2-6"));
        assert!(covered("0-2-6", "0-1-5,0-2-6"));
        assert!(covered("0-3-7", "0-1-5,0-2-6"));
    }

    fn judged(position: &str, start: &str, log: &str, strict: bool) -> Vec<Verdict> {
        let log = parse_state(log).unwrap();
        let mut skipper =
            Skipper::new(&parse_position(position).unwrap(), &parse_state(start).unwrap(), &log, strict);
        log.iter().map(|g| skipper.judge(*g)).collect()
    }

    #[test]
    fn what_the_replica_has_is_passed_over() {
        use Verdict::{Hole, Send, Skip};
        assert_eq!(judged("0-1-2", "", "0-1-1,0-1-2,0-1-3", true), [Skip, Skip, Send]);
        assert_eq!(judged("0-1-2", "0-1-2", "0-1-3,0-1-4", true), [Send, Send]);
        assert_eq!(judged("0-2-2", "", "0-1-1,0-2-2,0-1-3,5-1-1", true), [Skip, Skip, Send, Send]);
        assert_eq!(judged("0-1-7", "", "0-1-5,0-1-10,0-1-11", false), [Skip, Send, Send]);
        assert_eq!(judged("0-1-7", "", "0-1-5,0-1-10", true), [Skip, Hole(gtid("0-1-7"))]);
    }

    #[test]
    fn a_domain_that_is_new_to_the_log_is_sent_from_its_first_group_on() {
        let mut skipper = Skipper::new(&[gtid("7-1-5")], &[], &[], true);
        assert_eq!(skipper.judge(gtid("7-1-5")), Verdict::Skip);
        assert_eq!(skipper.judge(gtid("7-1-6")), Verdict::Send);
        let mut skipper = Skipper::new(&[gtid("7-1-5")], &[], &[], true);
        assert_eq!(skipper.judge(gtid("7-2-1")), Verdict::Send);
    }

    #[test]
    fn until_ends_behind_or_in_front_of_its_gtid() {
        let mut until = Until::new(&[gtid("0-1-3")], &[gtid("0-1-1")], false);
        assert_eq!(until.judge(gtid("0-1-2")), Limit::Within);
        assert_eq!(until.judge(gtid("2-1-1")), Limit::Beyond);
        assert_eq!(until.judge(gtid("0-1-3")), Limit::Last);
        assert!(until.is_reached());
        let mut until = Until::new(&[gtid("0-1-3")], &[], true);
        assert_eq!(until.judge(gtid("0-1-3")), Limit::Beyond);
        assert!(until.is_reached());
        assert!(Until::new(&[], &[], false).is_reached());
        assert!(Until::new(&[gtid("0-1-3")], &[gtid("0-1-5")], false).is_reached());
        assert!(Until::new(&[gtid("0-1-3")], &[gtid("0-1-3")], false).is_reached());
    }
}
