//! Removed files give their blocks back in pieces.
//!
//! The last descriptor of a removed file frees all its blocks at once. Where that tells the device to discard them (ext4 mounted with
//! `discard`), it takes one request a 64 MiB: on a virtual disk 43 ms each, 0.65 ms a MiB, one behind the other for a gigabyte, and a sync that is
//! issued meanwhile waits for the one that runs. Every commit stood still for 50 to 230 ms again and again after a log segment had gone.
//! So a large file's name goes at once, and its blocks from the end, [`PIECE`] by [`PIECE`], with pauses in which syncs pass.
//!
//! # Invariants
//! R1. Only a file without a name is cut, and only while nobody else has it open: readers of a removed file see all of it until they
//!     close it, and a file with another link stays whole.
//! R2. What cannot be cut in pieces is closed, which frees it at once. Nobody waits for this but a caller whom the disk refused room.
//!
//! A process that ends closes them: the kernel then frees what is left at once.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::thread;

/// Freed at once: about a millisecond of a disk that takes its time.
const PIECE: u64 = 1 << 20;
/// Files up to this size go at once.
const SMALL: u64 = 4 << 20;
/// Pauses are this many times as long as the piece before took: syncs get four fifths of the device.
const PAUSE_SHARE: u32 = 4;
/// And at least this long: a journal may discard later what it has freed.
const PAUSE_MIN: Duration = Duration::from_millis(2);
/// Until a file that others have open is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A removed file that this process alone may still hold.
#[derive(Debug)]
pub(crate) struct Doomed {
    fd: OwnedFd,
    len: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Somebody else has it open.
    InUse,
    More,
    Done,
}

impl Doomed {
    /// Removes a file. What is left to free, if it is worth pieces.
    pub(crate) fn remove(path: &Path) -> io::Result<Option<Self>> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = std::fs::OpenOptions::new();
        let file = options
            .write(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(path);
        std::fs::remove_file(path)?;
        let Ok(file) = file else { return Ok(None) };
        let Ok(facts) = file.metadata() else { return Ok(None) };
        let unnamed = std::os::unix::fs::MetadataExt::nlink(&facts) == 0;
        let worth = facts.is_file() && unnamed && facts.len() > SMALL;
        Ok(worth.then(|| Self { fd: file.into(), len: facts.len() }))
    }

    /// Frees one piece.
    pub(crate) fn cut(&mut self) -> Cut {
        match self.is_in_use() {
            Ok(true) => return Cut::InUse,
            Ok(false) => {}
            Err(_) => return Cut::Done,
        }
        self.len = self.len.saturating_sub(PIECE);
        // SAFETY: `fd` is open as long as the value lives.
        let cut = unsafe { libc::ftruncate(self.fd.as_raw_fd(), self.len as i64) };
        if cut == 0 && self.len > 0 { Cut::More } else { Cut::Done }
    }

    /// Whether there is another open description of it: the kernel grants a lease for writing only if there is none. It is given back at
    /// once; without a name nobody can open the file any more.
    fn is_in_use(&self) -> io::Result<bool> {
        // SAFETY: `fd` is open as long as the value lives.
        let lease = |kind: i32| match unsafe { libc::fcntl(self.fd.as_raw_fd(), libc::F_SETLEASE, kind) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        };
        match lease(libc::F_WRLCK) {
            Ok(()) => lease(libc::F_UNLCK).map(|()| false),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(e) => Err(e),
        }
    }
}

/// Files to free; whoever frees a piece holds the lock. And whether the thread runs.
static TODO: (Mutex<(VecDeque<Doomed>, bool)>, Condvar) =
    (Mutex::new((VecDeque::new(), false)), Condvar::new());

fn todo() -> MutexGuard<'static, (VecDeque<Doomed>, bool)> {
    TODO.0.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Frees the file's blocks by and by.
pub(crate) fn later(doomed: Doomed) {
    let mut todo = todo();
    let (files, runs) = &mut *todo;
    files.push_back(doomed);
    if !*runs {
        *runs = thread::spawn("reclaim", thread::SMALL_STACK, run).is_ok();
    }
    if !*runs {
        files.clear(); // R2
    }
    TODO.1.notify_one();
}

/// Frees at once what can be; answers whether there was anything. For who was refused room.
pub(crate) fn now() -> bool {
    let mut todo = todo();
    let before = todo.0.len();
    todo.0.retain_mut(|doomed| {
        let mut cut = doomed.cut();
        while cut == Cut::More {
            cut = doomed.cut();
        }
        cut == Cut::InUse
    });
    todo.0.len() < before
}

fn run() {
    let mut in_use = 0;
    loop {
        let pause = {
            let mut todo =
                TODO.1.wait_while(todo(), |todo| todo.0.is_empty()).unwrap_or_else(PoisonError::into_inner);
            let files = &mut todo.0;
            let Some(mut doomed) = files.pop_front() else { continue };
            let begin = Instant::now();
            match doomed.cut() {
                Cut::Done => in_use = 0,
                Cut::More => {
                    in_use = 0;
                    files.push_front(doomed);
                }
                Cut::InUse => {
                    in_use += 1;
                    files.push_back(doomed);
                }
            }
            if in_use >= files.len().max(1) {
                in_use = 0;
                LOOK_AGAIN
            } else {
                (begin.elapsed() * PAUSE_SHARE).max(PAUSE_MIN)
            }
        };
        std::thread::sleep(pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(len: u64) -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("large");
        std::fs::write(&path, vec![7; usize::try_from(len).unwrap()]).unwrap();
        (dir, path)
    }

    #[test]
    fn a_removed_file_goes_piece_by_piece_once_nobody_reads_it() {
        let (_dir, path) = file(SMALL + PIECE + 1);
        let reader = std::fs::File::open(&path).unwrap();
        let mut doomed = Doomed::remove(&path).unwrap().expect("it is large");
        assert!(!path.exists());
        assert_eq!(doomed.cut(), Cut::InUse);
        assert_eq!(reader.metadata().unwrap().len(), SMALL + PIECE + 1);
        drop(reader);
        let mut pieces = 1;
        while doomed.cut() == Cut::More {
            pieces += 1;
            assert_eq!(doomed.len, SMALL + PIECE + 1 - (pieces - 1) * PIECE);
        }
        assert_eq!(pieces, (SMALL + PIECE) / PIECE + 1);
    }

    #[test]
    fn a_file_with_another_name_stays_whole_and_a_small_one_goes_at_once() {
        let (dir, path) = file(SMALL + 1);
        let other = dir.path().join("other");
        std::fs::hard_link(&path, &other).unwrap();
        assert!(Doomed::remove(&path).unwrap().is_none());
        assert_eq!(other.metadata().unwrap().len(), SMALL + 1);
        std::fs::write(&path, b"small").unwrap();
        assert!(Doomed::remove(&path).unwrap().is_none());
        assert!(!path.exists());
        assert_eq!(Doomed::remove(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
