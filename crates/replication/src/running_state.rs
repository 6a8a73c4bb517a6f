//! The GTID state that a stream has come to, and the last GTIDs of what it passed over or sent.

use base::Gtid;

/// The last GTID of each server in each domain, a domain's newest as the last of its entries: what a GTID_LIST event holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RunningState(Vec<Gtid>);

impl RunningState {
    pub(crate) fn new(state: Vec<Gtid>) -> Self {
        Self(state)
    }

    /// A group has been passed.
    pub(crate) fn advance(&mut self, gtid: Gtid) {
        let same = |g: &Gtid| g.domain_id == gtid.domain_id && g.server_id == gtid.server_id;
        if let Some(newest) = self.0.iter_mut().rfind(|g| g.domain_id <= gtid.domain_id)
            && same(newest)
        {
            *newest = gtid;
            return;
        }
        self.0.retain(|g| !same(g));
        let behind = self.0.iter().rposition(|g| g.domain_id <= gtid.domain_id).map_or(0, |at| at + 1);
        self.0.insert(behind, gtid);
    }

    pub(crate) fn gtids(&self) -> &[Gtid] {
        &self.0
    }
}

/// The last GTID of each domain of some groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LastOfDomains(Vec<Gtid>);

impl LastOfDomains {
    pub(crate) fn note(&mut self, gtid: Gtid) {
        match self.0.binary_search_by_key(&gtid.domain_id, |g| g.domain_id) {
            Ok(at) => self.0[at] = gtid,
            Err(at) => self.0.insert(at, gtid),
        }
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Hands it out and starts over.
    pub(crate) fn take(&mut self) -> Vec<Gtid> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gtid_list::{format_list, parse_state};

    #[test]
    fn the_newest_of_a_domain_comes_last() {
        let mut state = RunningState::new(parse_state("0-1-3,2-1-1").unwrap());
        for gtid in parse_state("0-2-4,1-9-1,0-1-5,3-1-1").unwrap() {
            state.advance(gtid);
        }
        assert_eq!(format_list(state.gtids()), "0-2-4,0-1-5,1-9-1,2-1-1,3-1-1");
    }

    #[test]
    fn one_of_each_domain_is_told() {
        let mut skipped = LastOfDomains::default();
        for gtid in parse_state("2-1-1,0-1-3,0-2-4").unwrap() {
            skipped.note(gtid);
        }
        assert_eq!(format_list(&skipped.take()), "0-2-4,2-1-1");
        assert!(skipped.is_empty());
    }
}
