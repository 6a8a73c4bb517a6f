//! The index of a file: where groups begin, and the GTID state there. A start by GTID or by place reads little of the file with it.
//!
//! # Layout of `NAME.000001.idx`
//! ```text
//! page 0      magic 8 | page size u32 | length of the file's head u32 | CRC of the head u32 | CRC of these u32 | zeros
//! page 1...   entries, the first with the whole state, each other with what has changed since the one before; zeros
//! entry       length of the rest u32 | offset varint | count varint | {domain, server, sequence number: varints}... | CRC u32
//! ```
//! CRCs are CRC-32C. The head's leaves out the flag that says whether the file is in use. There is an entry for the first group that
//! begins `binlog_gtid_index_span_min` bytes or more behind the one before; pages have `binlog_gtid_index_page_size` bytes.
//!
//! # Invariants
//! X1. The index is a help, never a truth that is needed: what is missing, damaged or of another file is not used.
//! X2. An entry is written when the groups below it count ([`crate::Writer::publish`]), so none of them is taken back. One whose place is
//!     not in the file (a crash has cut it off) is not used.
//! X3. It is never synced, and an error in writing it ends it, not the commit.
//!
//! # Crash
//! Any part of it may be missing: a page without its first entry ends the search there.

use std::sync::Arc;

use base::{Corruption, Gtid, Put, Reader};
use env::{Caching, Disk, File, OpenMode};

const MAGIC: [u8; 8] = *b"MRSGIDX\x01";
const HEADER: usize = 24;
/// The flags of a FORMAT_DESCRIPTION, which change while the file is used.
const FLAGS: std::ops::Range<usize> = 21..23;

/// binlog_gtid_index and its kin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexOptions {
    /// binlog_gtid_index_page_size
    pub page_size: u32,
    /// binlog_gtid_index_span_min
    pub span_min: u64,
}

/// Name of a file's index.
pub(crate) fn name_of(file: &str) -> String {
    format!("{file}.idx")
}

/// `gtid` comes behind everything in the state.
fn advance(state: &mut Vec<Gtid>, gtid: Gtid) {
    let same = |g: &Gtid| g.domain_id == gtid.domain_id && g.server_id == gtid.server_id;
    if let Some(at) = state.iter().rposition(same) {
        state.remove(at);
    }
    state.push(gtid);
}

fn head_crc(head: &[u8]) -> u32 {
    let mut head = head.to_vec();
    if let Some(flags) = head.get_mut(FLAGS) {
        flags.fill(0);
    }
    base::crc32c(&head)
}

/// Writes the index of the file that is written.
pub(crate) struct IndexWriter {
    file: Arc<dyn File>,
    options: IndexOptions,
    /// The state at the last entry, and what has come since, a domain's newest last.
    state: Vec<Gtid>,
    changed: Vec<Gtid>,
    /// Groups that do not count yet: where each begins.
    pending: Vec<(u64, Gtid)>,
    last_offset: u64,
    /// Bytes of the index.
    at: u64,
}

impl IndexWriter {
    /// The index of a file that begins with `head` and `state`. None when it cannot be made (X3).
    pub(crate) fn begin(
        disk: &dyn Disk,
        file: &str,
        head: &[u8],
        state: Vec<Gtid>,
        options: IndexOptions,
    ) -> Option<Self> {
        let file = disk.open(&name_of(file), OpenMode::Create, Caching::Buffered).ok()?;
        file.set_len(0).ok()?;
        let mut page = MAGIC.to_vec();
        page.put_u32(options.page_size);
        page.put_u32(head.len() as u32);
        page.put_u32(head_crc(head));
        page.put_u32(base::crc32c(&page));
        page.resize(options.page_size as usize, 0);
        file.write_at(&page, 0).ok()?;
        let (last_offset, at) = (head.len() as u64, page.len() as u64);
        Some(Self { file, options, state, changed: Vec::new(), pending: Vec::new(), last_offset, at })
    }

    /// A group will begin at `offset`.
    pub(crate) fn gathered(&mut self, offset: u64, gtid: Gtid) {
        self.pending.push((offset, gtid));
    }
    /// What was gathered is taken back.
    pub(crate) fn forget(&mut self) {
        self.pending.clear();
    }

    /// What was gathered counts. False: the index ends here.
    pub(crate) fn publish(&mut self) -> bool {
        for (offset, gtid) in std::mem::take(&mut self.pending) {
            if offset - self.last_offset >= self.options.span_min && self.write_entry(offset).is_none() {
                return false;
            }
            advance(&mut self.changed, gtid);
        }
        true
    }

    fn write_entry(&mut self, offset: u64) -> Option<()> {
        for gtid in &self.changed {
            advance(&mut self.state, *gtid);
        }
        let page = u64::from(self.options.page_size);
        let left = (page - self.at % page) % page;
        let mut entry = entry(offset, &self.changed);
        if entry.len() as u64 > left {
            let whole = self::entry(offset, &self.state);
            if whole.len() as u64 > page {
                return None;
            }
            entry = vec![0; left as usize];
            entry.extend_from_slice(&whole);
        }
        self.file.write_at(&entry, self.at).ok()?;
        self.at += entry.len() as u64;
        self.changed.clear();
        self.last_offset = offset;
        Some(())
    }
}

