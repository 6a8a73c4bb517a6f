//! Parts of texts, counted in characters from 1; negative positions count from the end.

use types::{Context, Value};

use crate::arguments::{Answer, Args, NULL, common_collation, count, some, text, texts, too_long};

/// SUBSTRING(text, position [, length]).
pub(crate) fn substring(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let position = some!(count(&args[1], ctx));
    let wanted = match args.get(2) {
        Some(v) => some!(count(v, ctx)),
        None => i64::MAX,
    };
    let charset = s.charset();
    let start = match position {
        1.. => position - 1,
        0 => return text(b"", s.collation()),
        negative => match charset.char_count(s.bytes()) as i64 + negative {
            start @ 0.. => start,
            _ => return text(b"", s.collation()),
        },
    };
    if wanted <= 0 {
        return text(b"", s.collation());
    }
    let from = charset.char_offset(s.bytes(), usize::try_from(start).unwrap_or(usize::MAX));
    let rest = &s.bytes()[from..];
    text(&rest[..charset.char_offset(rest, usize::try_from(wanted).unwrap_or(usize::MAX))], s.collation())
}

pub(crate) fn left(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let n = some!(count(&args[1], ctx));
    let end = s.charset().char_offset(s.bytes(), usize::try_from(n).unwrap_or(0));
    text(&s.bytes()[..end], s.collation())
}

pub(crate) fn right(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let n = usize::try_from(some!(count(&args[1], ctx))).unwrap_or(0);
    let skip = s.charset().char_count(s.bytes()).saturating_sub(n);
    text(&s.bytes()[s.charset().char_offset(s.bytes(), skip)..], s.collation())
}

/// SUBSTRING_INDEX(text, delimiter, count): what stands before the count-th delimiter, or after it from the end.
pub(crate) fn substring_index(args: Args<'_>, ctx: &mut Context) -> Answer {
    let ([s, delimiter], collation) = some!(texts::<2>(args, ctx));
    // The count is an int: its low 32 bits.
    let n = i64::from(some!(args[2].to_integer(ctx)).bits() as i32);
    let (bytes, delimiter) = (s.bytes(), delimiter.bytes());
    if bytes.is_empty() || delimiter.is_empty() || n == 0 {
        return text(b"", collation);
    }
    let mut places = Vec::new();
    let mut at = 0;
    while at + delimiter.len() <= bytes.len() {
        if bytes[at..].starts_with(delimiter) {
            places.push(at);
            at += delimiter.len();
        } else {
            at += s.charset().decode(&bytes[at..]).map_or(1, |(_, len)| len);
        }
    }
    let index = usize::try_from(n.unsigned_abs() - 1).unwrap_or(usize::MAX);
    if n > 0 {
        return text(places.get(index).map_or(bytes, |p| &bytes[..*p]), collation);
    }
    // Sets of one byte a character are searched from the end; the others have the places that were found from the start.
    if s.charset().max_len() == 1 {
        return text(&bytes[from_the_end(bytes, delimiter, index)..], collation);
    }
    let from_end = places.len().checked_sub(index + 1).map(|i| places[i] + delimiter.len());
    text(from_end.map_or(bytes, |p| &bytes[p..]), collation)
}

/// Where what stands behind the `index + 1`-th delimiter from the end begins: of two that overlap the later one counts.
fn from_the_end(bytes: &[u8], delimiter: &[u8], index: usize) -> usize {
    let (mut left, mut end) = (index, bytes.len());
    while let Some(at) = end.checked_sub(delimiter.len()) {
        if !bytes[at..].starts_with(delimiter) {
            end -= 1;
        } else if left == 0 {
            return end;
        } else {
            left -= 1;
            end = at;
        }
    }
    0
}

