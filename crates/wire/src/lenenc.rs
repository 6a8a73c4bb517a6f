//! Length-encoded integers and strings, and NUL-terminated strings.
//!
//! # Layout
//! `< 0xfb` one byte · `0xfc` u16 · `0xfd` u24 · `0xfe` u64 · `0xfb` NULL (rows only) · `0xff` never.

use base::{Corruption, Put, Reader};

/// First byte that stands for SQL NULL in a text row.
pub const NULL: u8 = 0xfb;

/// The protocol's variable fields on top of [`Put`].
pub trait PutWire: Put {
    fn put_lenenc(&mut self, v: u64) {
        if v < 0xfb {
            self.put_u8(v as u8);
        } else if v <= 0xffff {
            self.put_u8(0xfc);
            self.put_u16(v as u16);
        } else if v <= 0xff_ffff {
            self.put_u8(0xfd);
            self.put_u24(v as u32);
        } else {
            self.put_u8(0xfe);
            self.put_u64(v);
        }
    }
    fn put_lenenc_string(&mut self, bytes: &[u8]) {
        self.put_lenenc(bytes.len() as u64);
        self.put(bytes);
    }
    /// The bytes up to the first NUL they hold, then a NUL.
    fn put_nul_string(&mut self, bytes: &[u8]) {
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        self.put(&bytes[..end]);
        self.put_u8(0);
    }
}

impl PutWire for Vec<u8> {}

/// A length-encoded integer; 0xfb and 0xff are not integers.
pub fn integer(r: &mut Reader<'_>, field: &'static str) -> Result<u64, Corruption> {
    let at = r.offset();
    match r.u8(field)? {
        small @ 0..=0xfa => Ok(u64::from(small)),
        0xfc => Ok(u64::from(r.u16(field)?)),
        0xfd => Ok(u64::from(r.u24(field)?)),
        0xfe => r.u64(field),
        other => {
            Err(Corruption::new(format_args!("offset {at}"), field, "a length", format_args!("{other:#x}")))
        }
    }
}

/// A length-encoded string.
pub fn string<'a>(r: &mut Reader<'a>, field: &'static str) -> Result<&'a [u8], Corruption> {
    let len = integer(r, field)?;
    match usize::try_from(len) {
        Ok(len) => r.bytes(len, field),
        Err(_) => Err(Corruption::new(
            format_args!("offset {}", r.offset()),
            field,
            format_args!("at most {}", r.remaining()),
            len,
        )),
    }
}

/// A text row's value: NULL or a length-encoded string.
pub fn nullable_string<'a>(r: &mut Reader<'a>, field: &'static str) -> Result<Option<&'a [u8]>, Corruption> {
    if r.rest().first() == Some(&NULL) {
        r.u8(field)?;
        return Ok(None);
    }
    string(r, field).map(Some)
}

/// A NUL-terminated string, without the NUL.
pub fn nul_string<'a>(r: &mut Reader<'a>, field: &'static str) -> Result<&'a [u8], Corruption> {
    let Some(len) = r.rest().iter().position(|b| *b == 0) else {
        return Err(Corruption::new(format_args!("offset {}", r.offset()), field, "a NUL", "the end"));
    };
    let s = r.bytes(len, field)?;
    r.u8(field)?;
    Ok(s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_take_the_shortest_form() {
        for (v, len) in
            [(0, 1), (0xfa, 1), (0xfb, 3), (0xffff, 3), (0x1_0000, 4), (0xff_ffff, 4), (0x100_0000, 9)]
        {
            let mut out = Vec::new();
            out.put_lenenc(v);
            assert_eq!(out.len(), len, "{v:#x}");
            assert_eq!(integer(&mut Reader::new(&out), "v"), Ok(v));
        }
    }

    #[test]
    fn null_is_not_a_length() {
        assert!(integer(&mut Reader::new(&[0xfb]), "v").is_err());
        assert_eq!(nullable_string(&mut Reader::new(&[0xfb]), "v"), Ok(None));
        assert!(nullable_string(&mut Reader::new(&[0xff]), "v").is_err());
    }

    #[test]
    fn a_huge_length_is_refused_without_allocating() {
        assert!(string(&mut Reader::new(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]), "v").is_err());
    }
}
