//! The position that a replica computes while it reads.
//!
//! Observed on MariaDB 10.11 and 11.8: a replica's position in the primary's log is not the one that events state. It starts at what
//! the artificial ROTATE says and grows by the length of each event, or to the position that the event states when that is more; events
//! that are artificial leave it, a FORMAT_DESCRIPTION and a GTID_LIST with a position move it forward to there. A HEARTBEAT whose position is lower stops the replica, and its
//! acknowledgements name this position.
//!
//! In a classic file that is the position in the file. Here a group's rows are a few bytes of the log and more as events, so
//! the stream follows the replica's computation to know what it means.

use event_format::{EventKind, Header, header_flags};

/// Follows one replica.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplicaPosition(u64);

impl ReplicaPosition {
    /// An artificial ROTATE to `position` was sent.
    pub fn rotated(&mut self, position: u64) {
        self.0 = position;
    }

    /// An event was sent.
    pub fn sent(&mut self, header: &Header) {
        match header.kind {
            EventKind::HEARTBEAT | EventKind::ROTATE => {}
            EventKind::FORMAT_DESCRIPTION | EventKind::GTID_LIST => {
                self.0 = self.0.max(u64::from(header.next_position));
            }
            _ if header.flags & header_flags::ARTIFICIAL != 0 => {}
            _ => self.0 = (self.0 + u64::from(header.length)).max(u64::from(header.next_position)),
        }
    }

    pub fn get(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(kind: EventKind, length: u32, next_position: u32, flags: u16) -> Header {
        Header { timestamp: 1, kind, server_id: 1, length, next_position, flags }
    }

    #[test]
    fn lengths_count_and_higher_positions() {
        // The stream and the acknowledged positions of a real replica.
        let mut position = ReplicaPosition::default();
        position.rotated(4);
        position.sent(&header(EventKind::FORMAT_DESCRIPTION, 252, 0, 0));
        position.sent(&header(EventKind::GTID_LIST, 29, 64, header_flags::ARTIFICIAL));
        assert_eq!(position.get(), 64);
        position.sent(&header(EventKind::GTID, 42, 0, 0));
        position.sent(&header(EventKind::QUERY, 100, 250, 0));
        assert_eq!(position.get(), 250);
        position.sent(&header(EventKind::GTID_LIST, 43, 100, header_flags::ARTIFICIAL));
        position.sent(&header(EventKind::HEARTBEAT, 33, 9999, 0));
        assert_eq!(position.get(), 250);
        position.sent(&header(EventKind::GTID, 42, 210, 0));
        assert_eq!(position.get(), 292);
        position.sent(&header(EventKind::XID, 31, 5000, 0));
        assert_eq!(position.get(), 5000);
    }
}
