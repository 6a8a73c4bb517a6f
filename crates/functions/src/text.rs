//! Whole texts: lengths, case, joining, character codes, comparison.

use charset::Collation;
use types::{Context, Decimal, Rounding, Str, Value, Warning};

use crate::arguments::{
    Answer, Args, NULL, ascii as ascii_text, bytes_in, common_collation, count, some, text, texts, too_long,
};

/// CONCAT(text, ...).
pub(crate) fn concat(args: Args<'_>, ctx: &mut Context) -> Answer {
    let collation = common_collation(args, ctx);
    let mut out = Vec::new();
    for arg in args {
        out.extend_from_slice(some!(bytes_in(arg, collation, ctx)).bytes());
    }
    if too_long(out.len() as u64, "concat", ctx) { NULL } else { text(&out, collation) }
}

/// CONCAT_WS(separator, text, ...): NULLs are left out.
pub(crate) fn concat_ws(args: Args<'_>, ctx: &mut Context) -> Answer {
    let collation = common_collation(args, ctx);
    let separator = some!(bytes_in(&args[0], collation, ctx));
    let mut out = Vec::new();
    let mut first = true;
    for arg in &args[1..] {
        let Some(s) = bytes_in(arg, collation, ctx) else { continue };
        if !first {
            out.extend_from_slice(separator.bytes());
        }
        first = false;
        out.extend_from_slice(s.bytes());
    }
    if too_long(out.len() as u64, "concat_ws", ctx) { NULL } else { text(&out, collation) }
}

/// LENGTH(text): bytes.
pub(crate) fn length(args: Args<'_>, ctx: &mut Context) -> Answer {
    Ok(Value::Int(some!(args[0].to_str(ctx)).len() as i64))
}
pub(crate) fn bit_length(args: Args<'_>, ctx: &mut Context) -> Answer {
    Ok(Value::Int(some!(args[0].to_str(ctx)).len() as i64 * 8))
}
pub(crate) fn char_length(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    Ok(Value::Int(s.charset().char_count(s.bytes()) as i64))
}

fn case(args: Args<'_>, ctx: &Context, change: fn(Collation, &[u8], &mut Vec<u8>)) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let mut out = Vec::with_capacity(s.len());
    change(s.collation(), s.bytes(), &mut out);
    text(&out, s.collation())
}
pub(crate) fn upper(args: Args<'_>, ctx: &mut Context) -> Answer {
    case(args, ctx, Collation::upper)
}
pub(crate) fn lower(args: Args<'_>, ctx: &mut Context) -> Answer {
    case(args, ctx, Collation::lower)
}

/// ASCII(text): the first byte.
pub(crate) fn ascii(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    Ok(Value::Int(s.bytes().first().map_or(0, |b| i64::from(*b))))
}

/// ORD(text): the first character's bytes as one number.
pub(crate) fn ord(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let len = s.charset().decode(s.bytes()).map_or(usize::from(!s.is_empty()), |(_, len)| len);
    Ok(Value::Int(s.bytes()[..len].iter().fold(0, |n, b| n << 8 | i64::from(*b))))
}

/// CHAR(n, ...): the bytes of the numbers, NULLs left out.
pub(crate) fn char(args: Args<'_>, ctx: &mut Context) -> Answer {
    let mut out = Vec::new();
    for arg in args {
        let Some(n) = arg.to_integer(ctx) else { continue };
        let bytes = (n.bits() as u32).to_be_bytes();
        let skip = bytes.iter().take_while(|b| **b == 0).count().min(3);
        out.extend_from_slice(&bytes[skip..]);
    }
    text(&out, Collation::BINARY)
}

/// CHAR(... USING charset), of the bytes and a collation's id: NULL in strict mode when the bytes are no text, else what is
/// before the first bad one.
pub(crate) fn char_using(args: Args<'_>, ctx: &mut Context) -> Answer {
    let bytes = some!(args[0].to_str(ctx));
    let id = some!(args[1].to_i64(ctx));
    let collation = u16::try_from(id).ok().and_then(Collation::by_id).unwrap_or(Collation::BINARY);
    let mut whole = Vec::with_capacity(bytes.len());
    let charset = collation.charset();
    if charset.is_wide() {
        // A number of too few bytes is filled up.
        let _always = charset::Charset::Binary.convert(bytes.bytes(), charset, &mut whole);
    } else {
        whole.extend_from_slice(bytes.bytes());
    }
    let valid = charset.valid_prefix(&whole);
    if valid < whole.len() {
        let shown = whole[valid..].iter().take(6).map(|b| format!("{b:02X}")).collect();
        ctx.warn(Warning::InvalidString { charset, text: shown });
        if ctx.sql_mode.strict() {
            return NULL;
        }
    }
    text(&whole[..valid], collation)
}

