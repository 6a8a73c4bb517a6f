//! Character sets and collations with MariaDB's names and ids.
//!
//! A [`Charset`] says how bytes make characters; a [`Collation`] how characters compare. Weights are frozen per
//! collation id: an index on disk is ordered by them.
//!
//! Character sets of Unicode's wide forms are compared in UTF-8.
//!
//! # Sort keys
//! [`Collation::sort_key`] gives bytes whose memcmp order is the collation's order, and no key is a proper prefix of another,
//! so keys of several columns can be written one after the other.
//! - Collations with several levels write one key after the other: letters, accents, case.
//! - A weight of a byte collation (and each byte of a `_bin` one) is one byte; `general_ci` weights are written in the
//!   order-preserving form of UTF-8 (1 byte below 0x80, 2 below 0x800, 3), UCA weights as two bytes, big-endian.
//! - PAD SPACE collations compare as if the shorter string went on with spaces for ever. A space's weight is followed by one
//!   byte: 0 if what follows the run of spaces is less than spaces for ever, 1 if the string ends with them, 2 if it is greater.
//!   Trailing spaces are dropped and the end is written as one space with byte 1.
//! - NO PAD collations and binary escape the weight 0 as `00 ff` and end with `00 00`.
#![forbid(unsafe_code)]

mod charset;
mod collation;
mod key_hash;
mod listing;
mod multi;
mod registry;
mod tables;
mod weigh;
mod wide;

pub use charset::{Charset, Unconvertible};
pub use collation::{Collation, SpacePad};
pub use key_hash::KeyHash;
