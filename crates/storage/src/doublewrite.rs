//! The doublewrite file: a copy of each page on its way to a data file, so that a torn page can be repaired.
//!
//! ```text
//! doublewrite.morse = REGIONS regions of 1,052,672 bytes:
//!   0     magic u32 | CRC-32C of the rest of the header u32 | batch no u64 | pages u32 | pad u32
//!   24    per page: page id u64 | offset in the region u32 | length u32 | CRC-32C of those bytes u32
//!   4096  page images, LZ4 block or, when that is not shorter, as they are (length 16384)
//! ```
//!
//! # Invariants
//! W1. A page goes to its data file only after the region with its copy is synced, which is after the log (L6).
//! W2. A region is used again only when the data files were synced after its pages were written, or when every page of it
//!     that failed to be written has a newer synced copy.
//! W3. So of a torn page the copy with the highest batch number is what the torn write tried to write.
//!
//! # Crashes
//! In the region write: no data file was touched, the region's checksums fail, it is ignored. In the page writes: the copies
//! are whole. During repair: repair runs again.

use crate::pool::{PoolError, page};
use crate::space::Spaces;
use base::{Corruption, PAGE_SIZE, PageId, Put, Reader, crc32c};
use env::{AlignedBuf, Caching, Disk, DiskError, File, OpenMode};
use hashbrown::HashMap;
use std::sync::Arc;

/// Pages of one batch at most.
pub(crate) const BATCH_MAX: usize = 64;
const FILE: &str = "doublewrite.morse";
const REGIONS: usize = 8;
const HEADER: usize = 4096;
const REGION: usize = HEADER + BATCH_MAX * PAGE_SIZE;
const MAGIC: u32 = 0x5744_524D; // "MRDW"

/// A failed batch.
pub(crate) enum BatchError {
    /// Nothing was claimed; may be tried again.
    Write(DiskError),
    /// Final (L7).
    Sync(DiskError),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Region {
    Free,
    /// Its pages were written; a sync of the data files frees it.
    Written,
    /// These pages could not be written.
    Held(Vec<PageId>),
}

/// The file and what its regions hold.
pub(crate) struct Doublewrite {
    file: Arc<dyn File>,
    regions: [Region; REGIONS],
    next_batch: u64,
    buffer: AlignedBuf,
    scratch: Vec<u8>,
}

/// Where one copy lies.
struct Copy {
    batch: u64,
    region: usize,
    offset: usize,
    len: usize,
    crc: u32,
}

impl Doublewrite {
    /// Opens or makes the file, and repairs torn pages from it. Returns the pages it repaired.
    pub(crate) fn open(
        disk: &dyn Disk,
        caching: Caching,
        spaces: &Spaces,
    ) -> Result<(Self, Vec<PageId>), PoolError> {
        let is_new = !disk.exists(FILE)?;
        let file = disk.open(FILE, OpenMode::Create, caching)?;
        let len = (REGIONS * REGION) as u64;
        if file.len()? < len {
            // A copy of a page is only ever read with checksums, so a half made file is as good as none.
            file.allocate(0, len)?;
            file.sync_data()?;
        }
        if is_new {
            disk.sync_dir("")?;
        }
        let mut doublewrite = Self {
            file,
            regions: [const { Region::Free }; REGIONS],
            next_batch: 1,
            buffer: AlignedBuf::zeroed(REGION),
            scratch: vec![0; lz4_flex::block::get_maximum_output_size(PAGE_SIZE)],
        };
        let repaired = doublewrite.repair(spaces)?;
        Ok((doublewrite, repaired))
    }

    /// Whether a batch can be written now.
    pub(crate) fn has_free_region(&self) -> bool {
        self.regions.contains(&Region::Free)
    }

    /// Writes and syncs the copies of a batch; returns their region and the bytes written.
    pub(crate) fn write(
        &mut self,
        pages: &[(PageId, &[u8; PAGE_SIZE])],
    ) -> Result<(usize, usize), BatchError> {
        assert!((1..=BATCH_MAX).contains(&pages.len()), "a batch of {} pages", pages.len());
        let Some(region) = self.regions.iter().position(|r| *r == Region::Free) else {
            panic!("a batch was started without a free region");
        };
        let len = self.encode(pages);
        self.next_batch += 1;
        self.file.write_at(&self.buffer[..len], (region * REGION) as u64).map_err(BatchError::Write)?;
        self.file.sync_data().map_err(BatchError::Sync)?;
        // Newer copies are durable: older regions need not keep theirs (W2).
        for held in &mut self.regions {
            if let Region::Held(ids) = held {
                ids.retain(|id| pages.iter().all(|(newer, _)| newer != id));
                if ids.is_empty() {
                    *held = Region::Written;
                }
            }
        }
        Ok((region, len))
    }

    fn encode(&mut self, pages: &[(PageId, &[u8; PAGE_SIZE])]) -> usize {
        let mut at = HEADER;
        let mut body = Vec::with_capacity(16 + pages.len() * 20);
        body.put_u64(self.next_batch);
        body.put_u32(pages.len() as u32);
        body.put_u32(0);
        for (id, page) in pages {
            let image = match lz4_flex::block::compress_into(*page, &mut self.scratch) {
                Ok(len) if len < PAGE_SIZE => &self.scratch[..len],
                _ => &page[..],
            };
            self.buffer[at..at + image.len()].copy_from_slice(image);
            body.put_u64(id.to_u64());
            body.put_u32(at as u32);
            body.put_u32(image.len() as u32);
            body.put_u32(crc32c(image));
            at += image.len();
        }
        let end = at.next_multiple_of(HEADER);
        self.buffer[at..end].fill(0);
        self.buffer[..HEADER].fill(0);
        self.buffer[..4].copy_from_slice(&MAGIC.to_le_bytes());
        self.buffer[4..8].copy_from_slice(&crc32c(&body).to_le_bytes());
        self.buffer[8..8 + body.len()].copy_from_slice(&body);
        end
    }