/// CHR(n): the character of a code in the connection's character set; NULL when its bytes are none.
pub(crate) fn chr(args: Args<'_>, ctx: &mut Context) -> Answer {
    let bits = some!(args[0].to_integer(ctx)).bits() as u32;
    let bytes = bits.to_be_bytes();
    let bytes = &bytes[bytes.iter().take_while(|b| **b == 0).count().min(3)..];
    let charset = ctx.collation.charset();
    if !charset.is_valid(bytes) {
        let shown = bytes.iter().take(3).map(|b| format!("{b:02X}")).collect();
        ctx.warn(Warning::InvalidString { charset, text: shown });
        return NULL;
    }
    text(bytes, ctx.collation)
}

/// WEIGHT_STRING(text, chars): the sort key, of a text filled up with spaces.
pub(crate) fn weight_string(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let chars = some!(args[1].to_i64(ctx)).clamp(0, 1 << 16) as usize;
    let missing = chars.saturating_sub(s.charset().char_count(s.bytes()));
    let mut padded = s.bytes().to_vec();
    let pad = if s.collation().is_binary() { 0 } else { b' ' };
    padded.resize(padded.len() + missing, pad);
    let (mut out, mut end) = (Vec::new(), Vec::new());
    s.collation().sort_key(&padded, &mut out);
    // What ends every key is no weight of the text.
    s.collation().sort_key(b"", &mut end);
    if out.ends_with(&end) {
        out.truncate(out.len() - end.len());
    }
    text(&out, Collation::BINARY)
}

/// STRCMP(a, b).
pub(crate) fn strcmp(args: Args<'_>, ctx: &mut Context) -> Answer {
    let ([a, b], collation) = some!(texts::<2>(args, ctx));
    Ok(Value::Int(a.compare(&b, collation) as i64))
}

/// QUOTE(text): as an SQL literal; NULL gives the word NULL.
pub(crate) fn quote(args: Args<'_>, ctx: &mut Context) -> Answer {
    let Some(s) = args[0].to_str(ctx) else { return ascii_text(b"NULL", ctx) };
    let mut out = vec![b'\''];
    for byte in s.bytes() {
        match byte {
            0 => out.extend_from_slice(b"\\0"),
            0x1a => out.extend_from_slice(b"\\Z"),
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            other => out.push(*other),
        }
    }
    out.push(b'\'');
    if too_long(out.len() as u64, "quote", ctx) { NULL } else { text(&out, s.collation()) }
}

/// SOUNDEX(text).
pub(crate) fn soundex(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let code = |c: u8| b"01230120022455012623010202"[usize::from(c.to_ascii_uppercase() - b'A')];
    let mut out: Vec<u8> = Vec::new();
    let (mut last, mut letters) = (b'0', 0);
    let mut rest = s.bytes();
    while let Some(first) = rest.first() {
        let len = s.charset().decode(rest).map_or(1, |(_, len)| len);
        let (letter, after) = rest.split_at(len);
        rest = after;
        if letters == 0 && !first.is_ascii() {
            // A letter without a code can only come first.
            out.extend_from_slice(letter);
            letters = 1;
            continue;
        }
        if !first.is_ascii_alphabetic() {
            continue;
        }
        let digit = code(*first);
        if letters == 0 {
            out.push(first.to_ascii_uppercase());
            (last, letters) = (digit, 1);
        } else if digit != b'0' {
            if digit != last {
                out.push(digit);
                letters += 1;
            }
            last = digit;
        }
    }
    out.resize(out.len() + if letters == 0 { 0 } else { 4usize.saturating_sub(letters) }, b'0');
    text(&out, s.collation())
}

/// FORMAT(number, digits): thousands separated by commas.
pub(crate) fn format(args: Args<'_>, ctx: &mut Context) -> Answer {
    // The number of digits is an int: its low 32 bits.
    let digits = (some!(args[1].to_integer(ctx)).bits() as i32).clamp(0, 38);
    let d = match &args[0] {
        Value::Str(_) | Value::Double(_) | Value::Float(_) => {
            let v = some!(args[0].to_f64(ctx));
            some!(Decimal::from_f64(crate::numeric::round_double(v, digits, false))).value
        }
        other => some!(other.to_decimal(ctx)),
    };
    let rounded = d.round(digits, Rounding::HalfUp).with_scale(digits as u8);
    let mut plain = Vec::new();
    rounded.write(&mut plain);
    let start = usize::from(plain.first() == Some(&b'-'));
    let point = plain.iter().position(|b| *b == b'.').unwrap_or(plain.len());
    let (separator, decimal, pairs) = match args.get(2) {
        None => (",", '.', false),
        Some(name) => {
            crate::locale::separators(&name.to_str(ctx).map_or_else(String::new, |n| n.to_utf8_lossy()))
        }
    };
    let mut out = plain[..start].to_vec();
    for (i, digit) in plain[start..point].iter().enumerate() {
        let left = point - start - i;
        if i > 0 && if pairs && left > 3 { left % 2 == 1 } else { left % 3 == 0 } {
            out.extend_from_slice(separator.as_bytes());
        }
        out.push(*digit);
    }
    if point < plain.len() {
        out.push(decimal as u8);
        out.extend_from_slice(&plain[point + 1..]);
    }
    ascii_text(&out, ctx)
}

