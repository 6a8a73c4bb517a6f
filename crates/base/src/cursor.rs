//! Reading and writing of little-endian integers, varints and byte strings.
//!
//! # Layout of a varint
//! LEB128: seven bits a byte, lowest first, bit 7 set on every byte but the last; at most ten bytes for a u64.

use crate::Corruption;

/// Reads fields from a byte slice; every miss is a [`Corruption`] that names the field and the offset.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
    /// Bytes read so far.
    pub fn offset(&self) -> usize {
        self.at
    }
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }
    /// All that has not been read; does not advance.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }
    pub fn bytes(&mut self, len: usize, field: &'static str) -> Result<&'a [u8], Corruption> {
        if self.remaining() < len {
            return Err(self.too_short(len, field));
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }
    #[cold]
    fn too_short(&self, len: usize, field: &'static str) -> Corruption {
        Corruption::new(
            format_args!("offset {}", self.at),
            field,
            format_args!("{len} bytes"),
            format_args!("{} bytes", self.remaining()),
        )
    }
    #[inline]
    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Corruption> {
        match self.rest().first_chunk() {
            Some(found) => {
                self.at += N;
                Ok(*found)
            }
            None => Err(self.too_short(N, field)),
        }
    }
    #[inline]
    pub fn u8(&mut self, field: &'static str) -> Result<u8, Corruption> {
        Ok(self.array::<1>(field)?[0])
    }
    #[inline]
    pub fn u16(&mut self, field: &'static str) -> Result<u16, Corruption> {
        Ok(u16::from_le_bytes(self.array(field)?))
    }
    pub fn u24(&mut self, field: &'static str) -> Result<u32, Corruption> {
        let b = self.array::<3>(field)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], 0]))
    }
    #[inline]
    pub fn u32(&mut self, field: &'static str) -> Result<u32, Corruption> {
        Ok(u32::from_le_bytes(self.array(field)?))
    }
    pub fn u48(&mut self, field: &'static str) -> Result<u64, Corruption> {
        let b = self.array::<6>(field)?;
        Ok(u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], 0, 0]))
    }
    #[inline]
    pub fn u64(&mut self, field: &'static str) -> Result<u64, Corruption> {
        Ok(u64::from_le_bytes(self.array(field)?))
    }
    #[inline]
    pub fn varint(&mut self, field: &'static str) -> Result<u64, Corruption> {
        match self.rest().first() {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(byte.into())
            }
            _ => self.long_varint(field),
        }
    }
    fn long_varint(&mut self, field: &'static str) -> Result<u64, Corruption> {
        let start = self.at;
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8(field)?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Corruption::new(format_args!("offset {start}"), field, "a varint of at most 64 bits", "more"))
    }
    /// A varint that must fit a usize-sized length no larger than what remains.
    pub fn length(&mut self, field: &'static str) -> Result<usize, Corruption> {
        let start = self.at;
        let value = self.varint(field)?;
        match usize::try_from(value) {
            Ok(len) if len <= self.remaining() => Ok(len),
            _ => Err(Corruption::new(
                format_args!("offset {start}"),
                field,
                format_args!("at most {}", self.remaining()),
                value,
            )),
        }
    }
    /// A varint length, then that many bytes.
    pub fn string(&mut self, field: &'static str) -> Result<&'a [u8], Corruption> {
        let len = self.length(field)?;
        self.bytes(len, field)
    }
    /// Fails unless everything has been read.
    pub fn finish(&self, field: &'static str) -> Result<(), Corruption> {
        if self.is_empty() {
            return Ok(());
        }
        Err(Corruption::new(
            format_args!("offset {}", self.at),
            field,
            "the end",
            format_args!("{} more bytes", self.remaining()),
        ))
    }
}

/// Appends fields to a byte buffer; the writing side of [`Reader`].
pub trait Put {
    fn put(&mut self, bytes: &[u8]);
    fn put_u8(&mut self, v: u8) {
        self.put(&[v]);
    }
    fn put_u16(&mut self, v: u16) {
        self.put(&v.to_le_bytes());
    }
    fn put_u24(&mut self, v: u32) {
        self.put(&v.to_le_bytes()[..3]);
    }
    fn put_u32(&mut self, v: u32) {
        self.put(&v.to_le_bytes());
    }
    fn put_u48(&mut self, v: u64) {
        self.put(&v.to_le_bytes()[..6]);
    }
    fn put_u64(&mut self, v: u64) {
        self.put(&v.to_le_bytes());
    }
    fn put_varint(&mut self, mut v: u64) {
        let mut out = [0u8; 10];
        let mut len = 0;
        while v >= 0x80 {
            out[len] = (v as u8) | 0x80;
            v >>= 7;
            len += 1;
        }
        out[len] = v as u8;
        self.put(&out[..=len]);
    }
    /// A varint length, then the bytes.
    fn put_string(&mut self, bytes: &[u8]) {
        self.put_varint(bytes.len() as u64);
        self.put(bytes);
    }
}

impl Put for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// Bytes that [`Put::put_varint`] writes for `v`.
pub const fn varint_len(v: u64) -> usize {
    let bits = 64 - (v | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip_at_every_length() {
        for shift in 0..64 {
            for v in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut out = Vec::new();
                out.put_varint(v);
                assert_eq!(out.len(), varint_len(v), "{v}");
                let mut r = Reader::new(&out);
                assert_eq!(r.varint("v"), Ok(v));
                assert!(r.is_empty());
            }
        }
    }

    #[test]
    fn a_varint_over_64_bits_is_corruption() {
        assert!(Reader::new(&[0xff; 11]).varint("v").is_err());
        assert!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).varint("v").is_err());
    }

    #[test]
    fn a_length_beyond_the_input_is_corruption() {
        let found = Reader::new(&[5, 1, 2]).string("name").unwrap_err();
        assert_eq!((found.field, found.expected.as_str(), found.found.as_str()), ("name", "at most 2", "5"));
    }
}
