//! HEX, base 64, and addresses.

use charset::Collation;
use types::{Class, Context, Str, Value, Warning};

use crate::arguments::{Answer, Args, NULL, ascii, some, text, too_long};

/// HEX(text): its bytes; HEX(number): the number's digits.
pub(crate) fn hex(args: Args<'_>, ctx: &mut Context) -> Answer {
    let mut out = Vec::new();
    match args[0].class() {
        Class::Int | Class::Decimal | Class::Double => {
            let bits = some!(args[0].to_integer(ctx)).bits();
            out.extend_from_slice(format!("{bits:X}").as_bytes());
        }
        _ => {
            let s = match &args[0] {
                Value::Fixed(v) => Str::new(v.bytes(), Collation::BINARY),
                other => some!(other.to_str(ctx)),
            };
            if too_long(s.len() as u64 * 2, "hex", ctx) {
                return NULL;
            }
            out.reserve(s.len() * 2);
            for byte in s.bytes() {
                out.push(b"0123456789ABCDEF"[usize::from(byte >> 4)]);
                out.push(b"0123456789ABCDEF"[usize::from(byte & 15)]);
            }
        }
    }
    ascii(&out, ctx)
}

/// UNHEX(text): NULL when a character is no hex digit.
pub(crate) fn unhex(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    let bytes = s.bytes();
    let mut out = Vec::with_capacity(bytes.len().div_ceil(2));
    let (first, pairs) = bytes.split_at(bytes.len() % 2);
    for b in first {
        out.push(some!(digit(*b)));
    }
    for pair in pairs.chunks_exact(2) {
        out.push(some!(digit(pair[0])) << 4 | some!(digit(pair[1])));
    }
    text(&out, Collation::BINARY)
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters of a line of TO_BASE64.
const LINE: usize = 76;

pub(crate) fn to_base64(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    if too_long(s.len().div_ceil(3) as u64 * 4, "to_base64", ctx) {
        return NULL;
    }
    let mut plain = Vec::with_capacity(s.len().div_ceil(3) * 4);
    for chunk in s.bytes().chunks(3) {
        let word = u32::from(chunk[0]) << 16
            | u32::from(chunk.get(1).copied().unwrap_or(0)) << 8
            | u32::from(chunk.get(2).copied().unwrap_or(0));
        for i in 0..4 {
            let letter = BASE64[(word >> (18 - 6 * i) & 63) as usize];
            plain.push(if i <= chunk.len() { letter } else { b'=' });
        }
    }
    let lines: Vec<&[u8]> = plain.chunks(LINE).collect();
    ascii(&lines.join(&b'\n'), ctx)
}

pub(crate) fn from_base64(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let bytes = s.bytes();
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3);
    let (mut word, mut letters, mut padding, mut last) = (0u32, 0, 0, 0);
    for (at, b) in bytes.iter().enumerate().filter(|(_, b)| !b.is_ascii_whitespace()) {
        last = at + 1;
        let value = BASE64.iter().position(|l| l == b);
        match value {
            Some(value) if padding == 0 => word = word << 6 | value as u32,
            None if *b == b'=' && letters >= 2 => {
                padding += 1;
                word <<= 6;
            }
            _ => return bad_base64(at, ctx),
        }
        letters += 1;
        if letters == 4 {
            out.extend_from_slice(&word.to_be_bytes()[1..4 - padding]);
            (word, letters) = (0, 0);
        }
    }
    if letters != 0 {
        return bad_base64(last, ctx);
    }
    text(&out, Collation::BINARY)
}

fn bad_base64(at: usize, ctx: &mut Context) -> Answer {
    ctx.warn(Warning::Numbered { errno: 1958, text: format!("Bad base64 data as position {at}") });
    NULL
}

/// INET_ATON('a.b.c.d').
pub(crate) fn inet_aton(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let parts: Vec<&[u8]> = s.bytes().split(|b| *b == b'.').collect();
    let mut numbers = Vec::new();
    for part in &parts {
        let n: Option<u64> = std::str::from_utf8(part).ok().and_then(|t| t.parse().ok());
        numbers.push(some!(n.filter(|n| *n < 256)));
    }
    // `1.2` is 1.0.0.2; more than four parts go on to the left.
    let (last, first) = some!(numbers.split_last());
    let high = first.iter().fold(0u64, |n, part| n << 8 | part);
    let missing = if matches!(numbers.len(), 2 | 3) { 8 * (4 - numbers.len() as u32) } else { 0 };
    Ok(Value::UInt((high << missing) << 8 | last))
}

/// INET_NTOA(number).
pub(crate) fn inet_ntoa(args: Args<'_>, ctx: &mut Context) -> Answer {
    let n = some!(args[0].to_integer(ctx)).bits();
    let Ok(n) = u32::try_from(n) else { return NULL };
    ascii(std::net::Ipv4Addr::from(n).to_string().as_bytes(), ctx)
}

/// INET6_ATON(text): 4 or 16 bytes; NULL when it is no address.
pub(crate) fn inet6_aton(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let parsed: Option<std::net::IpAddr> = std::str::from_utf8(s.bytes()).ok().and_then(|t| t.parse().ok());
    match some!(parsed) {
        std::net::IpAddr::V4(a) => text(&a.octets(), Collation::BINARY),
        std::net::IpAddr::V6(a) => text(&a.octets(), Collation::BINARY),
    }
}

/// INET6_NTOA(bytes).
pub(crate) fn inet6_ntoa(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    if let Ok(octets) = <[u8; 4]>::try_from(s.bytes()) {
        return ascii(std::net::Ipv4Addr::from(octets).to_string().as_bytes(), ctx);
    }
    let Ok(octets) = <[u8; 16]>::try_from(s.bytes()) else { return NULL };
    let address = std::net::Ipv6Addr::from(octets);
    // An IPv4 address in the last four bytes shows as one.
    let embedded = octets[..12].iter().all(|b| *b == 0) && (octets[12] != 0 || octets[13] != 0);
    if embedded {
        let v4 = std::net::Ipv4Addr::new(octets[12], octets[13], octets[14], octets[15]);
        return ascii(format!("::{v4}").as_bytes(), ctx);
    }
    ascii(address.to_string().as_bytes(), ctx)
}

/// IS_IPV4(text); 0 for NULL.
pub(crate) fn is_ipv4(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = args[0].to_str(ctx);
    let parse = |t: &str| t.parse::<std::net::Ipv4Addr>().is_ok();
    Ok(Value::bool(s.is_some_and(|s| std::str::from_utf8(s.bytes()).is_ok_and(parse))))
}

/// IS_IPV6(text); 0 for NULL.
pub(crate) fn is_ipv6(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = args[0].to_str(ctx);
    let parse = |t: &str| t.parse::<std::net::Ipv6Addr>().is_ok();
    Ok(Value::bool(s.is_some_and(|s| std::str::from_utf8(s.bytes()).is_ok_and(parse))))
}

fn starts(args: Args<'_>, ctx: &mut Context, prefix: [u8; 12]) -> bool {
    args[0].to_str(ctx).is_some_and(|s| s.len() == 16 && s.bytes()[..12] == prefix)
}

/// IS_IPV4_COMPAT(bytes).
pub(crate) fn is_ipv4_compat(args: Args<'_>, ctx: &mut Context) -> Answer {
    Ok(Value::bool(starts(args, ctx, [0; 12])))
}

/// IS_IPV4_MAPPED(bytes).
pub(crate) fn is_ipv4_mapped(args: Args<'_>, ctx: &mut Context) -> Answer {
    Ok(Value::bool(starts(args, ctx, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff])))
}
