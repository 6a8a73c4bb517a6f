//! Exact numbers: ABS, SIGN, ROUND, TRUNCATE, CEILING, FLOOR.

use types::number::Integer;
use types::{Class, Context, Rounding, Value, ops};

use crate::arguments::{Answer, Args, count, double, some};

/// The argument as a number of its own kind: texts become doubles, temporal values numbers.
fn number(v: &Value, ctx: &mut Context) -> Option<Value> {
    Some(match v.class() {
        Class::Null => return None,
        Class::Int => v.to_integer(ctx)?.into(),
        Class::Decimal => v.clone(),
        Class::Double | Class::Str => Value::Double(v.to_f64(ctx)?),
        _ => {
            let d = v.to_decimal(ctx)?;
            if d.scale() == 0 { d.to_i64().map_or(Value::from(d), Value::Int) } else { d.into() }
        }
    })
}

pub(crate) fn abs(args: Args<'_>, ctx: &mut Context) -> Answer {
    match some!(number(&args[0], ctx)) {
        v @ Value::Int(n) if n < 0 => ops::neg(&v, ctx),
        Value::Decimal(d) => Ok(d.abs().into()),
        Value::Double(v) => Ok(Value::Double(v.abs())),
        other => Ok(other),
    }
}

pub(crate) fn sign(args: Args<'_>, ctx: &mut Context) -> Answer {
    Ok(Value::Int(match some!(number(&args[0], ctx)) {
        Value::Int(n) => n.signum(),
        Value::UInt(n) => i64::from(n > 0),
        Value::Decimal(d) if d.is_zero() => 0,
        Value::Decimal(d) => {
            if d.is_negative() {
                -1
            } else {
                1
            }
        }
        other => {
            let v = other.to_f64(ctx).unwrap_or(0.0);
            i64::from(v > 0.0) - i64::from(v < 0.0)
        }
    }))
}

fn whole(args: Args<'_>, ctx: &mut Context, how: Rounding, of_double: fn(f64) -> f64) -> Answer {
    Ok(match some!(number(&args[0], ctx)) {
        Value::Decimal(d) => {
            let rounded = d.round(0, how);
            rounded.to_i64().map_or(rounded.into(), Value::Int)
        }
        Value::Double(v) => Value::Double(of_double(v)),
        int => int,
    })
}
pub(crate) fn ceiling(args: Args<'_>, ctx: &mut Context) -> Answer {
    whole(args, ctx, Rounding::Ceiling, f64::ceil)
}
pub(crate) fn floor(args: Args<'_>, ctx: &mut Context) -> Answer {
    whole(args, ctx, Rounding::Floor, f64::floor)
}

fn digits(args: Args<'_>, ctx: &mut Context) -> Option<i32> {
    match args.get(1) {
        None => Some(0),
        Some(v) => Some(count(v, ctx)?.clamp(-1000, 1000) as i32),
    }
}

/// ROUND(number [, digits]).
pub(crate) fn round(args: Args<'_>, ctx: &mut Context) -> Answer {
    let n = some!(digits(args, ctx));
    match some!(number(&args[0], ctx)) {
        Value::Decimal(d) => Ok(d.round(n, Rounding::HalfUp).with_scale(n.clamp(0, 38) as u8).into()),
        Value::Double(v) => double(round_double(v, n, false)),
        Value::Int(v) if n < 0 => round_int(Integer::Signed(v), n, false),
        Value::UInt(v) if n < 0 => round_int(Integer::from_u64(v), n, true),
        int => Ok(int),
    }
}

/// TRUNCATE(number, digits).
pub(crate) fn truncate(args: Args<'_>, ctx: &mut Context) -> Answer {
    let n = some!(digits(args, ctx));
    match some!(number(&args[0], ctx)) {
        Value::Decimal(d) => Ok(d.round(n, Rounding::Truncate).with_scale(n.clamp(0, 38) as u8).into()),
        Value::Double(v) => double(round_double(v, n, true)),
        Value::Int(v) if n < 0 => {
            let unit = 10i64.checked_pow(n.unsigned_abs());
            Ok(Value::Int(unit.map_or(0, |u| v - v % u)))
        }
        Value::UInt(v) if n < 0 => {
            let unit = 10u64.checked_pow(n.unsigned_abs());
            Ok(Value::UInt(unit.map_or(0, |u| v - v % u)))
        }
        int => Ok(int),
    }
}

fn round_int(v: Integer, n: i32, unsigned: bool) -> Answer {
    let wide = match v {
        Integer::Signed(v) => i128::from(v),
        Integer::Unsigned(v) => i128::from(v),
    };
    let Some(unit) = 10i128.checked_pow(n.unsigned_abs()).filter(|u| *u < 1 << 100) else {
        return Ok(Value::Int(0));
    };
    let rounded = (wide.abs() + unit / 2) / unit * unit * wide.signum();
    let decimal = || Value::from(types::Decimal::parse(rounded.to_string().as_bytes()).value);
    if unsigned {
        return Ok(u64::try_from(rounded).map_or_else(|_| decimal(), Value::UInt));
    }
    Ok(i64::try_from(rounded).map_or_else(|_| decimal(), Value::Int))
}

pub(crate) fn round_double(v: f64, n: i32, truncate: bool) -> f64 {
    // Beyond 22 the product of tens is not the nearest double.
    let unit = if n.abs() <= 22 {
        10f64.powi(n.abs())
    } else {
        format!("1e{}", n.abs()).parse().unwrap_or(f64::INFINITY)
    };
    let how = |v: f64| if truncate { v.trunc() } else { v.round_ties_even() };
    if !unit.is_finite() {
        return if n > 0 { v } else { 0.0 };
    }
    let scaled = if n >= 0 { v * unit } else { v / unit };
    if !scaled.is_finite() {
        return v;
    }
    let kept = how(scaled);
    if n >= 0 { kept / unit } else { kept * unit }
}

/// A seeded or free random number: `RAND([seed])`.
pub(crate) fn rand(args: Args<'_>, ctx: &mut Context) -> Answer {
    let Some(seed) = args.first() else { return Ok(Value::Double(ctx.random.draw())) };
    let seed = seed.to_integer(ctx).map_or(0, |i| i.bits() as u32);
    if let Some((_, random)) = ctx.seeded.iter_mut().find(|(s, _)| *s == seed) {
        return Ok(Value::Double(random.draw()));
    }
    let mut random = types::Random::seeded(seed);
    let first = random.draw();
    ctx.seeded.push((seed, random));
    Ok(Value::Double(first))
}

pub(crate) fn modulo(args: Args<'_>, ctx: &mut Context) -> Answer {
    ops::rem(&args[0], &args[1], ctx)
}