fn entry(offset: u64, gtids: &[Gtid]) -> Vec<u8> {
    let mut body = Vec::new();
    body.put_varint(offset);
    body.put_varint(gtids.len() as u64);
    for gtid in gtids {
        body.put_varint(u64::from(gtid.domain_id));
        body.put_varint(u64::from(gtid.server_id));
        body.put_varint(gtid.seq_no);
    }
    let mut out = Vec::with_capacity(body.len() + 8);
    out.put_u32(body.len() as u32 + 4);
    out.extend_from_slice(&body);
    out.put_u32(base::crc32c(&body));
    out
}

/// A place where a group begins, and the state there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) offset: u64,
    pub(crate) state: Vec<Gtid>,
}

/// The index of a file, as it is found.
pub(crate) struct IndexReader {
    file: Arc<dyn File>,
    page_size: u64,
    /// Pages with entries; the first has number 1.
    pages: u64,
}

impl IndexReader {
    /// The index of `file`; none when there is none that is its own (X1).
    pub(crate) fn open(disk: &dyn Disk, name: &str, file: &dyn File) -> Option<Self> {
        let index = disk.open(&name_of(name), OpenMode::Existing, Caching::Buffered).ok()?;
        let len = index.len().ok()?;
        let mut header = [0; HEADER];
        index.read_at(&mut header, 0).ok()?;
        let mut reader = Reader::new(&header[8..]);
        let mut number = || reader.u32("index header").ok();
        let (page_size, head_len, crc, own) = (number()?, number()?, number()?, number()?);
        if header[..8] != MAGIC || base::crc32c(&header[..HEADER - 4]) != own || page_size < HEADER as u32 {
            return None;
        }
        let mut head = vec![0; (head_len as usize).min(file.len().ok()? as usize)];
        file.read_at(&mut head, 0).ok()?;
        let page_size = u64::from(page_size);
        let pages = len.div_ceil(page_size).saturating_sub(1);
        (head_crc(&head) == crc).then_some(Self { file: index, page_size, pages })
    }

    /// The last entry that `wanted` says yes to; it does so up to some entry, and never behind.
    pub(crate) fn last(&self, wanted: &dyn Fn(&Entry) -> bool) -> Option<Entry> {
        let (mut low, mut high) = (0, self.pages);
        // Page `low` begins with a wanted entry, or is 0; `high + 1` and later ones do not.
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            match self.first_of(middle) {
                Some(first) if wanted(&first) => low = middle,
                _ => high = middle - 1,
            }
        }
        if low == 0 {
            return None;
        }
        let page = self.page(low)?;
        let mut reader = Reader::new(&page);
        let mut found = None;
        let mut state = Vec::new();
        while let Ok(Some(next)) = take_entry(&mut reader, &mut state) {
            let next = Entry { offset: next, state: state.clone() };
            if !wanted(&next) {
                break;
            }
            found = Some(next);
        }
        found
    }

    fn page(&self, number: u64) -> Option<Vec<u8>> {
        let at = number * self.page_size;
        let len = self.page_size.min(self.file.len().ok()?.checked_sub(at)?);
        let mut page = vec![0; len as usize];
        self.file.read_at(&mut page, at).ok()?;
        Some(page)
    }

    fn first_of(&self, number: u64) -> Option<Entry> {
        let page = self.page(number)?;
        let mut state = Vec::new();
        let offset = take_entry(&mut Reader::new(&page), &mut state).ok()??;
        Some(Entry { offset, state })
    }
}

/// The offset of the next entry, whose changes go into `state`; none behind the last.
fn take_entry(reader: &mut Reader<'_>, state: &mut Vec<Gtid>) -> Result<Option<u64>, Corruption> {
    if reader.rest().len() < 4 {
        return Ok(None);
    }
    let len = reader.u32("entry length")? as usize;
    if len < 4 {
        return Ok(None);
    }
    let body = reader.bytes(len - 4, "entry")?;
    let crc = reader.u32("entry CRC")?;
    if base::crc32c(body) != crc {
        return Err(Corruption::new("", "entry CRC", base::crc32c(body), crc));
    }
    let mut r = Reader::new(body);
    let offset = r.varint("offset")?;
    let short = |v: u64, what| u32::try_from(v).map_err(|_| Corruption::new("", what, "32 bits", v));
    for _ in 0..r.varint("count")? {
        let domain_id = short(r.varint("domain")?, "domain")?;
        let server_id = short(r.varint("server")?, "server")?;
        advance(state, Gtid { domain_id, server_id, seq_no: r.varint("sequence number")? });
    }
    Ok(Some(offset))
}

