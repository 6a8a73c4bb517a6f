//! Byte buffers aligned for O_DIRECT, straight from the system: zeroed, and in memory only as far as they were touched.
//!
//! # Invariants
//! A1. `start` is a private anonymous mapping of at least `len` bytes, owned by this value alone until it is dropped.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Alignment of buffers, offsets and lengths of [`crate::Caching::Direct`] files.
pub const ALIGNMENT: usize = 4096;

/// A zeroed buffer whose first byte is [`ALIGNMENT`]-aligned. Untouched parts take no memory.
pub struct AlignedBuf {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: A1, the bytes are owned by this value alone.
unsafe impl Send for AlignedBuf {}
// SAFETY: A1, shared access only reads.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    /// Panics when the address space has no room for `len` bytes, as every allocation does.
    pub fn zeroed(len: usize) -> Self {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new anonymous mapping touches nothing that exists.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), len.max(1), libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        assert!(
            start != libc::MAP_FAILED,
            "cannot map {len} bytes of memory: {}",
            std::io::Error::last_os_error()
        );
        let Some(start) = NonNull::new(start.cast()) else { panic!("the system mapped address 0") };
        Self { start, len }
    }

    /// For owners that share the bytes under their own latches; they then use neither `Deref` nor `DerefMut`.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
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
        // SAFETY: A1; nobody can refer to the bytes any more.
        let result = unsafe { libc::munmap(self.start.as_ptr().cast(), self.len.max(1)) };
        debug_assert_eq!(result, 0, "munmap failed: {}", std::io::Error::last_os_error());
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
        // Far more than the machine has: only touched parts count.
        let mut huge = AlignedBuf::zeroed(1 << 40);
        huge[1 << 39] = 1;
        assert_eq!(huge[(1 << 39) + 1], 0);
    }
}
