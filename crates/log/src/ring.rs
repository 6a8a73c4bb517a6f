//! The ring: the last `size` bytes of the stream, in memory.
//!
//! The byte at LSN `x` lives at `x & mask`.
//!
//! # Invariants
//! R1. A range of LSNs has one writer: whoever reserved it (a record), or the leader (headers). It writes before the ready
//!     LSN passes the range.
//! R2. The leader reads `[written, ready)`, which nobody writes: a range is reserved only while it ends at most `size` past the
//!     written LSN.
//! R3. Readers of old bytes may race with the writer that reuses their place. They copy word by word with volatile loads, then
//!     ask whether the reserved LSN had moved over their range; if so they throw the copy away. The reservation happens before
//!     the writer's first store and is ordered by fences on both sides, as in a sequence lock.

use std::sync::atomic::{Ordering, fence};

pub(crate) struct Ring {
    base: *mut u8,
    size: usize,
}

// SAFETY: access to the bytes is divided by R1-R3; the pointer itself never changes.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    /// `size` is a power of two.
    pub(crate) fn new(size: usize) -> Self {
        assert!(size.is_power_of_two());
        let base = Box::into_raw(vec![0u8; size].into_boxed_slice()).cast::<u8>();
        Self { base, size }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size as u64
    }

    fn place(&self, lsn: u64) -> usize {
        (lsn as usize) & (self.size - 1)
    }

    /// Copies `bytes` to `lsn`.
    ///
    /// # Safety
    /// The caller is the one writer of the range (R1) and `bytes` fits the ring.
    pub(crate) unsafe fn write(&self, lsn: u64, bytes: &[u8]) {
        debug_assert!(bytes.len() <= self.size);
        fence(Ordering::Release); // R3: the reservation is visible before any byte
        let at = self.place(lsn);
        let first = bytes.len().min(self.size - at);
        // SAFETY: both parts lie inside the allocation; R1 excludes other writers.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.base.add(at), first);
            std::ptr::copy_nonoverlapping(bytes.as_ptr().add(first), self.base, bytes.len() - first);
        }
    }

    /// The range `[from, to)` in place: one part, or two when it wraps.
    ///
    /// # Safety
    /// All writers of the range have finished and it is not yet released for reuse (R2).
    pub(crate) unsafe fn parts(&self, from: u64, to: u64) -> (&[u8], &[u8]) {
        let len = (to - from) as usize;
        debug_assert!(len <= self.size);
        let at = self.place(from);
        let first = len.min(self.size - at);
        // SAFETY: both parts lie inside the allocation, and by R2 nobody writes them while the leader holds them.
        unsafe {
            (
                std::slice::from_raw_parts(self.base.add(at), first),
                std::slice::from_raw_parts(self.base, len - first),
            )
        }
    }

    /// Copies `out.len()` bytes at `lsn`, possibly torn: the caller must check afterwards that the place was not reused (R3).
    pub(crate) fn copy_racing(&self, lsn: u64, out: &mut [u8]) {
        debug_assert!(out.len() <= self.size);
        let at = self.place(lsn);
        let first = out.len().min(self.size - at);
        let (head, tail) = out.split_at_mut(first);
        self.copy_part(at, head);
        self.copy_part(0, tail);
        fence(Ordering::Acquire); // R3: the caller's load of the reserved LSN comes after the copy
    }

    fn copy_part(&self, at: usize, out: &mut [u8]) {
        let mut done = 0;
        while done + 8 <= out.len() {
            // SAFETY: the word lies inside the allocation; a racing store can only tear the value, which R3 detects.
            let word = unsafe { self.base.add(at + done).cast::<[u8; 8]>().read_volatile() };
            out[done..done + 8].copy_from_slice(&word);
            done += 8;
        }
        while done < out.len() {
            // SAFETY: as above, for one byte.
            out[done] = unsafe { self.base.add(at + done).read_volatile() };
            done += 1;
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let slice = std::ptr::slice_from_raw_parts_mut(self.base, self.size);
        // SAFETY: made by `Box::into_raw` in `new` with this length, and dropped once.
        drop(unsafe { Box::from_raw(slice) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_across_the_wrap() {
        let ring = Ring::new(64);
        let bytes: Vec<u8> = (0..30).collect();
        for lsn in 1000..1064 {
            // SAFETY: this test is the one writer and the one reader.
            unsafe { ring.write(lsn, &bytes) };
            let mut copy = vec![0; 30];
            ring.copy_racing(lsn, &mut copy);
            assert_eq!(copy, bytes);
            // SAFETY: as above.
            let (a, b) = unsafe { ring.parts(lsn, lsn + 30) };
            assert_eq!([a, b].concat(), bytes);
        }
    }
}