#[cfg(test)]
mod tests {
    use env::SimDisk;

    use super::*;

    const HEAD: &[u8] = b"the head of a file, with flags in it";

    fn gtid(domain_id: u32, server_id: u32, seq_no: u64) -> Gtid {
        Gtid { domain_id, server_id, seq_no }
    }

    /// A file and an index of `groups` groups, 100 bytes each.
    fn indexed(disk: &dyn Disk, groups: u64, page_size: u32) -> Arc<dyn File> {
        let file = disk.open("f", OpenMode::Create, Caching::Buffered).unwrap();
        file.write_at(HEAD, 0).unwrap();
        let options = IndexOptions { page_size, span_min: 250 };
        let mut index = IndexWriter::begin(disk, "f", HEAD, vec![gtid(9, 9, 9)], options).unwrap();
        for n in 0..groups {
            index.gathered(HEAD.len() as u64 + n * 100, gtid((n % 2) as u32, (n % 3) as u32, n + 1));
            if n % 4 == 0 {
                assert!(index.publish());
            }
        }
        assert!(index.publish());
        file
    }

    #[test]
    fn the_last_wanted_entry_is_found_with_its_state() {
        for page_size in [64, 128, 4096] {
            let disk = SimDisk::new(1).disk();
            let file = indexed(&*disk, 200, page_size);
            let index = IndexReader::open(&*disk, "f", &*file).expect("an index");
            for limit in 0..200 {
                let offset = HEAD.len() as u64 + limit * 100;
                let found = index.last(&|e| e.offset <= offset);
                let expected = limit / 3 * 3;
                let Some(found) = found else {
                    assert_eq!(expected, 0);
                    continue;
                };
                assert_eq!(found.offset, HEAD.len() as u64 + expected * 100, "{page_size} {limit}");
                let mut state = vec![gtid(9, 9, 9)];
                (0..expected).for_each(|n| advance(&mut state, gtid((n % 2) as u32, (n % 3) as u32, n + 1)));
                // The newest of each domain is its last.
                for domain in [0, 1, 9] {
                    let of =
                        |s: &[Gtid]| s.iter().filter(|g| g.domain_id == domain).copied().collect::<Vec<_>>();
                    assert_eq!(of(&found.state), of(&state));
                }
            }
        }
    }

    #[test]
    fn what_was_taken_back_is_not_in_the_index() {
        let disk = SimDisk::new(1).disk();
        let options = IndexOptions { page_size: 4096, span_min: 1 };
        let mut index = IndexWriter::begin(&*disk, "f", HEAD, Vec::new(), options).unwrap();
        index.gathered(100, gtid(0, 1, 1));
        index.forget();
        index.gathered(100, gtid(0, 1, 5));
        index.gathered(200, gtid(0, 1, 6));
        assert!(index.publish());
        let file = disk.open("f", OpenMode::Create, Caching::Buffered).unwrap();
        file.write_at(HEAD, 0).unwrap();
        let index = IndexReader::open(&*disk, "f", &*file).expect("an index");
        let found = index.last(&|_| true).expect("an entry");
        assert_eq!(found, Entry { offset: 200, state: vec![gtid(0, 1, 5)] });
    }

    #[test]
    fn damage_makes_it_shorter_and_another_file_makes_it_useless() {
        let sim = SimDisk::new(1);
        let disk = sim.disk();
        let file = indexed(&*disk, 400, 128);
        // What a bit is flipped in is on the disk.
        disk.open("f.idx", OpenMode::Existing, Caching::Buffered).unwrap().sync_data().unwrap();
        let whole = sim.content("f.idx").unwrap();
        for at in (0..whole.len() as u64).step_by(7) {
            sim.flip_bit("f.idx", at * 8);
            if let Some(index) = IndexReader::open(&*disk, "f", &*file)
                && let Some(found) = index.last(&|e| e.offset <= 10_000)
            {
                assert_eq!((found.offset - HEAD.len() as u64) % 300, 0);
                assert!(found.offset <= 10_000);
            }
            sim.flip_bit("f.idx", at * 8);
        }
        file.write_at(b"X", 3).unwrap();
        assert!(IndexReader::open(&*disk, "f", &*file).is_none());
        // The flag is not part of what the file is known by.
        file.write_at(&HEAD[3..4], 3).unwrap();
        file.write_at(b"!", FLAGS.start as u64).unwrap();
        assert!(IndexReader::open(&*disk, "f", &*file).is_some());
    }

    #[test]
    fn a_state_that_no_page_holds_ends_the_index() {
        let disk = SimDisk::new(1).disk();
        let state = (0..50).map(|n| gtid(n, 1, 1)).collect();
        let options = IndexOptions { page_size: 64, span_min: 1 };
        let mut index = IndexWriter::begin(&*disk, "f", HEAD, state, options).unwrap();
        index.gathered(100, gtid(0, 1, 2));
        assert!(!index.publish());
    }
}
