//! Rows by number that need not fit into memory: pages of rows, those used least lately in a temporary file.
//!
//! Rows are appended, then read and changed by number. A page that leaves memory is written behind the others when it was changed
//! (or never written); reading one row of it brings all of it back. Memory holds what its room allows, and four pages at least,
//! for the places that a frame has: its ends and the current row.
//!
//! Every look at a row looks whether the statement was killed: a function may look at the whole partition for each of its rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use env::files::Temporary;
use sql_plan::error::{SqlError, SqlResult};

use crate::spill::{Row, Space, decode_rows, encode_rows, file_error, over_limit, weight};

/// A page ends with as many rows or bytes.
const ROWS: usize = 256;
const BYTES: usize = 64 * 1024;
const LEAST_PAGES: usize = 4;

pub(crate) struct PagedRows {
    space: Space,
    /// Set when the statement is killed.
    killed: Option<Arc<AtomicBool>>,
    pages: Vec<Page>,
    /// Number of the first row of each page.
    starts: Vec<usize>,
    len: usize,
    /// Pages in memory, and what they take.
    resident: Vec<usize>,
    bytes: usize,
    clock: u64,
    file: Option<Temporary>,
    end: u64,
}

#[derive(Default)]
struct Page {
    /// Empty when the page is in the file alone.
    rows: Vec<Row>,
    bytes: usize,
    used: u64,
    dirty: bool,
    /// Where it stands in the file.
    at: u64,
    length: usize,
}

