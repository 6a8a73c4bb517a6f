//! SFORMAT(format, ...): `{}`, `{1}`, `{:>8.2f}` as the fmt library has them.

use types::{Class, Context, Value, Warning};

use crate::arguments::{Answer, Args, NULL, some};

/// What stands behind the colon.
#[derive(Debug, Default)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    kind: Option<char>,
}

pub(crate) fn sformat(args: Args<'_>, ctx: &mut Context) -> Answer {
    let format = some!(args[0].to_str(ctx));
    if args[1..].iter().any(Value::is_null) {
        return NULL;
    }
    match write(&format.to_utf8_lossy(), &args[1..], ctx) {
        Ok(out) => {
            let text = types::Str::new(out.as_bytes(), charset::Collation::UTF8MB4_BIN);
            Ok(Value::Str(text.convert(format.collation())))
        }
        Err(what) => {
            ctx.warn(Warning::Numbered { errno: 4183, text: format!("SFORMAT error: {what}") });
            NULL
        }
    }
}

fn write(format: &str, args: Args<'_>, ctx: &mut Context) -> Result<String, &'static str> {
    let mut out = String::new();
    let mut chars = format.chars().peekable();
    let mut next = 0;
    while let Some(c) = chars.next() {
        match c {
            '{' if chars.next_if_eq(&'{').is_some() => out.push('{'),
            '}' if chars.next_if_eq(&'}').is_some() => out.push('}'),
            '}' => return Err("unmatched '}' in format string"),
            '{' => {
                let mut field = String::new();
                loop {
                    match chars.next() {
                        None => return Err("invalid format string"),
                        Some('}') => break,
                        Some(other) => field.push(other),
                    }
                }
                let (index, spec) = field.split_once(':').unwrap_or((&field, ""));
                let at = if index.is_empty() {
                    next += 1;
                    next - 1
                } else {
                    index.parse().map_err(|_| "invalid format string")?
                };
                let value = args.get(at).ok_or("argument not found")?;
                one(value, &parse(spec)?, ctx, &mut out)?;
            }
            other => out.push(other),
        }
    }
    Ok(out)
}

fn parse(text: &str) -> Result<Spec, &'static str> {
    let mut spec = Spec::default();
    let mut rest = text;
    let mut chars = text.chars();
    let is_align = |c: char| matches!(c, '<' | '>' | '^');
    match (chars.next(), chars.next()) {
        (Some(fill), Some(align)) if is_align(align) => {
            (spec.fill, spec.align) = (Some(fill), Some(align));
            rest = chars.as_str();
        }
        (Some(align), _) if is_align(align) => {
            spec.align = Some(align);
            rest = &text[1..];
        }
        _ => {}
    }
    if let Some(sign) = rest.chars().next().filter(|c| matches!(c, '+' | '-' | ' ')) {
        spec.sign = Some(sign);
        rest = &rest[1..];
    }
    if let Some(after) = rest.strip_prefix('#') {
        spec.alternate = true;
        rest = after;
    }
    if let Some(after) = rest.strip_prefix('0') {
        spec.zero = true;
        rest = after;
    }
    let number = |rest: &mut &str| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let found = rest[..end].parse::<usize>().ok();
        *rest = &rest[end..];
        found
    };
    spec.width = number(&mut rest).unwrap_or(0).min(1 << 20);
    if let Some(after) = rest.strip_prefix('.') {
        rest = after;
        spec.precision = Some(number(&mut rest).ok_or("invalid format specifier")?.min(1000));
    }
    let mut kind = rest.strip_prefix('L').unwrap_or(rest).chars();
    spec.kind = kind.next();
    let known = "aAbBcdeEfFgGopsxX";
    if kind.next().is_some() || spec.kind.is_some_and(|k| !known.contains(k)) {
        return Err("invalid format specifier");
    }
    Ok(spec)
}

