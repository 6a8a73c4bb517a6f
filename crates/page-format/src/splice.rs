//! Changes of a byte string as a list of splices: how an update is logged.
//!
//! # Layout
//! `count varint`, then for each splice, in ascending order, `gap varint` (bytes kept since the previous splice), `removed
//! varint` (bytes taken out), `inserted varint length and bytes`.
//! The removed bytes are not part of it: a page has them, and a log record keeps them (all splices' concatenated) or the
//! whole old body, whichever its readers need.

use base::{Corruption, Put, Reader};

/// One change at `offset` of the old bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Splice<'a> {
    pub offset: usize,
    pub removed: usize,
    pub inserted: &'a [u8],
}

/// A well-formed encoded list of splices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Splices<'a>(&'a [u8]);

impl<'a> Splices<'a> {
    /// Takes an encoded list off the reader, checking its form (not that it fits any body).
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        let start = reader.rest();
        let before = reader.offset();
        let count = reader.length("splice count")?;
        for _ in 0..count {
            reader.varint("splice gap")?;
            reader.varint("splice removed")?;
            reader.string("splice inserted")?;
        }
        Ok(Self(&start[..reader.offset() - before]))
    }
    pub fn encoded(&self) -> &'a [u8] {
        self.0
    }
    pub fn iter(&self) -> impl Iterator<Item = Splice<'a>> + 'a {
        let mut reader = Reader::new(self.0);
        let mut left = reader.varint("count").unwrap_or(0);
        let mut offset = 0usize;
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            offset = offset.saturating_add(reader.varint("gap").ok()? as usize);
            let removed = reader.varint("removed").ok()? as usize;
            let splice = Splice { offset, removed, inserted: reader.string("inserted").ok()? };
            offset = offset.saturating_add(removed);
            Some(splice)
        })
    }
    /// Length of the new bytes, or none when a splice reaches beyond `old_size`.
    pub fn new_size(&self, old_size: usize) -> Option<usize> {
        let mut size = old_size;
        for splice in self.iter() {
            if splice.offset.checked_add(splice.removed)? > old_size {
                return None;
            }
            size = (size - splice.removed).checked_add(splice.inserted.len())?;
        }
        Some(size)
    }
    /// Bytes all splices take out.
    pub fn removed_size(&self) -> usize {
        self.iter().fold(0, |sum, splice| sum.saturating_add(splice.removed))
    }
    /// Whether every splice puts in as much as it takes out.
    pub fn keeps_places(&self) -> bool {
        self.iter().all(|splice| splice.removed == splice.inserted.len())
    }
    /// Appends the new bytes to `out`; none when a splice reaches beyond `old`.
    pub fn apply(&self, old: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let mut at = 0;
        for splice in self.iter() {
            out.extend_from_slice(old.get(at..splice.offset)?);
            out.extend_from_slice(splice.inserted);
            at = splice.offset.checked_add(splice.removed)?;
        }
        out.extend_from_slice(old.get(at..)?);
        Some(())
    }
}

/// Appends to `out` the bytes before the splices, from those after and the removed bytes; none when they do not belong together.
pub fn restore(new: &[u8], splices: Splices<'_>, removed: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (mut at, mut taken, mut old_at) = (0usize, 0usize, 0usize);
    for splice in splices.iter() {
        let gap = splice.offset.checked_sub(old_at)?;
        out.extend_from_slice(new.get(at..at.checked_add(gap)?)?);
        let put_back = removed.get(taken..taken.checked_add(splice.removed)?)?;
        out.extend_from_slice(put_back);
        at += gap;
        if new.get(at..at.checked_add(splice.inserted.len())?)? != splice.inserted {
            return None;
        }
        at += splice.inserted.len();
        taken += splice.removed;
        old_at = splice.offset + splice.removed;
    }
    out.extend_from_slice(new.get(at..)?);
    (taken == removed.len()).then_some(())
}

/// Builds a list of splices; reusable.
#[derive(Debug, Clone, Default)]
pub struct SplicesBuf {
    encoded: Vec<u8>,
    removed: Vec<u8>,
}

