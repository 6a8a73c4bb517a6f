//! LPAD, RPAD, TRIM.

use types::{Context, Str};

use crate::arguments::{Answer, Args, NULL, count, some, text, texts, too_long};

fn pad(args: Args<'_>, ctx: &mut Context, left: bool) -> Answer {
    let (s, fill, collation) = match args.get(2) {
        Some(fill) => {
            let both = [args[0].clone(), fill.clone()];
            let ([s, fill], collation) = some!(texts::<2>(&both, ctx));
            (s, fill, collation)
        }
        None => {
            let s = some!(args[0].to_str(ctx));
            let collation = s.collation();
            (s, Str::new(b" ", collation), collation)
        }
    };
    let wanted = some!(count(&args[1], ctx));
    let Ok(wanted) = usize::try_from(wanted) else { return NULL };
    let charset = collation.charset();
    if too_long(
        (wanted as u64).saturating_mul(charset.max_len() as u64),
        if left { "lpad" } else { "rpad" },
        ctx,
    ) {
        return NULL;
    }
    let chars = charset.char_count(s.bytes());
    if wanted <= chars {
        return text(&s.bytes()[..charset.char_offset(s.bytes(), wanted)], collation);
    }
    let fill_chars = charset.char_count(fill.bytes());
    if fill_chars == 0 {
        return NULL;
    }
    let missing = wanted - chars;
    let mut filling = fill.bytes().repeat(missing / fill_chars);
    filling.extend_from_slice(&fill.bytes()[..charset.char_offset(fill.bytes(), missing % fill_chars)]);
    text(&if left { [&filling, s.bytes()] } else { [s.bytes(), &filling] }.concat(), collation)
}

pub(crate) fn lpad(args: Args<'_>, ctx: &mut Context) -> Answer {
    pad(args, ctx, true)
}
pub(crate) fn rpad(args: Args<'_>, ctx: &mut Context) -> Answer {
    pad(args, ctx, false)
}

fn trim_sides(args: Args<'_>, ctx: &mut Context, leading: bool, trailing: bool) -> Answer {
    let (s, what, collation) = match args.len() {
        1 => {
            let s = some!(args[0].to_str(ctx));
            let collation = s.collation();
            (s, Str::new(b" ", collation), collation)
        }
        _ => {
            let ([s, what], collation) = some!(texts::<2>(args, ctx));
            (s, what, collation)
        }
    };
    let (mut bytes, what) = (s.bytes(), what.bytes());
    if what.is_empty() {
        return text(bytes, collation);
    }
    while leading && let Some(rest) = bytes.strip_prefix(what) {
        bytes = rest;
    }
    while trailing && let Some(rest) = bytes.strip_suffix(what) {
        bytes = rest;
    }
    text(bytes, collation)
}

/// TRIM([what FROM] text) as (text [, what]).
pub(crate) fn trim(args: Args<'_>, ctx: &mut Context) -> Answer {
    trim_sides(args, ctx, true, true)
}
pub(crate) fn ltrim(args: Args<'_>, ctx: &mut Context) -> Answer {
    trim_sides(args, ctx, true, false)
}
pub(crate) fn rtrim(args: Args<'_>, ctx: &mut Context) -> Answer {
    trim_sides(args, ctx, false, true)
}
