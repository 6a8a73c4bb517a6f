//! The only place that orders commit, GTID and visibility.
