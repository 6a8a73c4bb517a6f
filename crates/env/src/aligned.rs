//! Byte buffers aligned for O_DIRECT.
//!
//! # Invariants
//! A1. `start` is a live allocation of `len` initialised bytes, aligned to [`ALIGNMENT`], owned by this value alone.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Alignment of buffers, offsets and lengths of [`crate::Caching::Direct`] files.
pub const ALIGNMENT: usize = 4096;

/// A zeroed buffer whose first byte is [`ALIGNMENT`]-aligned. Large buffers take memory only as they are touched.
pub struct AlignedBuf {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: A1, the bytes are owned by this value alone.
unsafe impl Send for AlignedBuf {}
// SAFETY: A1, shared access only reads.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    pub fn zeroed(len: usize) -> Self {
        let layout = Self::layout(len);
        // SAFETY: the layout's size is never zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        Self { start, len }
    }

    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    fn layout(len: usize) -> Layout {
        match Layout::from_size_align(len.max(1), ALIGNMENT) {
            Ok(layout) => layout,
            Err(_) => panic!("a buffer of {len} bytes cannot be addressed"),
        }
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: A1.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: A1, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        // SAFETY: A1, allocated with the same layout.
        unsafe { dealloc(self.start.as_ptr(), Self::layout(self.len)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_zeroed_and_aligned() {
        let mut buf = AlignedBuf::zeroed(3 * ALIGNMENT);
        assert_eq!(buf.as_ptr() as usize % ALIGNMENT, 0);
        assert!(buf.iter().all(|b| *b == 0));
        buf[ALIGNMENT] = 7;
        assert_eq!(buf[ALIGNMENT], 7);
        assert!(AlignedBuf::zeroed(0).is_empty());
    }
}