    /// The batch's page writes ended; `failed` did not get to their files.
    pub(crate) fn written(&mut self, region: usize, failed: Vec<PageId>) {
        self.regions[region] = if failed.is_empty() { Region::Written } else { Region::Held(failed) };
    }

    /// The data files were synced.
    pub(crate) fn files_synced(&mut self) {
        for region in &mut self.regions {
            if *region == Region::Written {
                *region = Region::Free;
            }
        }
    }

    /// A space is gone, its pages need no copies.
    pub(crate) fn space_removed(&mut self, space: base::SpaceId) {
        for region in &mut self.regions {
            if let Region::Held(ids) = region {
                ids.retain(|id| id.space != space);
                if ids.is_empty() {
                    *region = Region::Written;
                }
            }
        }
    }

    /// Tries again to write the pages of held regions, from their copies: older than what is in memory, but whole.
    pub(crate) fn retry_held(&mut self, spaces: &Spaces) -> Result<(), PoolError> {
        for region in 0..REGIONS {
            let Region::Held(ids) = &self.regions[region] else { continue };
            let ids = ids.clone();
            for (id, copy) in self.read_header(region)? {
                if ids.contains(&id) {
                    let Some(image) = self.read_copy(id, &copy)? else {
                        let place = format!("{FILE}, region {region}, {id}");
                        return Err(Corruption::new(
                            place,
                            "copy checksum",
                            "what was written",
                            "other bytes",
                        )
                        .into());
                    };
                    spaces.get(id.space)?.write(id.no, &image[..])?;
                }
            }
            self.regions[region] = Region::Written;
        }
        Ok(())
    }

    /// Puts back every page that is torn, and makes that durable.
    fn repair(&mut self, spaces: &Spaces) -> Result<Vec<PageId>, PoolError> {
        let mut newest: HashMap<PageId, Copy> = HashMap::new();
        for region in 0..REGIONS {
            for (id, copy) in self.read_header(region)? {
                self.next_batch = self.next_batch.max(copy.batch + 1);
                if newest.get(&id).is_none_or(|other| other.batch < copy.batch)
                    && self.read_copy(id, &copy)?.is_some()
                {
                    newest.insert(id, copy);
                }
            }
        }
        let mut repaired = Vec::new();
        let mut current = AlignedBuf::zeroed(PAGE_SIZE);
        for (id, copy) in newest {
            let file = match spaces.get(id.space) {
                Err(PoolError::NoSpace(_)) => continue,
                other => other?,
            };
            let Some(current) = current.first_chunk_mut::<PAGE_SIZE>() else { continue };
            if file.read(id.no, current)? && page::verify(current, id).is_ok() {
                continue;
            }
            if let Some(image) = self.read_copy(id, &copy)? {
                file.write(id.no, &image[..])?;
                repaired.push(id);
            }
        }
        spaces.sync()?;
        repaired.sort_unstable();
        Ok(repaired)
    }

    /// The copies a region claims to hold; none when its header is not whole.
    fn read_header(&mut self, region: usize) -> Result<Vec<(PageId, Copy)>, PoolError> {
        let header = &mut self.buffer[..HEADER];
        self.file.read_at(header, (region * REGION) as u64)?;
        Ok(decode_header(header, region).unwrap_or_default())
    }

    /// One page image; `None` when the bytes are not those the header names.
    fn read_copy(&self, id: PageId, copy: &Copy) -> Result<Option<Box<[u8; PAGE_SIZE]>>, PoolError> {
        let start = copy.offset / HEADER * HEADER;
        let end = (copy.offset + copy.len).next_multiple_of(HEADER);
        let mut bytes = AlignedBuf::zeroed(end - start);
        self.file.read_at(&mut bytes, (copy.region * REGION + start) as u64)?;
        let stored = &bytes[copy.offset - start..copy.offset - start + copy.len];
        if crc32c(stored) != copy.crc {
            return Ok(None);
        }
        let mut image = Box::new([0; PAGE_SIZE]);
        if stored.len() == PAGE_SIZE {
            image.copy_from_slice(stored);
        } else if lz4_flex::block::decompress_into(stored, &mut image[..]).ok() != Some(PAGE_SIZE) {
            let place = format!("{FILE}, region {}, {id}", copy.region);
            return Err(Corruption::new(place, "page image", "16384 bytes of LZ4", "something else").into());
        }
        page::verify(&image, id).map_err(|e| e.within(FILE))?;
        Ok(Some(image))
    }
}

fn decode_header(header: &[u8], region: usize) -> Option<Vec<(PageId, Copy)>> {
    let mut reader = Reader::new(header);
    let magic = reader.u32("magic").ok()?;
    let crc = reader.u32("checksum").ok()?;
    let batch = reader.u64("batch").ok()?;
    let count = reader.u32("pages").ok()? as usize;
    let len = 16 + count.min(BATCH_MAX) * 20;
    if magic != MAGIC || count > BATCH_MAX || crc != crc32c(&header[8..8 + len]) {
        return None;
    }
    reader.u32("pad").ok()?;
    let mut copies = Vec::with_capacity(count);
    for _ in 0..count {
        let id = PageId::from_u64(reader.u64("page id").ok()?);
        let offset = reader.u32("offset").ok()? as usize;
        let len = reader.u32("length").ok()? as usize;
        let crc = reader.u32("checksum").ok()?;
        if len > PAGE_SIZE || offset < HEADER || offset + len > REGION {
            return None;
        }
        copies.push((id, Copy { batch, region, offset, len, crc }));
    }
    Some(copies)
}
