//! The one log: ring, reservation, group commit, segments, readers (docs/design/core.md, section 1).
//!
//! # Who does what
//! ```text
//! append ── ring, slots            any thread, no lock            log.rs  ring.rs  slots.rs
//! wait   ── queue                  leader and followers           queue.rs
//! term   ── seal, write            the leader                     writer.rs
//!        ── sync                   beside other frames in flight  writer.rs  sync_time.rs
//! tick   ── space ahead            one background thread          segments.rs  ahead.rs
//! open   ── scan, end of the log   before anything else           open.rs
//! read   ── ring, else block cache any thread                     reader.rs
//! ```
//!
//! # Positions
//! `durable <= written <= ready <= reserved`. All but `ready` only grow by a store of their owner; `ready` is computed from the slots.
//! A frame's end is also a record's end, so a record is durable as soon as its first byte is below `durable`.
//!
//! # Locking order
//! queue state (never held during work) · writer · segment list · frame index · space. Appends take none of them unless the
//! ring is full.
//!
//! # After a crash
//! The stream ends at the first frame that does not verify. Each start of a server begins a new segment there, so bytes of
//! frames that were written past the end and lost their connection can never be met again.

mod ahead;
mod api;
mod counters;
mod index;
mod log;
mod open;
mod queue;
mod reader;
mod ring;
mod segments;
mod slots;
mod sync;
mod sync_time;
mod writer;

pub use api::{
    Appended, FlushPolicy, LogConfig, LogError, LogFailed, LogReadError, Pipeline, RotateError, SegmentInfo,
    Visit,
};
pub use counters::LogCounters;
pub use log::Log;
pub use log_format::frame::FrameStart;
pub use open::ScannedLog;
