//! The index: names of the files of the binary log, one a line, oldest first.
//!
//! # Crash
//! A name is appended and synced; half a line is no name, and the next start writes the index anew without it. A shorter index is written
//! beside the old one and renamed over it. A file whose name is not in the index is not part of the binary log (W1).

use std::sync::Arc;

use env::{Caching, Disk, DiskResult, OpenMode};

use crate::names::Names;

/// Numbers of the files that there are.
pub(crate) struct Index {
    disk: Arc<dyn Disk>,
    names: Names,
    numbers: Vec<u64>,
    /// Bytes of the file.
    len: u64,
}

impl Index {
    pub(crate) fn open(disk: Arc<dyn Disk>, names: Names) -> DiskResult<Self> {
        let mut index = Self { disk, names, numbers: Vec::new(), len: 0 };
        if !index.disk.exists(index.names.index())? {
            return Ok(index);
        }
        let file = index.disk.open(index.names.index(), OpenMode::Existing, Caching::Buffered)?;
        let mut bytes = vec![0; file.len()? as usize];
        file.read_at(&mut bytes, 0)?;
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let text = String::from_utf8_lossy(&bytes[..whole]).into_owned();
        let found: Vec<u64> = text.lines().filter_map(|line| index.names.number(line.trim())).collect();
        index.len = whole as u64;
        let mut sorted = found.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if whole < bytes.len() || sorted != found {
            index.replace(sorted)?;
        } else {
            index.numbers = found;
        }
        Ok(index)
    }

    /// Oldest first.
    pub(crate) fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// Durable when it returns (W1).
    pub(crate) fn append(&mut self, number: u64) -> DiskResult<()> {
        let file = self.disk.open(self.names.index(), OpenMode::Create, Caching::Buffered)?;
        let line = self.names.line(number);
        if let Err(e) = file.write_at(line.as_bytes(), self.len) {
            // Half a name must not stay: it would be part of the next one.
            file.set_len(self.len)?;
            return Err(e);
        }
        file.sync_data()?;
        if self.len == 0 {
            self.disk.sync_dir("")?;
        }
        self.len += line.len() as u64;
        self.numbers.push(number);
        Ok(())
    }

    /// Durable when it returns.
    pub(crate) fn replace(&mut self, numbers: Vec<u64>) -> DiskResult<()> {
        let text: String = numbers.iter().map(|n| self.names.line(*n)).collect();
        let new = self.names.new_index();
        let file = self.disk.open(&new, OpenMode::Create, Caching::Buffered)?;
        file.set_len(0)?;
        file.write_at(text.as_bytes(), 0)?;
        file.sync_data()?;
        self.disk.rename(&new, self.names.index())?;
        self.disk.sync_dir("")?;
        (self.numbers, self.len) = (numbers, text.len() as u64);
        Ok(())
    }
}
