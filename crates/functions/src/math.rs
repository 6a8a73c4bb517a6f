//! Functions of doubles. A result that is not finite is an error (1690) or, where MariaDB says so, NULL.

use types::{Context, Value, Warning};

use crate::arguments::{Answer, Args, NULL, double, some};

fn of(args: Args<'_>, ctx: &mut Context, f: fn(f64) -> f64) -> Answer {
    double(f(some!(args[0].to_f64(ctx))))
}

macro_rules! simple {
    ($($name:ident = $f:expr;)*) => {
        $(pub(crate) fn $name(args: Args<'_>, ctx: &mut Context) -> Answer {
            of(args, ctx, $f)
        })*
    };
}

simple! {
    exp = f64::exp;
    sin = f64::sin;
    cos = f64::cos;
    tan = f64::tan;
    cot = |v| 1.0 / v.tan();
    degrees = |v| v * (180.0 / std::f64::consts::PI);
    radians = |v| v * (std::f64::consts::PI / 180.0);
}

pub(crate) fn sqrt(args: Args<'_>, ctx: &mut Context) -> Answer {
    let v = some!(args[0].to_f64(ctx));
    if v < 0.0 { NULL } else { double(v.sqrt()) }
}

fn in_unit(args: Args<'_>, ctx: &mut Context, f: fn(f64) -> f64) -> Answer {
    let v = some!(args[0].to_f64(ctx));
    if (-1.0..=1.0).contains(&v) { double(f(v)) } else { NULL }
}
pub(crate) fn asin(args: Args<'_>, ctx: &mut Context) -> Answer {
    in_unit(args, ctx, f64::asin)
}
pub(crate) fn acos(args: Args<'_>, ctx: &mut Context) -> Answer {
    in_unit(args, ctx, f64::acos)
}

/// ATAN(y [, x]), ATAN2(y, x).
pub(crate) fn atan(args: Args<'_>, ctx: &mut Context) -> Answer {
    let y = some!(args[0].to_f64(ctx));
    match args.get(1) {
        None => double(y.atan()),
        Some(x) => double(y.atan2(some!(x.to_f64(ctx)))),
    }
}

pub(crate) fn pow(args: Args<'_>, ctx: &mut Context) -> Answer {
    let (x, y) = (some!(args[0].to_f64(ctx)), some!(args[1].to_f64(ctx)));
    double(x.powf(y))
}

pub(crate) fn pi(_: Args<'_>, _: &mut Context) -> Answer {
    Ok(Value::Double(std::f64::consts::PI))
}

/// Logarithms of what is not positive are NULL, with the division warning.
fn log_of(v: f64, ctx: &mut Context, f: fn(f64) -> f64) -> Answer {
    if v > 0.0 {
        return double(f(v));
    }
    ctx.warn(Warning::DivisionByZero);
    NULL
}
pub(crate) fn ln(args: Args<'_>, ctx: &mut Context) -> Answer {
    log_of(some!(args[0].to_f64(ctx)), ctx, f64::ln)
}
pub(crate) fn log2(args: Args<'_>, ctx: &mut Context) -> Answer {
    log_of(some!(args[0].to_f64(ctx)), ctx, |v| v.ln() / std::f64::consts::LN_2)
}
pub(crate) fn log10(args: Args<'_>, ctx: &mut Context) -> Answer {
    log_of(some!(args[0].to_f64(ctx)), ctx, f64::log10)
}

/// `LOG([base,] number)`.
pub(crate) fn log(args: Args<'_>, ctx: &mut Context) -> Answer {
    let Some(number) = args.get(1) else { return ln(args, ctx) };
    let base = some!(args[0].to_f64(ctx));
    let v = some!(number.to_f64(ctx));
    if base <= 0.0 || base == 1.0 || v <= 0.0 {
        ctx.warn(Warning::DivisionByZero);
        return NULL;
    }
    double(v.ln() / base.ln())
}
