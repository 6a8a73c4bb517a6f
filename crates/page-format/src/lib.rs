//! Slotted pages and the pure operations that change them.
//!
//! * [`header`]: the 64 bytes every page starts with.
//! * [`PageView`]: reads a slotted page (leaf or inner): slots, records, search.
//! * [`PageOp`]: one change of one page, with its encoding inside log records.
//! * [`apply()`]: performs a [`PageOp`]; the same function for live changes, redo and the re-execution check.
//! * [`check()`]: everything a page must satisfy by itself.
//!
//! # Invariants
//! P1. The bytes of a page, but for its CRC, are a function of the operations applied since its last format.
//! P2. [`apply()`] either performs the whole operation or returns [`base::Corruption`] and changes nothing. It never panics,
//!     whatever the page and the operation hold.
//! P3. No operation depends on anything but the page, the operation and the LSN.
#![forbid(unsafe_code)]

mod apply;
mod bitmap;
mod check;
mod edit;
mod fuzz;
pub mod header;
mod op;
mod overflow;
mod splice;
mod view;

pub use apply::{apply, apply_validated, validate};
pub use bitmap::{BITMAP_PAGES, first_free, is_used, used_count};
pub use check::check;
pub use fuzz::fuzz_page;
pub use header::{HEADER_SIZE, Page, PageKind};
pub use op::{OpContext, PageOp, RawRecords, Stamp};
pub use overflow::{OVERFLOW_CAPACITY, OverflowView};
pub use splice::{Splice, Splices, SplicesBuf, restore};
pub use view::{LeafRecord, PageView, RECORD_SIZE_MAX, SLOT_SIZE, clustered_size, key_head, record_flags};
