//! The header fields the pool itself reads and writes: checksum, id and page_lsn, as `page_format::header` lays them out.

use base::PAGE_SIZE;
pub(crate) use page_format::header::{page_lsn, set_crc, verify};

/// Whether no byte was ever written.
pub(crate) fn is_zero(page: &[u8; PAGE_SIZE]) -> bool {
    page.as_chunks::<8>().0.iter().all(|chunk| *chunk == [0; 8])
}
