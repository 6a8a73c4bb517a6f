//! What callers hold: a page latched for reading or for writing.

use super::BufferPool;
use super::counters::bump;
use super::frame::{Exclusive, Shared};
use super::page;
use super::state::DIRTY;
use base::{Lsn, PAGE_SIZE, PageId};
use std::fmt;
use std::ops::Deref;

/// A page latched for reading. It cannot change or leave memory while this lives.
pub struct PageRead<'p> {
    page: Shared<'p>,
    id: PageId,
}

/// A page latched for writing.
pub struct PageWrite<'p> {
    // Dropped first, while the latch is still held.
    alarm: PanicAlarm<'p>,
    page: Exclusive<'p>,
    id: PageId,
}

/// A thread that panics in the middle of a change leaves a page that nobody can explain: it must not reach its file.
struct PanicAlarm<'p> {
    pool: &'p BufferPool,
    id: PageId,
    changed: bool,
}

impl Drop for PanicAlarm<'_> {
    fn drop(&mut self) {
        if self.changed && std::thread::panicking() {
            self.pool.stop(format!("a thread panicked while it changed {}", self.id));
        }
    }
}

impl<'p> PageRead<'p> {
    #[inline]
    pub(super) fn new(page: Shared<'p>, id: PageId) -> Self {
        Self { page, id }
    }

    pub fn id(&self) -> PageId {
        self.id
    }

    /// Start of the last record that changed the page.
    pub fn page_lsn(&self) -> Lsn {
        page::page_lsn(&self.page)
    }
}

impl<'p> PageWrite<'p> {
    pub(super) fn new(page: Exclusive<'p>, id: PageId, pool: &'p BufferPool) -> Self {
        Self { alarm: PanicAlarm { pool, id, changed: false }, page, id }
    }

    pub fn id(&self) -> PageId {
        self.id
    }

    /// Start of the last record that changed the page.
    pub fn page_lsn(&self) -> Lsn {
        page::page_lsn(&self.page)
    }

    /// Announces a change: the log will be needed from `rec_lsn` on until the page is in its file.
    ///
    /// Order for live changes: read the log's reserved LSN, call this with it, append the record, apply it through
    /// [`PageWrite::bytes_mut`], let go. Then a checkpoint that read the reserved LSN before it asked for
    /// [`super::BufferPool::oldest_rec_lsn`] either sees this page or starts redo before the record. Redo passes the record's
    /// own LSN.
    pub fn mark_dirty(&mut self, rec_lsn: Lsn) {
        let counting = &self.alarm.pool.counting;
        counting.write_request();
        if self.page.frame().mark_dirty(rec_lsn) {
            bump(&counting.dirty);
        }
    }

    /// The bytes, for a change that was announced.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8; PAGE_SIZE] {
        debug_assert!(
            self.page.frame().flags() & DIRTY != 0,
            "{}: mark_dirty comes before the change",
            self.id
        );
        self.alarm.changed = true;
        self.page.bytes_mut()
    }

    /// Turns into a reader; no writer gets in between.
    pub fn downgrade(self) -> PageRead<'p> {
        PageRead { page: self.page.downgrade(), id: self.id }
    }
}

impl Deref for PageRead<'_> {
    type Target = [u8; PAGE_SIZE];
    #[inline]
    fn deref(&self) -> &[u8; PAGE_SIZE] {
        &self.page
    }
}

impl Deref for PageWrite<'_> {
    type Target = [u8; PAGE_SIZE];
    #[inline]
    fn deref(&self) -> &[u8; PAGE_SIZE] {
        &self.page
    }
}

impl fmt::Debug for PageRead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageRead({})", self.id)
    }
}

impl fmt::Debug for PageWrite<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageWrite({})", self.id)
    }
}
