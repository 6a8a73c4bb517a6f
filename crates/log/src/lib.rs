//! The one log: ring, reservation, group commit, segments, readers.
