//! Finding texts in texts.

use charset::Collation;
use types::{CompareAs, Context, Str, Value, compare_as};

use crate::arguments::{Answer, Args, NULL, bytes_in, common_collation, count, some, text, texts, too_long};

/// Byte offset of `needle` in `text` at or after `from`, under a collation.
fn find(text: &[u8], needle: &[u8], from: usize, collation: Collation) -> Option<usize> {
    if collation.is_bin() {
        let at = text.get(from..)?;
        if needle.is_empty() {
            return Some(from);
        }
        return at.windows(needle.len()).position(|w| w == needle).map(|i| i + from);
    }
    // A window has as many bytes as the needle, whatever its characters: letters of other lengths are never found.
    let charset = collation.charset();
    let mut at = from;
    loop {
        let rest = text.get(at..)?;
        if collation.compare_exactly(rest.get(..needle.len())?, needle) {
            return Some(at);
        }
        at += charset.decode(rest).map_or(1, |(_, len)| len);
    }
}

/// LOCATE(needle, text [, position]): the place in characters, 0 when it is not there.
pub(crate) fn locate(args: Args<'_>, ctx: &mut Context) -> Answer {
    let ([needle, s], collation) = some!(texts::<2>(args, ctx));
    let from = match args.get(2) {
        Some(v) => some!(count(v, ctx)),
        None => 1,
    };
    Ok(Value::Int(position(&s, &needle, from, collation)))
}

/// INSTR(text, needle).
pub(crate) fn instr(args: Args<'_>, ctx: &mut Context) -> Answer {
    let ([s, needle], collation) = some!(texts::<2>(args, ctx));
    Ok(Value::Int(position(&s, &needle, 1, collation)))
}

fn position(s: &Str, needle: &Str, from: i64, collation: Collation) -> i64 {
    let charset = collation.charset();
    let Some(skip) = usize::try_from(from).ok().and_then(|f| f.checked_sub(1)) else { return 0 };
    if skip > charset.char_count(s.bytes()) {
        return 0;
    }
    let start = charset.char_offset(s.bytes(), skip);
    if needle.is_empty() {
        // Counted in bytes, as observed.
        return start as i64 + 1;
    }
    find(s.bytes(), needle.bytes(), start, collation)
        .map_or(0, |at| charset.char_count(&s.bytes()[..at]) as i64 + 1)
}

/// REPLACE(text, from, to): by bytes, whatever the collation.
pub(crate) fn replace(args: Args<'_>, ctx: &mut Context) -> Answer {
    let ([s, from, to], collation) = some!(texts::<3>(args, ctx));
    let (bytes, from) = (s.bytes(), from.bytes());
    if from.is_empty() {
        return text(bytes, collation);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(from) {
            if too_long((out.len() + to.len() + bytes.len() - at - from.len()) as u64, "replace", ctx) {
                return NULL;
            }
            out.extend_from_slice(to.bytes());
            at += from.len();
        } else {
            let len = collation.charset().decode(&bytes[at..]).map_or(1, |(_, len)| len);
            out.extend_from_slice(&bytes[at..at + len]);
            at += len;
        }
    }
    text(&out, collation)
}

/// FIELD(value, a, b, ...): the place of the first equal one, 0 when there is none or the value is NULL.
pub(crate) fn field(args: Args<'_>, ctx: &mut Context) -> Answer {
    let kind = match common_class(args) {
        Some(all) => all,
        None => CompareAs::Double,
    };
    let collation = common_collation(args, ctx);
    for (i, arg) in args[1..].iter().enumerate() {
        if compare_as(kind, &args[0], arg, collation, ctx).is_some_and(std::cmp::Ordering::is_eq) {
            return Ok(Value::Int(i as i64 + 1));
        }
    }
    Ok(Value::Int(0))
}

/// The class all values compare as, if they have one in common.
pub(crate) fn common_class(args: Args<'_>) -> Option<CompareAs> {
    let mut found: Option<CompareAs> = None;
    for pair in args.windows(2) {
        let kind = CompareAs::of(pair[0].class(), pair[1].class());
        match found {
            None => found = Some(kind),
            Some(k) if k == kind => {}
            Some(CompareAs::Int) if kind == CompareAs::Decimal => found = Some(kind),
            Some(CompareAs::Decimal) if kind == CompareAs::Int => {}
            Some(_) => return None,
        }
    }
    found
}

/// FIND_IN_SET(text, list): the place among comma separated texts.
pub(crate) fn find_in_set(args: Args<'_>, ctx: &mut Context) -> Answer {
    let ([s, list], collation) = some!(texts::<2>(args, ctx));
    if s.bytes().contains(&b',') || list.is_empty() {
        return Ok(Value::Int(0));
    }
    let place =
        list.bytes().split(|b| *b == b',').position(|part| collation.compare_exactly(part, s.bytes()));
    Ok(Value::Int(place.map_or(0, |i| i as i64 + 1)))
}

/// GREATEST and LEAST.
fn extreme(args: Args<'_>, ctx: &mut Context, greatest: bool) -> Answer {
    if args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let collation = common_collation(args, ctx);
    let mut kind = CompareAs::of(args[0].class(), args[0].class());
    for pair in args.windows(2) {
        kind = wider(kind, CompareAs::of(pair[0].class(), pair[1].class()));
    }
    let mut best = &args[0];
    for arg in &args[1..] {
        let order = some!(compare_as(kind, arg, best, collation, ctx));
        if (greatest && order.is_gt()) || (!greatest && order.is_lt()) {
            best = arg;
        }
    }
    let scale = args.iter().map(|a| if let Value::Decimal(d) = a { d.scale() } else { 0 }).max().unwrap_or(0);
    Ok(match kind {
        CompareAs::Int => best.clone(),
        CompareAs::Decimal => best.to_decimal(ctx).map_or(Value::Null, |d| d.with_scale(scale).into()),
        CompareAs::Double => best.to_f64(ctx).map_or(Value::Null, Value::Double),
        CompareAs::Str => bytes_in(best, collation, ctx).map_or(Value::Null, Value::Str),
        CompareAs::Time => best.to_time(ctx).map_or(Value::Null, Value::Time),
        CompareAs::DateTime if args.iter().all(|a| matches!(a, Value::Date(_))) => best.clone(),
        CompareAs::DateTime => best.to_datetime(ctx).map_or(Value::Null, Value::DateTime),
    })
}

fn wider(a: CompareAs, b: CompareAs) -> CompareAs {
    match (a, b) {
        (x, y) if x == y => x,
        (CompareAs::DateTime | CompareAs::Time, _) | (_, CompareAs::DateTime | CompareAs::Time) => {
            CompareAs::DateTime
        }
        (CompareAs::Double | CompareAs::Str, _) | (_, CompareAs::Double | CompareAs::Str) => {
            CompareAs::Double
        }
        _ => CompareAs::Decimal,
    }
}

pub(crate) fn greatest(args: Args<'_>, ctx: &mut Context) -> Answer {
    extreme(args, ctx, true)
}
pub(crate) fn least(args: Args<'_>, ctx: &mut Context) -> Answer {
    extreme(args, ctx, false)
}