/// INSERT(text, position, length, new).
pub(crate) fn insert(args: Args<'_>, ctx: &mut Context) -> Answer {
    let both = [args[0].clone(), args[3].clone()];
    let ([s, new], collation) = some!(texts::<2>(&both, ctx));
    let position = some!(count(&args[1], ctx));
    let length = some!(count(&args[2], ctx));
    let chars = s.charset().char_count(s.bytes()) as i64;
    if position < 1 || position > chars {
        return text(s.bytes(), collation);
    }
    let start = (position - 1) as usize;
    let length = if length < 0 { chars } else { length.min(chars - start as i64) } as usize;
    let from = s.charset().char_offset(s.bytes(), start);
    let to = from + s.charset().char_offset(&s.bytes()[from..], length);
    if too_long((from + new.len() + s.len() - to) as u64, "insert", ctx) {
        return NULL;
    }
    text(&[&s.bytes()[..from], new.bytes(), &s.bytes()[to..]].concat(), collation)
}

/// ELT(n, text, ...).
pub(crate) fn elt(args: Args<'_>, ctx: &mut Context) -> Answer {
    let n = some!(count(&args[0], ctx));
    match usize::try_from(n).ok().filter(|n| *n > 0).and_then(|n| args.get(n)) {
        Some(v) => Ok(v.to_str(ctx).map_or(Value::Null, Value::Str)),
        None => NULL,
    }
}

/// MAKE_SET(bits, text, ...).
pub(crate) fn make_set(args: Args<'_>, ctx: &mut Context) -> Answer {
    let bits = some!(args[0].to_integer(ctx)).bits();
    let collation = common_collation(&args[1..], ctx);
    let mut out = Vec::new();
    let mut first = true;
    for (i, arg) in args[1..].iter().enumerate().take(64) {
        if bits >> i & 1 == 0 {
            continue;
        }
        if let Some(s) = crate::arguments::bytes_in(arg, collation, ctx) {
            if !first {
                out.push(b',');
            }
            first = false;
            out.extend_from_slice(s.bytes());
        }
    }
    text(&out, collation)
}

/// EXPORT_SET(bits, on, off [, separator [, number of bits]]).
pub(crate) fn export_set(args: Args<'_>, ctx: &mut Context) -> Answer {
    let bits = some!(args[0].to_integer(ctx)).bits();
    let comma = Value::str(b",", ctx.collation);
    let three = [args[1].clone(), args[2].clone(), args.get(3).cloned().unwrap_or(comma)];
    let ([on, off, separator], collation) = some!(texts::<3>(&three, ctx));
    // The number of bits is an int: its low 32 bits.
    let n = match args.get(4) {
        Some(v) => (some!(v.to_integer(ctx)).bits() as u32).min(64),
        None => 64,
    };
    let longest = u64::from(n) * (on.len().max(off.len()) + separator.len()) as u64;
    if too_long(longest, "export_set", ctx) {
        return NULL;
    }
    let mut out = Vec::new();
    for i in 0..n {
        if i > 0 {
            out.extend_from_slice(separator.bytes());
        }
        out.extend_from_slice(if bits >> i & 1 != 0 { on.bytes() } else { off.bytes() });
    }
    text(&out, collation)
}

/// REPEAT(text, n).
pub(crate) fn repeat(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let n = usize::try_from(some!(count(&args[1], ctx))).unwrap_or(0);
    let len = (s.len() as u64).saturating_mul(n as u64);
    if too_long(len, "repeat", ctx) {
        return NULL;
    }
    if s.is_empty() {
        return text(b"", s.collation());
    }
    text(&s.bytes().repeat(n), s.collation())
}

/// SPACE(n).
pub(crate) fn space(args: Args<'_>, ctx: &mut Context) -> Answer {
    let n = usize::try_from(some!(count(&args[0], ctx))).unwrap_or(0);
    if too_long(n as u64, "space", ctx) {
        return NULL;
    }
    text(&vec![b' '; n], ctx.collation)
}

/// REVERSE(text), by characters.
pub(crate) fn reverse(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let mut out = Vec::with_capacity(s.len());
    let mut chars = Vec::new();
    let mut at = 0;
    while at < s.len() {
        let len = s.charset().decode(&s.bytes()[at..]).map_or(1, |(_, len)| len);
        chars.push(at..at + len);
        at += len;
    }
    for range in chars.into_iter().rev() {
        out.extend_from_slice(&s.bytes()[range]);
    }
    text(&out, s.collation())
}
