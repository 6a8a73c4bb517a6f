//! The one log: ring, reservation, group commit, segments, readers (docs/design/core.md, section 1).

mod api;

pub use api::{
    Appended, FlushPolicy, Log, LogConfig, LogCounters, LogError, LogFailed, LogReadError, SegmentInfo, Visit,
};
pub use log_format::frame::FrameStart;
