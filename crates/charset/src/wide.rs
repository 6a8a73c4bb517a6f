//! UCS-2, UTF-16 and UTF-32: units of two or four bytes, the high byte first but in UTF-16LE.
//!
//! A character of UCS-2 is any unit. In UTF-16 one above the first plane is two units; half of such a pair is broken.

use crate::Charset;

fn unit(charset: Charset, bytes: &[u8]) -> Option<u32> {
    let pair = [*bytes.first()?, *bytes.get(1)?];
    Some(u32::from(if charset == Charset::Utf16le {
        u16::from_le_bytes(pair)
    } else {
        u16::from_be_bytes(pair)
    }))
}

pub(crate) fn decode(charset: Charset, bytes: &[u8]) -> Option<(u32, usize)> {
    if charset == Charset::Utf32 {
        let code = u32::from_be_bytes(bytes.get(..4)?.try_into().ok()?);
        return (code < 0x11_0000).then_some((code, 4));
    }
    let first = unit(charset, bytes)?;
    if charset == Charset::Ucs2 || !(0xd800..0xe000).contains(&first) {
        return Some((first, 2));
    }
    let second = unit(charset, &bytes[2..])?;
    let pair = first < 0xdc00 && (0xdc00..0xe000).contains(&second);
    pair.then(|| (0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00), 4))
}

pub(crate) fn encode(charset: Charset, code: u32, out: &mut Vec<u8>) -> bool {
    let mut put = |unit: u32| {
        let unit = unit as u16;
        out.extend(if charset == Charset::Utf16le { unit.to_le_bytes() } else { unit.to_be_bytes() });
    };
    match (charset, code) {
        (_, 0x11_0000..) => return false,
        (Charset::Utf32, _) => out.extend(code.to_be_bytes()),
        (_, 0..0x1_0000) => put(code),
        (Charset::Ucs2, _) => return false,
        _ => {
            put(0xd800 + ((code - 0x1_0000) >> 10));
            put(0xdc00 + (code & 0x3ff));
        }
    }
    true
}
