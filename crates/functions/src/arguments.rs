//! Reading arguments and making results.

use charset::Collation;
use types::{Context, Str, Value, ValueError, Warning};

pub(crate) type Answer = Result<Value, ValueError>;
pub(crate) type Args<'a> = &'a [Value];
pub(crate) const NULL: Answer = Ok(Value::Null);

/// Unwraps an `Option` or answers NULL.
macro_rules! some {
    ($e:expr) => {
        match $e {
            Some(v) => v,
            None => return Ok(types::Value::Null),
        }
    };
}
pub(crate) use some;

/// The collation in which several texts meet; numbers do not count.
pub(crate) fn common_collation(values: Args<'_>, ctx: &Context) -> Collation {
    let mut found: Option<Collation> = None;
    for collation in values.iter().filter_map(Value::as_str).map(Str::collation) {
        if collation.is_binary() {
            return collation;
        }
        found = match found {
            Some(f) if f.charset().max_len() >= collation.charset().max_len() => Some(f),
            _ => Some(collation),
        };
    }
    found.unwrap_or(ctx.collation)
}

/// A value's bytes in the character set of `collation`; `None` for NULL.
pub(crate) fn bytes_in(value: &Value, collation: Collation, ctx: &Context) -> Option<Str> {
    let text = value.to_str(ctx)?;
    Some(if text.charset() == collation.charset() { text } else { text.convert(collation) })
}

/// Arguments as texts of their common collation; `None` if one is NULL.
pub(crate) fn texts<const N: usize>(args: Args<'_>, ctx: &Context) -> Option<([Str; N], Collation)> {
    let collation = common_collation(&args[..N], ctx);
    let mut found = args[..N].iter().map(|a| bytes_in(a, collation, ctx));
    let mut out = [const { None }; N];
    for slot in &mut out {
        *slot = Some(found.next()??);
    }
    let all = out.map(|s| s.unwrap_or_else(|| Str::new(b"", collation)));
    Some((all, collation))
}

/// A text result; NULL with a warning when it is longer than `max_allowed_packet`.
pub(crate) fn text(bytes: &[u8], collation: Collation) -> Answer {
    Ok(Value::str(bytes, collation))
}

/// A text of ASCII characters in the connection's collation.
pub(crate) fn ascii(bytes: &[u8], ctx: &Context) -> Answer {
    Ok(Value::str(bytes, ctx.collation))
}

/// True (with the warning) if a result of `len` bytes is too long.
pub(crate) fn too_long(len: u64, function: &'static str, ctx: &mut Context) -> bool {
    let limit = ctx.max_allowed_packet;
    if len > limit {
        ctx.warn(Warning::ResultTooLarge { function, limit });
    }
    len > limit
}

/// A double result that must be finite.
pub(crate) fn double(v: f64) -> Answer {
    if v.is_finite() { Ok(Value::Double(v)) } else { Err(ValueError::OutOfRange { type_name: "DOUBLE" }) }
}

/// A number of characters or a position: too large values are cut.
pub(crate) fn count(value: &Value, ctx: &mut Context) -> Option<i64> {
    value.to_i64(ctx)
}
