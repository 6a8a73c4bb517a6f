//! Statement texts that refer to the row they made.
//!
//! `INSERT INTO t VALUES (1, 'some long text')` holds the bytes of its own row image. Both go into the log, so the text is packed
//! against the row's record: what is there already becomes a reference. A text without anything in common grows by two bytes.
//!
//! # Layout
//! ```text
//! {literal length varint, literal bytes, copy length varint, [copy offset varint]}...     copy length 0 = the end
//! ```
//!
//! # Invariants
//! T1. `unpack(pack(text, d), d) = text` for every dictionary `d`.
//! T2. `unpack` never panics and makes at most [`TEXT_MAX`] bytes.

use base::{Corruption, Put, Reader};

/// Longest text that is unpacked: max_allowed_packet's limit.
pub const TEXT_MAX: usize = 1 << 30;

/// Shorter matches cost more than they save.
const MATCH_MIN: usize = 8;
/// Bytes that are hashed to find a match.
const GRAM: usize = 4;
/// Bytes that are compared at a time.
const WORD: usize = 8;
const TABLE_BITS: u32 = 10;
/// How far into a text references are looked for: of a statement with many rows only the first is in the dictionary.
const SEARCHED_FACTOR: usize = 4;
const SEARCHED_MIN: usize = 1024;
/// References reach this far into the dictionary.
const DICTIONARY_MAX: usize = u16::MAX as usize;

fn slot(bytes: &[u8]) -> usize {
    let gram = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    (gram.wrapping_mul(0x9e37_79b1) >> (32 - TABLE_BITS)) as usize
}

/// Appends `text`, packed against `dictionary`.
pub fn pack(text: &[u8], dictionary: &[u8], out: &mut Vec<u8>) {
    let dictionary = &dictionary[..dictionary.len().min(DICTIONARY_MAX)];
    // Positions plus one; 0 = none. The last position of a gram wins.
    let mut table = [0u16; 1 << TABLE_BITS];
    for (at, gram) in dictionary.windows(GRAM).enumerate() {
        table[slot(gram)] = at as u16 + 1;
    }
    let searched = &text[..text.len().min(dictionary.len() * SEARCHED_FACTOR + SEARCHED_MIN)];
    let (mut at, mut literal) = (0, 0);
    while let Some(gram) = searched.get(at..at + GRAM) {
        let candidate = usize::from(table[slot(gram)]);
        let found = candidate.checked_sub(1).map(|from| (from, common(&text[at..], &dictionary[from..])));
        match found {
            Some((from, length)) if length >= MATCH_MIN => {
                let back = text[literal..at]
                    .iter()
                    .rev()
                    .zip(dictionary[..from].iter().rev())
                    .take_while(|(a, b)| a == b)
                    .count();
                out.put_string(&text[literal..at - back]);
                out.put_varint((length + back) as u64);
                out.put_varint((from - back) as u64);
                at += length;
                literal = at;
            }
            _ => at += 1,
        }
    }
    out.put_string(&text[literal..]);
    out.put_varint(0);
}

/// Length of the longest common prefix.
fn common(a: &[u8], b: &[u8]) -> usize {
    let mut done = 0;
    for (x, y) in a.as_chunks::<WORD>().0.iter().zip(b.as_chunks::<WORD>().0) {
        if x != y {
            break;
        }
        done += WORD;
    }
    done + a[done..].iter().zip(&b[done..]).take_while(|(x, y)| x == y).count()
}

/// Appends the text of `packed`, with the dictionary that it was packed against.
pub fn unpack(packed: &[u8], dictionary: &[u8], out: &mut Vec<u8>) -> Result<(), Corruption> {
    let start = out.len();
    let mut reader = Reader::new(packed);
    loop {
        out.put(reader.string("literal text")?);
        let length = reader.varint("copy length")?;
        if length == 0 {
            return reader.finish("end of text");
        }
        let from = reader.varint("copy offset")?;
        let wrong = || Corruption::new("statement text", "copy", "a part of the row's record", from);
        let from = usize::try_from(from).map_err(|_| wrong())?;
        let length = usize::try_from(length).map_err(|_| wrong())?;
        let piece = dictionary.get(from..).and_then(|rest| rest.get(..length)).ok_or_else(wrong)?;
        if out.len() - start + length > TEXT_MAX {
            return Err(Corruption::new(
                "statement text",
                "length",
                format_args!("at most {TEXT_MAX}"),
                "more",
            ));
        }
        out.put(piece);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packed(text: &[u8], dictionary: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        pack(text, dictionary, &mut out);
        let mut back = Vec::new();
        unpack(&out, dictionary, &mut back).unwrap();
        assert_eq!(back, text);
        out
    }

    #[test]
    fn values_of_the_row_cost_a_few_bytes() {
        let value = "68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574";
        let row = format!("\x01\x07\x00\x00\x05\x00\x00\x00\x53{value}");
        let text = format!("INSERT INTO sbtest1 (id, k, c) VALUES (7, 5, '{value}')");
        let len = packed(text.as_bytes(), row.as_bytes()).len();
        assert!(len < text.len() - value.len() + 8, "{len}");
        let alone = packed(b"DELETE FROM t", b"");
        assert_eq!(alone, b"\x0dDELETE FROM t\0");
    }

    #[test]
    fn a_statement_with_many_rows_is_packed_against_the_first() {
        let row = "a value that stands in the first row only";
        let text = format!("INSERT INTO t VALUES ('{row}'), {}", "('the others'), ".repeat(100_000));
        let len = packed(text.as_bytes(), row.as_bytes()).len();
        assert!((text.len() - row.len()..text.len()).contains(&len), "{len}");
    }

    #[test]
    fn common_prefixes_of_all_lengths() {
        let a: Vec<u8> = (0..40).collect();
        for at in 0..a.len() {
            let mut b = a.clone();
            b[at] = 0xff;
            assert_eq!(common(&a, &b), at);
            assert_eq!(common(&a, &b[..at]), at);
        }
        assert_eq!(common(&a, &a), a.len());
    }

    #[test]
    fn a_reference_past_the_dictionary_is_corruption() {
        for bad in [
            &b"\0\x09\0"[..],
            b"\0\x01\x08",
            b"\x05ab",
            b"\0",
            b"\0\0x",
            b"\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0",
        ] {
            assert!(unpack(bad, b"12345678", &mut Vec::new()).is_err(), "{bad:x?}");
        }
    }

    proptest! {
        #[test]
        fn packing_loses_nothing(
            pieces in prop::collection::vec((prop::collection::vec(0u8..4, 0..40), any::<bool>()), 0..12),
        ) {
            let text: Vec<u8> = pieces.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
            let dictionary: Vec<u8> = pieces.iter().rev().filter(|p| p.1).flat_map(|p| p.0.clone()).collect();
            packed(&text, &dictionary);
        }

        #[test]
        fn damage_never_panics(packed in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = unpack(&packed, b"0123456789abcdef", &mut Vec::new());
        }
    }
}