fn one(value: &Value, spec: &Spec, ctx: &mut Context, out: &mut String) -> Result<(), &'static str> {
    let (sign, digits, numeric) = match value.class() {
        Class::Int => {
            let bits = value.to_integer(ctx).map_or(0, |i| i.bits());
            let negative = matches!(value, Value::Int(v) if *v < 0);
            let size = if negative { (bits as i64).unsigned_abs() } else { bits };
            (negative, integer(size, spec)?, true)
        }
        Class::Decimal | Class::Double => {
            let v = value.to_f64(ctx).unwrap_or(0.0);
            (v.is_sign_negative(), float(v.abs(), spec)?, true)
        }
        _ => {
            if spec.kind.is_some_and(|k| k != 's') {
                return Err("invalid format specifier");
            }
            let text = value.to_str(ctx).map_or_else(String::new, |s| s.to_utf8_lossy());
            let cut = spec.precision.unwrap_or(usize::MAX);
            (false, text.chars().take(cut).collect(), false)
        }
    };
    let sign = match (sign, spec.sign) {
        (true, _) => "-",
        (false, Some('+')) if numeric => "+",
        (false, Some(' ')) if numeric => " ",
        _ => "",
    };
    let missing = spec.width.saturating_sub(sign.len() + digits.chars().count());
    let pad = |out: &mut String, fill: char, n: usize| out.extend(std::iter::repeat_n(fill, n));
    if spec.zero && numeric && spec.align.is_none() {
        out.push_str(sign);
        pad(out, '0', missing);
        out.push_str(&digits);
        return Ok(());
    }
    let fill = spec.fill.unwrap_or(' ');
    let before = match spec.align.unwrap_or(if numeric { '>' } else { '<' }) {
        '>' => missing,
        '^' => missing / 2,
        _ => 0,
    };
    pad(out, fill, before);
    out.push_str(sign);
    out.push_str(&digits);
    pad(out, fill, missing - before);
    Ok(())
}

fn integer(size: u64, spec: &Spec) -> Result<String, &'static str> {
    let (prefix, digits) = match spec.kind {
        None | Some('d') => ("", size.to_string()),
        Some('x') => ("0x", format!("{size:x}")),
        Some('X') => ("0X", format!("{size:X}")),
        Some('o') => ("0", format!("{size:o}")),
        Some('b') => ("0b", format!("{size:b}")),
        Some('B') => ("0B", format!("{size:b}")),
        Some('c') => ("", u32::try_from(size).ok().and_then(char::from_u32).unwrap_or('?').to_string()),
        Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A') => return float(size as f64, spec),
        _ => return Err("invalid format specifier"),
    };
    Ok(if spec.alternate { format!("{prefix}{digits}") } else { digits })
}

fn float(v: f64, spec: &Spec) -> Result<String, &'static str> {
    let precision = spec.precision.unwrap_or(6);
    let exponent = |text: String| match text.split_once('e') {
        // Two digits of exponent at least, and its sign.
        Some((m, e)) => {
            let n: i32 = e.parse().unwrap_or(0);
            format!("{m}e{}{:02}", if n < 0 { '-' } else { '+' }, n.abs())
        }
        None => text,
    };
    Ok(match spec.kind {
        Some('f' | 'F') => format!("{v:.precision$}"),
        Some('e') => exponent(format!("{v:.precision$e}")),
        Some('E') => exponent(format!("{v:.precision$e}")).to_uppercase(),
        None if spec.precision.is_none() => format!("{v}"),
        None | Some('g' | 'G') => {
            let digits = precision.max(1);
            let power = if v == 0.0 { 0 } else { v.log10().floor() as i32 };
            let trim = |s: String| {
                if s.contains('.') { s.trim_end_matches('0').trim_end_matches('.').to_owned() } else { s }
            };
            if power < -4 || power >= digits as i32 {
                let text = format!("{v:.*e}", digits - 1);
                let (m, e) = text.split_once('e').unwrap_or((&text, "0"));
                exponent(format!("{}e{e}", trim(m.to_owned())))
            } else {
                trim(format!("{v:.*}", (digits as i32 - 1 - power).max(0) as usize))
            }
        }
        _ => return Err("invalid format specifier"),
    })
}
