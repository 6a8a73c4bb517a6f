//! Data files: one per space, `spaces/NNNNNN.morse`, page n at byte `n * 16384`.
//!
//! # Invariants
//! P1. A file is open as long as somebody uses it or it has unsynced writes; others are closed when too many are open.
//! P2. Files grow by whole allocations that read as zeros. A page is "never written" while it is zeros or beyond the end.
//! P3. `unsynced` is set before a write and cleared before the sync that covers it.
//! P4. Pages at or above `written_end` were never written; below it they may have been. After opening that is the length.
//! P5. Until redo has ended, a file that is opened counts as unsynced: a process that was killed may have left writes that stand
//!     in the operating system's cache alone. They are read and taken for done, so they must be durable before the copies in the
//!     doublewrite are written over or a checkpoint moves on.
//!     Names likewise: what redo finds gone must not come back, with records of it in a later redo and their pages not written.
//! P6. A space that was removed stays removed: its number is never used again.
//!
//! # Crashes
//! `create` makes the name durable before it returns; the length may be lost, redo grows the file again. `remove` unlinks and
//! then syncs the directory: after a crash in between the file may be back, and recovery removes files without an owner.

use crate::pool::PoolError;
use base::{PAGE_SIZE, PageId, PageNo, SpaceId};
use env::{Caching, Disk, DiskError, DiskResult, File, OpenMode};
use hashbrown::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Directory of the data files.
pub(crate) const DIRECTORY: &str = "spaces";
/// First allocation, and the unit of all.
const STEP_MIN: u64 = 8;
/// Largest allocation: 16 MiB.
const STEP_MAX: u64 = 1024;

/// Path of a space's file.
pub(crate) fn path(space: SpaceId) -> String {
    format!("{DIRECTORY}/{:06}.morse", space.0)
}

/// The open files.
pub(crate) struct Spaces {
    disk: Arc<dyn Disk>,
    caching: Caching,
    open_max: usize,
    open: RwLock<HashMap<SpaceId, Arc<SpaceFile>>>,
    uses: AtomicU64,
    /// Redo has not ended (P5).
    starting: AtomicBool,
}

/// One open file.
pub(crate) struct SpaceFile {
    file: Arc<dyn File>,
    /// Pages the file has room for.
    pages: AtomicU64,
    written_end: AtomicU64,
    unsynced: AtomicBool,
    last_use: AtomicU64,
    /// Held while the file grows.
    growing: Mutex<()>,
}

impl Spaces {
    /// Makes the directory when it is missing; otherwise makes the names in it durable (P5).
    pub(crate) fn open(disk: Arc<dyn Disk>, caching: Caching, open_max: usize) -> DiskResult<Self> {
        if !disk.exists(DIRECTORY)? {
            disk.create_dir(DIRECTORY)?;
            disk.sync_dir("")?;
        } else {
            disk.sync_dir(DIRECTORY)?;
        }
        Ok(Self {
            disk,
            caching,
            open_max,
            open: RwLock::default(),
            uses: AtomicU64::new(0),
            starting: AtomicBool::new(true),
        })
    }

    /// Redo has ended: what the last process left unsynced has been met (P5).
    pub(crate) fn started(&self) {
        self.starting.store(false, Ordering::Release);
    }

    /// Makes the file of a new space.
    pub(crate) fn create(&self, space: SpaceId) -> Result<(), PoolError> {
        let name = path(space);
        let file = self.disk.open(&name, OpenMode::CreateNew, self.caching)?;
        let grown =
            file.allocate(0, STEP_MIN * PAGE_SIZE as u64).and_then(|()| self.disk.sync_dir(DIRECTORY));
        if let Err(error) = grown {
            // Leave nothing behind where possible; recovery removes what has no owner.
            let _ = self.disk.remove(&name);
            return Err(error.into());
        }
        self.insert(space, file, STEP_MIN, 0);
        Ok(())
    }

    /// Unlinks a space's file. Pages in memory are the pool's business.
    pub(crate) fn remove(&self, space: SpaceId) -> DiskResult<()> {
        self.forget(space);
        match self.disk.remove(&path(space)) {
            Err(error) if error.is_missing() => Ok(()),
            Err(error) => Err(error),
            Ok(()) => self.disk.sync_dir(DIRECTORY),
        }
    }

    /// Closes a space's file.
    fn forget(&self, space: SpaceId) {
        self.open.write().unwrap_or_else(PoisonError::into_inner).remove(&space);
    }

    /// Spaces that have a file, in order.
    pub(crate) fn list(&self) -> DiskResult<Vec<SpaceId>> {
        let mut spaces: Vec<SpaceId> = self
            .disk
            .list(DIRECTORY)?
            .iter()
            .filter_map(|name| name.strip_suffix(".morse")?.parse().ok().map(SpaceId))
            .collect();
        spaces.sort_unstable();
        Ok(spaces)
    }

