//! Slotted pages and the pure operations that change them.
