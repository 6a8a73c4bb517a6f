//! The operating system's files, rooted at one directory.
//!
//! # Invariants
//! O1. Positional I/O and syncs are calls of libc's `pread`, `pwrite`, `fdatasync`, `fsync` and `fallocate` (E2).
//! O2. `fd` of an [`OsFile`] is open as long as the value lives.
//! O3. A `Direct` file that was opened with O_DIRECT sees only aligned offsets, lengths and buffers; a buffer that is not
//!     aligned is copied through an [`AlignedBuf`], an offset or a length that is not is the caller's bug.

use crate::aligned::{ALIGNMENT, AlignedBuf};
use crate::{Caching, Disk, DiskError, DiskResult, File, OpenMode, reclaim};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A directory of the real file system.
#[derive(Debug, Clone)]
pub struct OsDisk {
    root: PathBuf,
}

impl OsDisk {
    /// The directory must exist.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Makes the directory, and those above it, when they are missing.
    pub fn create_root(&self) -> io::Result<()> {
        std::fs::create_dir_all(&self.root)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    fn full(&self, path: &str) -> PathBuf {
        debug_assert!(crate::is_clean(path), "'{path}' is not a clean relative path");
        self.root.join(path)
    }

    fn open_fd(&self, path: &str, flags: i32) -> io::Result<OwnedFd> {
        let name = CString::new(self.full(path).as_os_str().as_bytes())?;
        loop {
            // SAFETY: `name` is a nul-terminated string that outlives the call.
            let fd = unsafe { libc::open(name.as_ptr(), flags | libc::O_CLOEXEC, 0o640) };
            if fd >= 0 {
                // SAFETY: `fd` was just opened and nobody else owns it.
                return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

impl Disk for OsDisk {
    fn open(&self, path: &str, mode: OpenMode, caching: Caching) -> DiskResult<Arc<dyn File>> {
        let flags = libc::O_RDWR
            | match mode {
                OpenMode::Existing => 0,
                OpenMode::Create => libc::O_CREAT,
                OpenMode::CreateNew => libc::O_CREAT | libc::O_EXCL,
            };
        let wants_direct = caching == Caching::Direct;
        let opened = match self.open_fd(path, flags | if wants_direct { libc::O_DIRECT } else { 0 }) {
            // The file system has no O_DIRECT. The failed call may have made the file, so O_EXCL must go.
            Err(e) if wants_direct && e.raw_os_error() == Some(libc::EINVAL) => {
                self.open_fd(path, flags & !libc::O_EXCL).map(|fd| (fd, false))
            }
            other => other.map(|fd| (fd, wants_direct)),
        };
        let (fd, direct) = opened.map_err(|e| DiskError::new("open", path, e))?;
        Ok(Arc::new(OsFile { fd, path: path.to_owned(), aligned: wants_direct, direct }))
    }

    fn exists(&self, path: &str) -> DiskResult<bool> {
        self.full(path).try_exists().map_err(|e| DiskError::new("stat", path, e))
    }

    fn create_dir(&self, path: &str) -> DiskResult<()> {
        match std::fs::create_dir(self.full(path)) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && self.full(path).is_dir() => Ok(()),
            other => other.map_err(|e| DiskError::new("create_dir", path, e)),
        }
    }

    fn list(&self, path: &str) -> DiskResult<Vec<String>> {
        let read = || -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in std::fs::read_dir(self.full(path))? {
                names.push(entry?.file_name().to_string_lossy().into_owned());
            }
            names.sort_unstable();
            Ok(names)
        };
        read().map_err(|e| DiskError::new("list", path, e))
    }

    fn rename(&self, from: &str, to: &str) -> DiskResult<()> {
        std::fs::rename(self.full(from), self.full(to)).map_err(|e| DiskError::new("rename", from, e))
    }

    fn remove(&self, path: &str) -> DiskResult<()> {
        let full = self.full(path);
        let removed = if full.is_dir() {
            std::fs::remove_dir(&full)
        } else {
            reclaim::Doomed::remove(&full).map(|doomed| doomed.into_iter().for_each(reclaim::later))
        };
        removed.map_err(|e| DiskError::new("remove", path, e))
    }

    fn sync_dir(&self, path: &str) -> DiskResult<()> {
        let sync = || -> io::Result<()> {
            let name = CString::new(self.full(path).as_os_str().as_bytes())?;
            let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
            // SAFETY: `name` is a nul-terminated string that outlives the call.
            let fd = unsafe { libc::open(name.as_ptr(), flags) };
            if fd < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: `fd` was just opened and nobody else owns it.
            let fd = unsafe { OwnedFd::from_raw_fd(fd) };
            // SAFETY: `fd` is open.
            ok(unsafe { libc::fsync(fd.as_raw_fd()) })
        };
        sync().map_err(|e| DiskError::new("sync_dir", path, e))
    }

    fn lock(&self, path: &str) -> DiskResult<Box<dyn Send + Sync>> {
        let fd =
            self.open_fd(path, libc::O_RDWR | libc::O_CREAT).map_err(|e| DiskError::new("open", path, e))?;
        // SAFETY: `fd` is open. The lock ends when the guard closes it, or with the process.
        ok(unsafe { libc::flock(fd.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) })
            .map_err(|e| DiskError::new("lock", path, e))?;
        // The name of a lock file can be removed by whoever tidies up; the directory that it is in cannot.
        let directory = Path::new(path).parent().filter(|p| !p.as_os_str().is_empty());
        let directory = directory.map_or_else(|| ".".to_owned(), |p| p.display().to_string());
        let dir = self
            .open_fd(&directory, libc::O_RDONLY | libc::O_DIRECTORY)
            .map_err(|e| DiskError::new("open", &directory, e))?;
        // SAFETY: `dir` is open. The lock ends when the guard closes it, or with the process.
        ok(unsafe { libc::flock(dir.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) })
            .map_err(|e| DiskError::new("lock", path, e))?;
        Ok(Box::new((fd, dir)))
    }

    fn free_space(&self) -> DiskResult<u64> {
        let query = || -> io::Result<u64> {
            let name = CString::new(self.root.as_os_str().as_bytes())?;
            // SAFETY: an all-zero statvfs is a valid value, and `name` is nul-terminated.
            let mut stat: libc::statvfs = unsafe { std::mem::zeroed() };
            // SAFETY: both pointers are live for the call.
            ok(unsafe { libc::statvfs(name.as_ptr(), &raw mut stat) })?;
            Ok(stat.f_bavail * stat.f_frsize)
        };
        query().map_err(|e| DiskError::new("statvfs", ".", e))
    }
}

/// One open file of the real file system.
#[derive(Debug)]
struct OsFile {
    fd: OwnedFd,
    path: String,
    /// Opened as [`Caching::Direct`]: callers owe alignment even where O_DIRECT is missing.
    aligned: bool,
    /// The descriptor has O_DIRECT.
    direct: bool,
}

impl OsFile {
    fn check(&self, operation: &'static str, offset: u64, len: usize) -> DiskResult<()> {
        if self.aligned && !(offset as usize | len).is_multiple_of(ALIGNMENT) {
            let reason = format!("offset {offset} or length {len} is not a multiple of {ALIGNMENT}");
            return Err(self.error(operation, io::Error::new(io::ErrorKind::InvalidInput, reason)));
        }
        Ok(())
    }

    fn needs_copy(&self, buf: &[u8]) -> bool {
        self.direct && !(buf.as_ptr() as usize).is_multiple_of(ALIGNMENT)
    }

    fn error(&self, operation: &'static str, source: io::Error) -> DiskError {
        DiskError::new(operation, &self.path, source)
    }

    fn read_raw(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < buf.len() {
            let rest = &mut buf[done..];
            // SAFETY: O2, and the pointer and the length describe `rest`.
            let n = unsafe {
                libc::pread(
                    self.fd.as_raw_fd(),
                    rest.as_mut_ptr().cast(),
                    rest.len(),
                    offset as i64 + done as i64,
                )
            };
            match n {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n if n > 0 => done += n as usize,
                _ => match io::Error::last_os_error() {
                    e if e.kind() == io::ErrorKind::Interrupted => {}
                    e => return Err(e),
                },
            }
        }
        Ok(())
    }

    fn write_raw(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < buf.len() {
            let rest = &buf[done..];
            // SAFETY: O2, and the pointer and the length describe `rest`.
            let n = unsafe {
                libc::pwrite(
                    self.fd.as_raw_fd(),
                    rest.as_ptr().cast(),
                    rest.len(),
                    offset as i64 + done as i64,
                )
            };
            match n {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                n if n > 0 => done += n as usize,
                _ => match io::Error::last_os_error() {
                    e if e.kind() == io::ErrorKind::Interrupted || found_room(&e) => {}
                    e => return Err(e),
                },
            }
        }
        Ok(())
    }
}

impl File for OsFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> DiskResult<()> {
        self.check("read", offset, buf.len())?;
        if self.needs_copy(buf) {
            let mut copy = AlignedBuf::zeroed(buf.len());
            self.read_raw(&mut copy, offset).map_err(|e| self.error("read", e))?;
            buf.copy_from_slice(&copy);
            return Ok(());
        }
        self.read_raw(buf, offset).map_err(|e| self.error("read", e))
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> DiskResult<()> {
        self.check("write", offset, buf.len())?;
        if self.needs_copy(buf) {
            let mut copy = AlignedBuf::zeroed(buf.len());
            copy.copy_from_slice(buf);
            return self.write_raw(&copy, offset).map_err(|e| self.error("write", e));
        }
        self.write_raw(buf, offset).map_err(|e| self.error("write", e))
    }

    fn sync_data(&self) -> DiskResult<()> {
        // SAFETY: O2. Not retried, not even when interrupted: E3.
        ok(unsafe { libc::fdatasync(self.fd.as_raw_fd()) }).map_err(|e| self.error("fdatasync", e))
    }

    fn len(&self) -> DiskResult<u64> {
        // SAFETY: an all-zero stat is a valid value.
        let mut stat: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: O2, and `stat` is live for the call.
        ok(unsafe { libc::fstat(self.fd.as_raw_fd(), &raw mut stat) }).map_err(|e| self.error("fstat", e))?;
        Ok(stat.st_size as u64)
    }

    fn set_len(&self, len: u64) -> DiskResult<()> {
        // SAFETY: O2.
        ok(unsafe { libc::ftruncate(self.fd.as_raw_fd(), len as i64) })
            .map_err(|e| self.error("ftruncate", e))
    }

    fn allocate(&self, offset: u64, len: u64) -> DiskResult<()> {
        loop {
            // SAFETY: O2.
            let result = ok(unsafe { libc::fallocate(self.fd.as_raw_fd(), 0, offset as i64, len as i64) });
            match result {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // No preallocation here: a longer file has to do; a full disk then shows at the write.
                Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                    return if self.len()? < offset + len { self.set_len(offset + len) } else { Ok(()) };
                }
                Err(e) if found_room(&e) => {}
                other => return other.map_err(|e| self.error("fallocate", e)),
            }
        }
    }
}

/// Whether a call that found the disk full may be made again: the room of removed files, which comes in pieces, has just been freed.
fn found_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) && reclaim::now()
}

fn ok(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
