//! Length-encoded integers, as in the client protocol: `< 0xfb` one byte, `0xfc` u16, `0xfd` u24, `0xfe` u64.

use base::{Corruption, Put, Reader};

pub(crate) fn put(out: &mut Vec<u8>, v: u64) {
    match v {
        0..0xfb => out.put_u8(v as u8),
        0xfb..=0xffff => {
            out.put_u8(0xfc);
            out.put_u16(v as u16);
        }
        0x1_0000..=0xff_ffff => {
            out.put_u8(0xfd);
            out.put_u24(v as u32);
        }
        _ => {
            out.put_u8(0xfe);
            out.put_u64(v);
        }
    }
}

pub(crate) fn put_string(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.put(bytes);
}

pub(crate) fn integer(r: &mut Reader<'_>, field: &'static str) -> Result<u64, Corruption> {
    let at = r.offset();
    Ok(match r.u8(field)? {
        small @ 0..=0xfa => u64::from(small),
        0xfc => u64::from(r.u16(field)?),
        0xfd => u64::from(r.u24(field)?),
        0xfe => r.u64(field)?,
        other => {
            return Err(Corruption::new(format_args!("offset {at}"), field, "a length", other));
        }
    })
}

/// A number of things that take at least one byte each of what remains.
pub(crate) fn count(r: &mut Reader<'_>, field: &'static str) -> Result<usize, Corruption> {
    let at = r.offset();
    let v = integer(r, field)?;
    match usize::try_from(v) {
        Ok(n) if n <= r.remaining() => Ok(n),
        _ => Err(Corruption::new(
            format_args!("offset {at}"),
            field,
            format_args!("at most {}", r.remaining()),
            v,
        )),
    }
}

pub(crate) fn string<'a>(r: &mut Reader<'a>, field: &'static str) -> Result<&'a [u8], Corruption> {
    let len = count(r, field)?;
    r.bytes(len, field)
}

/// A length of one byte, then that many bytes.
pub(crate) fn short_string<'a>(r: &mut Reader<'a>, field: &'static str) -> Result<&'a [u8], Corruption> {
    let len = usize::from(r.u8(field)?);
    r.bytes(len, field)
}

pub(crate) fn put_short_string(out: &mut Vec<u8>, bytes: &[u8]) {
    assert!(bytes.len() <= 255, "a name of {} bytes", bytes.len());
    out.put_u8(bytes.len() as u8);
    out.put(bytes);
}

/// A length of four bytes, then that many bytes.
pub(crate) fn long_string<'a>(r: &mut Reader<'a>, field: &'static str) -> Result<&'a [u8], Corruption> {
    let len = r.u32(field)? as usize;
    r.bytes(len, field)
}

pub(crate) fn put_long_string(out: &mut Vec<u8>, bytes: &[u8]) {
    assert!(bytes.len() <= u32::MAX as usize, "a string of {} bytes", bytes.len());
    out.put_u32(bytes.len() as u32);
    out.put(bytes);
}
