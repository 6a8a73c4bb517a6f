//! The four header fields the pool itself reads and writes.
//!
//! ```text
//! 0 CRC-32C of bytes 4..16384 | 4 page no u32 | 8 space u32 | ... | 16 page_lsn u64
//! ```

use base::{Corruption, Lsn, PAGE_SIZE, PageId, PageNo, SpaceId, crc32c};

fn u32_at(page: &[u8; PAGE_SIZE], at: usize) -> u32 {
    u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

/// Start of the last record that changed the page.
pub(crate) fn page_lsn(page: &[u8; PAGE_SIZE]) -> Lsn {
    Lsn(u64::from(u32_at(page, 16)) | u64::from(u32_at(page, 20)) << 32)
}

pub(crate) fn stored_id(page: &[u8; PAGE_SIZE]) -> PageId {
    PageId::new(SpaceId(u32_at(page, 8)), PageNo(u32_at(page, 4)))
}

/// Makes a copy ready for its file.
pub(crate) fn seal(page: &mut [u8; PAGE_SIZE]) {
    let crc = crc32c(&page[4..]);
    page[..4].copy_from_slice(&crc.to_le_bytes());
}

/// Whether no byte was ever written.
pub(crate) fn is_zero(page: &[u8; PAGE_SIZE]) -> bool {
    page.as_chunks::<8>().0.iter().all(|chunk| *chunk == [0; 8])
}

/// Checks what came from a file.
pub(crate) fn verify(page: &[u8; PAGE_SIZE], id: PageId) -> Result<(), Corruption> {
    let (stored, computed) = (u32_at(page, 0), crc32c(&page[4..]));
    if stored != computed {
        let [expected, found] = [computed, stored].map(|crc| format!("{crc:#010x}"));
        return Err(Corruption::new(id, "page checksum", expected, found));
    }
    if stored_id(page) != id {
        return Err(Corruption::new(id, "page id", id, stored_id(page)));
    }
    Ok(())
}
