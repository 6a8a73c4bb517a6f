//! The difference of two bodies of one row, as an update record holds it.

use base::Corruption;
use smallvec::SmallVec;

use crate::{RowLayout, RowView};

/// One changed stretch. `offset` counts in the old body; splices are in ascending order and do not touch each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Splice<'a> {
    pub offset: u32,
    pub old: &'a [u8],
    pub new: &'a [u8],
}

/// Splices that turn `old` into `new`, one for each run of changed columns (and of bitmap bytes). Unequal stretches are cut to
/// what differs at their ends.
pub fn diff<'a>(
    layout: &RowLayout,
    old: &'a [u8],
    new: &'a [u8],
) -> Result<SmallVec<[Splice<'a>; 4]>, Corruption> {
    let mut out = SmallVec::new();
    let bitmap = layout.bitmap_len();
    let (left, right) = (RowView::new(layout, old)?, RowView::new(layout, new)?);
    push(&mut out, 0, &old[..bitmap], &new[..bitmap]);
    let (mut old_at, mut new_at) = (bitmap, bitmap);
    let (mut run_old, mut run_new) = (bitmap, bitmap);
    for (a, b) in left.columns().zip(right.columns()) {
        let old_end = end_of(old, a?, old_at);
        let new_end = end_of(new, b?, new_at);
        if old[old_at..old_end] == new[new_at..new_end] {
            push(&mut out, run_old, &old[run_old..old_at], &new[run_new..new_at]);
            (run_old, run_new) = (old_end, new_end);
        }
        (old_at, new_at) = (old_end, new_end);
    }
    push(&mut out, run_old, &old[run_old..], &new[run_new..]);
    Ok(out)
}

/// Where the column's bytes end: `column` is a part of `body`.
fn end_of(body: &[u8], column: Option<&[u8]>, at: usize) -> usize {
    column.map_or(at, |c| c.as_ptr().addr() - body.as_ptr().addr() + c.len())
}

fn push<'a>(out: &mut SmallVec<[Splice<'a>; 4]>, offset: usize, old: &'a [u8], new: &'a [u8]) {
    let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[same..], &new[same..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    if !old.is_empty() || !new.is_empty() {
        out.push(Splice { offset: (offset + same) as u32, old, new });
    }
}

/// Appends the new body made of the old one.
pub fn apply_forward(old: &[u8], splices: &[Splice<'_>], out: &mut Vec<u8>) -> Result<(), Corruption> {
    let mut at = 0;
    for s in splices {
        let start = s.offset as usize;
        if start < at || old.get(start..start + s.old.len()) != Some(s.old) {
            return Err(mismatch(start, s.old.len()));
        }
        out.extend_from_slice(&old[at..start]);
        out.extend_from_slice(s.new);
        at = start + s.old.len();
    }
    out.extend_from_slice(&old[at..]);
    Ok(())
}

/// Appends the old body made of the new one.
pub fn apply_backward(new: &[u8], splices: &[Splice<'_>], out: &mut Vec<u8>) -> Result<(), Corruption> {
    let (mut at, mut shift) = (0usize, 0isize);
    for s in splices {
        let start = s.offset as isize + shift;
        let range = usize::try_from(start).ok().filter(|start| *start >= at).map(|st| st..st + s.new.len());
        let Some(range) = range.filter(|r| new.get(r.clone()) == Some(s.new)) else {
            return Err(mismatch(s.offset as usize, s.new.len()));
        };
        out.extend_from_slice(&new[at..range.start]);
        out.extend_from_slice(s.old);
        at = range.end;
        shift += s.new.len() as isize - s.old.len() as isize;
    }
    out.extend_from_slice(&new[at..]);
    Ok(())
}

fn mismatch(offset: usize, len: usize) -> Corruption {
    Corruption::new(
        format_args!("row offset {offset}"),
        "splice",
        format_args!("{len} known bytes"),
        "other bytes",
    )
}