impl PagedRows {
    pub(crate) fn new(space: Space, killed: Option<Arc<AtomicBool>>) -> Self {
        Self {
            space,
            killed,
            pages: Vec::new(),
            starts: Vec::new(),
            len: 0,
            resident: Vec::new(),
            bytes: 0,
            clock: 0,
            file: None,
            end: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn look_for_kill(&self) -> SqlResult<()> {
        match &self.killed {
            Some(killed) if killed.load(Ordering::Relaxed) => Err(SqlError::Interrupted),
            _ => Ok(()),
        }
    }

    pub(crate) fn push(&mut self, row: Row) -> SqlResult<()> {
        self.look_for_kill()?;
        let fits =
            self.pages.last().is_some_and(|p| !p.rows.is_empty() && p.rows.len() < ROWS && p.bytes < BYTES);
        if !fits {
            self.make_room()?;
            self.resident.push(self.pages.len());
            self.pages.push(Page { dirty: true, ..Page::default() });
            self.starts.push(self.len);
        }
        let bytes = weight(&row);
        if let Some(page) = self.pages.last_mut() {
            self.clock += 1;
            page.used = self.clock;
            page.rows.push(row);
            page.bytes += bytes;
        }
        self.bytes += bytes;
        self.len += 1;
        Ok(())
    }

    pub(crate) fn get(&mut self, number: usize) -> SqlResult<&Row> {
        let (page, at) = self.find(number)?;
        Ok(&self.pages[page].rows[at])
    }

    pub(crate) fn get_mut(&mut self, number: usize) -> SqlResult<&mut Row> {
        let (page, at) = self.find(number)?;
        self.pages[page].dirty = true;
        Ok(&mut self.pages[page].rows[at])
    }

    fn find(&mut self, number: usize) -> SqlResult<(usize, usize)> {
        self.look_for_kill()?;
        let page = self.starts.partition_point(|start| *start <= number) - 1;
        if self.pages[page].rows.is_empty() {
            self.make_room()?;
            self.load(page)?;
        }
        self.clock += 1;
        self.pages[page].used = self.clock;
        Ok((page, number - self.starts[page]))
    }

    /// Sends the pages that were used least lately to the file until there is room.
    fn make_room(&mut self) -> SqlResult<()> {
        while self.bytes > self.space.bytes && self.resident.len() >= LEAST_PAGES {
            let least = (0..self.resident.len()).min_by_key(|r| self.pages[self.resident[*r]].used);
            let Some(least) = least else { break };
            let number = self.resident.swap_remove(least);
            self.write(number)?;
        }
        Ok(())
    }

    fn write(&mut self, number: usize) -> SqlResult<()> {
        let page = &mut self.pages[number];
        if page.dirty {
            let bytes = encode_rows(&page.rows);
            if self.end + bytes.len() as u64 > self.space.file {
                return Err(over_limit());
            }
            let file = match &self.file {
                Some(file) => file,
                None => self.file.insert(Temporary::create(&self.space.directory).map_err(file_error)?),
            };
            // A page that has grown goes to the end; what it leaves is lost until the file goes.
            if bytes.len() > page.length {
                page.at = self.end;
                self.end += bytes.len() as u64;
            }
            file.write_at(&bytes, page.at).map_err(file_error)?;
            page.length = bytes.len();
            page.dirty = false;
        }
        page.rows = Vec::new();
        self.bytes -= page.bytes;
        Ok(())
    }

    fn load(&mut self, number: usize) -> SqlResult<()> {
        let page = &mut self.pages[number];
        let mut bytes = vec![0; page.length];
        if let Some(file) = &self.file {
            file.read_at(&mut bytes, page.at).map_err(file_error)?;
        }
        page.rows = decode_rows(&bytes)?;
        page.bytes = page.rows.iter().map(|r| weight(r)).sum();
        self.bytes += page.bytes;
        self.resident.push(number);
        Ok(())
    }

    /// Whether some rows have been in the file.
    pub(crate) fn on_disk(&self) -> bool {
        self.file.is_some()
    }

    /// All rows in order, given away page by page.
    pub(crate) fn into_rows(self) -> IntoRows {
        IntoRows { next: 0, row: Vec::new().into_iter(), paged: self }
    }
}

pub(crate) struct IntoRows {
    paged: PagedRows,
    next: usize,
    row: std::vec::IntoIter<Row>,
}

impl IntoRows {
    pub(crate) fn next(&mut self) -> SqlResult<Option<Row>> {
        loop {
            if let Some(row) = self.row.next() {
                return Ok(Some(row));
            }
            if self.next == self.paged.pages.len() {
                return Ok(None);
            }
            self.paged.look_for_kill()?;
            if self.paged.pages[self.next].rows.is_empty() {
                self.paged.load(self.next)?;
            }
            self.row = std::mem::take(&mut self.paged.pages[self.next].rows).into_iter();
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Value;

    fn space(bytes: usize) -> Space {
        Space { bytes, directory: "/tmp".into(), file: u64::MAX }
    }

    #[test]
    fn a_kill_ends_every_look_at_a_row() {
        let killed = Arc::new(AtomicBool::new(false));
        let mut rows = PagedRows::new(space(usize::MAX), Some(Arc::clone(&killed)));
        rows.push(vec![Value::Int(1)]).unwrap();
        killed.store(true, Ordering::Relaxed);
        assert!(matches!(rows.push(vec![Value::Int(2)]), Err(SqlError::Interrupted)));
        assert!(matches!(rows.get(0), Err(SqlError::Interrupted)));
        assert!(matches!(rows.get_mut(0), Err(SqlError::Interrupted)));
        assert!(matches!(rows.into_rows().next(), Err(SqlError::Interrupted)));
    }

    #[test]
    fn rows_keep_their_changes_in_memory_and_on_disk() {
        for bytes in [0, 50_000, usize::MAX] {
            let mut rows = PagedRows::new(space(bytes), None);
            for i in 0..5_000 {
                rows.push(vec![Value::Int(i), Value::Null]).unwrap();
            }
            for i in 0..5_000 {
                let at = (i * 7919 % 5_000) as usize;
                rows.get_mut(at).unwrap()[1] = Value::utf8(&format!("a text for row {at}"));
            }
            assert_eq!(format!("{:?}", rows.get(77).unwrap()[0]), "Int(77)");
            assert_eq!((rows.len(), rows.on_disk()), (5_000, bytes != usize::MAX));
            let mut rows = rows.into_rows();
            for i in 0..5_000i64 {
                let row = rows.next().unwrap().unwrap();
                let expected = vec![Value::Int(i), Value::utf8(&format!("a text for row {i}"))];
                assert_eq!(format!("{row:?}"), format!("{expected:?}"));
            }
            assert!(rows.next().unwrap().is_none());
        }
    }
}