impl SplicesBuf {
    pub fn new() -> Self {
        Self::default()
    }
    /// The encoded splices; valid after one of the builders.
    pub fn splices(&self) -> Splices<'_> {
        Splices(&self.encoded)
    }
    /// The removed bytes of all splices, concatenated.
    pub fn removed(&self) -> &[u8] {
        &self.removed
    }
    /// Becomes the list that turns `old` into `new` as given: ascending, disjoint splices of `old`.
    pub fn set(&mut self, old: &[u8], splices: &[Splice<'_>]) {
        self.clear();
        self.encoded.put_varint(splices.len() as u64);
        let mut at = 0;
        for splice in splices {
            self.push(old, &mut at, splice);
        }
    }
    /// Becomes the list of differences between `old` and `new`: runs of changed bytes when the lengths are equal, else all
    /// between the common prefix and the common suffix.
    pub fn diff(&mut self, old: &[u8], new: &[u8]) {
        self.clear();
        let mut at = 0;
        if old.len() != new.len() {
            let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
            let (old_rest, new_rest) = (&old[prefix..], &new[prefix..]);
            let suffix = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
            let inserted = &new_rest[..new_rest.len() - suffix];
            let splice = Splice { offset: prefix, removed: old_rest.len() - suffix, inserted };
            self.encoded.put_varint(1);
            self.push(old, &mut at, &splice);
            return;
        }
        let count = changed_runs(old, new).count();
        self.encoded.put_varint(count as u64);
        for (start, end) in changed_runs(old, new) {
            let splice = Splice { offset: start, removed: end - start, inserted: &new[start..end] };
            self.push(old, &mut at, &splice);
        }
    }
    fn clear(&mut self) {
        self.encoded.clear();
        self.removed.clear();
    }
    fn push(&mut self, old: &[u8], at: &mut usize, splice: &Splice<'_>) {
        let end = splice.offset + splice.removed;
        self.encoded.put_varint((splice.offset - *at) as u64);
        self.encoded.put_varint(splice.removed as u64);
        self.encoded.put_string(splice.inserted);
        self.removed.extend_from_slice(&old[splice.offset..end]);
        *at = end;
    }
}

/// Where two strings of equal length begin to differ; eight bytes at a time.
fn first_difference(old: &[u8], new: &[u8]) -> Option<usize> {
    let (old_words, old_rest) = old.as_chunks::<8>();
    let (new_words, new_rest) = new.as_chunks::<8>();
    for (index, (a, b)) in old_words.iter().zip(new_words).enumerate() {
        let differing = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differing != 0 {
            return Some(index * 8 + differing.trailing_zeros() as usize / 8);
        }
    }
    let rest = old_rest.iter().zip(new_rest).position(|(a, b)| a != b)?;
    Some(old_words.len() * 8 + rest)
}

/// Runs of differing bytes of two strings of equal length; runs less than four equal bytes apart are one, as a splice costs that much.
fn changed_runs<'a>(old: &'a [u8], new: &'a [u8]) -> impl Iterator<Item = (usize, usize)> + 'a {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + first_difference(&old[at..], &new[at..])?;
        let (mut end, mut next) = (start + 1, start + 1);
        while next < old.len() && next < end + 4 {
            if old[next] != new[next] {
                end = next + 1;
            }
            next += 1;
        }
        at = end;
        Some((start, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(old: &[u8], new: &[u8]) -> usize {
        let mut buf = SplicesBuf::new();
        buf.diff(old, new);
        let splices = buf.splices();
        assert_eq!(Splices::decode(&mut Reader::new(splices.encoded())), Ok(splices));
        assert_eq!(splices.new_size(old.len()), Some(new.len()));
        assert_eq!(splices.removed_size(), buf.removed().len());
        let (mut forward, mut back) = (Vec::new(), Vec::new());
        assert_eq!(splices.apply(old, &mut forward), Some(()));
        assert_eq!(restore(new, splices, buf.removed(), &mut back), Some(()));
        assert_eq!((forward.as_slice(), back.as_slice()), (new, old));
        splices.encoded().len()
    }

    #[test]
    fn a_changed_integer_costs_its_bytes_and_four_more() {
        let old = [7u8; 190];
        let mut new = old;
        new[5..9].copy_from_slice(&[1, 2, 3, 4]);
        assert_eq!(round_trip(&old, &new), 1 + 3 + 4);
        assert_eq!(round_trip(&old, &old), 1);
    }

    #[test]
    fn splices_beyond_the_old_bytes_do_not_apply() {
        let mut buf = SplicesBuf::new();
        buf.diff(b"0123456789", b"01234x6789");
        assert_eq!(buf.splices().new_size(5), None);
        assert_eq!(buf.splices().apply(b"01234", &mut Vec::new()), None);
        assert_eq!(restore(b"01234", buf.splices(), b"5", &mut Vec::new()), None);
        assert_eq!(restore(b"01234x6789", buf.splices(), b"55", &mut Vec::new()), None);
    }

    proptest! {
        #[test]
        fn any_two_strings_round_trip(
            old in proptest::collection::vec(0u8..3, 0..60), new in proptest::collection::vec(0u8..3, 0..60),
        ) {
            round_trip(&old, &new);
            let same_length: Vec<u8> = new.iter().copied().chain(std::iter::repeat(1)).take(old.len()).collect();
            round_trip(&old, &same_length);
        }
        #[test]
        fn decoding_garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(splices) = Splices::decode(&mut Reader::new(&bytes)) {
                let mut out = Vec::new();
                let size = splices.new_size(20);
                let applied = splices.apply(&[0; 20], &mut out);
                prop_assert_eq!(size, applied.map(|()| out.len()));
                restore(&[0; 20], splices, &bytes, &mut Vec::new());
            }
        }
    }
}