/// BIT_COUNT(n).
pub(crate) fn bit_count(args: Args<'_>, ctx: &mut Context) -> Answer {
    let number = match &args[0] {
        Value::Str(_) => Value::from(some!(args[0].to_decimal(ctx))),
        other => other.clone(),
    };
    let bits = some!(number.to_integer(ctx)).bits();
    Ok(Value::Int(i64::from(bits.count_ones())))
}

/// CONV(number, from base, to base); a negative base means signed.
pub(crate) fn conv(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let from = some!(count(&args[1], ctx));
    let to = some!(count(&args[2], ctx));
    let valid = |base: i64| (2..=62).contains(&base.unsigned_abs());
    if !valid(from) || !valid(to) {
        return NULL;
    }
    if s.is_empty() {
        return NULL;
    }
    let value = parse_base(s.bytes(), from.unsigned_abs());
    ascii_text(&in_base(value, to), ctx)
}

/// Digits of a base at the start of a text, with a sign; too many saturate.
fn parse_base(text: &[u8], base: u64) -> u64 {
    let skip = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
    let text = &text[skip..];
    let negative = text.first() == Some(&b'-');
    let text = &text[usize::from(matches!(text.first(), Some(b'-' | b'+')))..];
    let mut value = 0u64;
    for c in text {
        let digit = match c {
            b'0'..=b'9' => c - b'0',
            b'A'..=b'Z' => c - b'A' + 10,
            b'a'..=b'z' if base <= 36 => c - b'a' + 10,
            b'a'..=b'z' => c - b'a' + 36,
            _ => break,
        };
        if u64::from(digit) >= base {
            break;
        }
        match value.checked_mul(base).and_then(|v| v.checked_add(u64::from(digit))) {
            Some(v) => value = v,
            None => return u64::MAX,
        }
    }
    if negative { value.wrapping_neg() } else { value }
}

fn in_base(value: u64, base: i64) -> Vec<u8> {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let negative = base < 0 && (value as i64) < 0;
    let mut rest = if negative { (value as i64).unsigned_abs() } else { value };
    let base = base.unsigned_abs();
    let mut out = Vec::new();
    loop {
        out.push(DIGITS[(rest % base) as usize]);
        rest /= base;
        if rest == 0 {
            break;
        }
    }
    if negative {
        out.push(b'-');
    }
    out.reverse();
    out
}

fn based(args: Args<'_>, ctx: &mut Context, base: i64) -> Answer {
    // CONV from base 10: digits at the start of the text.
    let s = some!(args[0].to_str(ctx));
    if s.is_empty() {
        return NULL;
    }
    ascii_text(&in_base(parse_base(s.bytes(), 10), base), ctx)
}
pub(crate) fn bin(args: Args<'_>, ctx: &mut Context) -> Answer {
    based(args, ctx, 2)
}
pub(crate) fn oct(args: Args<'_>, ctx: &mut Context) -> Answer {
    based(args, ctx, 8)
}

/// CHARSET(text), COLLATION(text).
pub(crate) fn charset(args: Args<'_>, ctx: &mut Context) -> Answer {
    ascii_text(collation_of(&args[0]).charset().name().as_bytes(), ctx)
}
pub(crate) fn collation(args: Args<'_>, ctx: &mut Context) -> Answer {
    ascii_text(collation_of(&args[0]).name().as_bytes(), ctx)
}
fn collation_of(v: &Value) -> Collation {
    v.as_str().map_or(Collation::BINARY, Str::collation)
}

/// INTERVAL(n, a, b, ...): how many of the ascending numbers are not greater than n; -1 for NULL.
pub(crate) fn interval(args: Args<'_>, ctx: &mut Context) -> Answer {
    let Some(n) = args[0].to_f64(ctx) else { return Ok(Value::Int(-1)) };
    let mut below = 0;
    for arg in &args[1..] {
        if arg.to_f64(ctx).is_some_and(|v| v > n) {
            break;
        }
        below += 1;
    }
    Ok(Value::Int(below))
}
