//! Files of users, outside the data directory's own: LOAD DATA, SELECT ... INTO OUTFILE, LOAD_FILE.
//!
//! They are read and written once, from start to end, and never synced: nothing of the server depends on them.

use std::fs;
use std::io::{self, BufReader, BufWriter, Read, Write};

/// A file to read.
pub struct Source(BufReader<fs::File>);

/// A new file that is being written.
pub struct Target(BufWriter<fs::File>);

impl Source {
    pub fn open(path: &str) -> io::Result<Self> {
        let file = fs::File::open(path)?;
        if file.metadata()?.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(Self(BufReader::with_capacity(64 * 1024, file)))
    }
    /// Bytes of the whole file.
    pub fn len(&self) -> io::Result<u64> {
        Ok(self.0.get_ref().metadata()?.len())
    }
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

impl Read for Source {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl Target {
    /// Makes a file that must not exist.
    pub fn create(path: &str) -> io::Result<Self> {
        let file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
        Ok(Self(BufWriter::with_capacity(64 * 1024, file)))
    }
}

impl Write for Target {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A file that no name leads to: it is gone with the process that made it.
#[derive(Debug)]
pub struct Temporary(fs::File);

impl Temporary {
    /// Makes one in a directory and removes its name at once.
    pub fn create(directory: &str) -> io::Result<Self> {
        for _ in 0..16 {
            let path =
                format!("{}/morsed-{:016x}.tmp", directory.trim_end_matches('/'), crate::random::seed());
            match fs::OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => {
                    fs::remove_file(&path)?;
                    return Ok(Self(file));
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.0, bytes, offset)
    }
    /// Fills `buf` from `offset`.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, buf, offset)
    }
}
