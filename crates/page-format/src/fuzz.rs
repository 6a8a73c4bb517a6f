//! The entry for fuzzers: any page, any operations.

use base::{Lsn, Reader, TrxId};

use crate::header::Page;
use crate::{OpContext, PageOp, apply, check, header};

/// Decodes operations from `ops` and applies them to `page`, whatever both hold.
///
/// # Panics
/// When an operation that is refused has changed the page, or when what was decoded does not encode to what decodes the same.
pub fn fuzz_page(page: &mut Page, ops: &[u8]) {
    let context = OpContext { lsn: Lsn(1 << 40), trx: TrxId(77), page: header::page_id(page) };
    let mut reader = Reader::new(ops);
    while !reader.is_empty() {
        let mut attempt = reader;
        let Ok(op) = PageOp::decode(&context, &mut attempt) else {
            // Not an operation: look for one at the next byte.
            let _ = reader.u8("skipped");
            continue;
        };
        reader = attempt;
        let mut bytes = Vec::new();
        op.encode(&context, &mut bytes);
        assert_eq!(PageOp::decode(&context, &mut Reader::new(&bytes)).as_ref(), Ok(&op));
        let before = *page;
        if apply(page, &op, context.lsn).is_err() {
            assert!(*page == before, "a refused operation changed the page: {op:?}");
        }
        // Must not panic on whatever came of it.
        let _ = check(page);
    }
}
