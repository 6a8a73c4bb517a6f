//! The binary log: MariaDB's event groups made from the one log (docs/design/core.md, section 7).
#![forbid(unsafe_code)]

mod api;
mod feed;

pub use api::{
    EmitError, EmitOptions, EventSink, GroupHead, Next, Position, ReadError, SinkClosed, Start, Wait,
};
pub use feed::Feed;