    pub(crate) fn get(&self, space: SpaceId) -> Result<Arc<SpaceFile>, PoolError> {
        let found = self.open.read().unwrap_or_else(PoisonError::into_inner).get(&space).cloned();
        if let Some(file) = found {
            file.last_use.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
            return Ok(file);
        }
        // Opened under the lock, so that a removal (which takes it) leaves no handle behind.
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.get(&space) {
            return Ok(file.clone());
        }
        let file = match self.disk.open(&path(space), OpenMode::Existing, self.caching) {
            Err(error) if error.is_missing() => return Err(PoolError::NoSpace(space)),
            other => other?,
        };
        let pages = file.len()? / PAGE_SIZE as u64;
        let file = self.insert_into(&mut open, space, file, pages, pages);
        file.unsynced.store(self.starting.load(Ordering::Acquire), Ordering::Release);
        Ok(file)
    }

    fn insert(&self, space: SpaceId, file: Arc<dyn File>, pages: u64, written_end: u64) {
        let mut open = self.open.write().unwrap_or_else(PoisonError::into_inner);
        self.insert_into(&mut open, space, file, pages, written_end);
    }

    fn insert_into(
        &self,
        open: &mut HashMap<SpaceId, Arc<SpaceFile>>,
        space: SpaceId,
        file: Arc<dyn File>,
        pages: u64,
        written_end: u64,
    ) -> Arc<SpaceFile> {
        if open.len() >= self.open_max {
            let idle = open
                .iter()
                .filter(|(_, f)| Arc::strong_count(f) == 1 && !f.unsynced.load(Ordering::Acquire))
                .min_by_key(|(_, f)| f.last_use.load(Ordering::Relaxed))
                .map(|(space, _)| *space);
            if let Some(idle) = idle {
                open.remove(&idle);
            }
        }
        let file = Arc::new(SpaceFile {
            file,
            pages: AtomicU64::new(pages),
            written_end: AtomicU64::new(written_end),
            unsynced: AtomicBool::new(false),
            last_use: AtomicU64::new(self.uses.fetch_add(1, Ordering::Relaxed)),
            growing: Mutex::new(()),
        });
        open.insert(space, file.clone());
        file
    }

    /// Syncs every file with unsynced writes; returns how many. The first failure ends it and is final (L7).
    pub(crate) fn sync(&self) -> Result<u64, DiskError> {
        let files: Vec<Arc<SpaceFile>> =
            self.open.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        let mut synced = 0;
        for file in files {
            if file.unsynced.swap(false, Ordering::AcqRel) {
                file.file.sync_data()?;
                synced += 1;
            }
        }
        Ok(synced)
    }
}

impl SpaceFile {
    /// Pages the file has room for.
    pub(crate) fn pages(&self) -> u64 {
        self.pages.load(Ordering::Acquire)
    }

    /// Reads one page; `false` when it lies beyond the end.
    pub(crate) fn read(&self, no: PageNo, page: &mut [u8; PAGE_SIZE]) -> DiskResult<bool> {
        if u64::from(no.0) >= self.pages() {
            return Ok(false);
        }
        self.file.read_at(page, offset(no))?;
        Ok(true)
    }

    /// Writes neighbouring pages with one call.
    pub(crate) fn write(&self, first: PageNo, pages: &[u8]) -> DiskResult<()> {
        debug_assert!(pages.len().is_multiple_of(PAGE_SIZE), "whole pages only");
        let end = u64::from(first.0) + (pages.len() / PAGE_SIZE) as u64;
        self.reserve(end)?;
        self.written_end.fetch_max(end, Ordering::AcqRel);
        self.unsynced.store(true, Ordering::Release);
        self.file.write_at(pages, offset(first))
    }

    /// Grows the file until it holds `pages` pages. The steps grow with the file, so that small tables stay small.
    pub(crate) fn reserve(&self, pages: u64) -> DiskResult<()> {
        if pages <= self.pages() {
            return Ok(());
        }
        let _growing = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.pages();
        if pages <= now {
            return Ok(());
        }
        let step = (now / 2).next_multiple_of(STEP_MIN).clamp(STEP_MIN, STEP_MAX);
        let end = pages.max(now + step).next_multiple_of(STEP_MIN);
        self.unsynced.store(true, Ordering::Release);
        self.file.allocate(now * PAGE_SIZE as u64, (end - now) * PAGE_SIZE as u64)?;
        self.pages.store(end, Ordering::Release);
        Ok(())
    }
}

fn offset(no: PageNo) -> u64 {
    u64::from(no.0) * PAGE_SIZE as u64
}

/// The space of a page has room for it after this; says whether the page was never written (P4).
pub(crate) fn reserve_for(spaces: &Spaces, id: PageId) -> Result<bool, PoolError> {
    let file = spaces.get(id.space)?;
    file.reserve(u64::from(id.no.0) + 1)?;
    Ok(u64::from(id.no.0) >= file.written_end.load(Ordering::Acquire))
}
