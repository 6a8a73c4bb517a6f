//! SLEEP, BENCHMARK, UUID and the like.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use env::{Clock, RealClock};
use types::{Context, Value, ValueError};

use crate::arguments::{Answer, Args, ascii, some};

/// How often a sleeping function looks whether it must stop.
const LOOK: Duration = Duration::from_millis(20);

/// SLEEP(seconds): 0, or 1 when it was interrupted.
pub(crate) fn sleep(args: Args<'_>, ctx: &mut Context) -> Answer {
    let seconds = args[0].to_f64(ctx).filter(|s| *s >= 0.0);
    let Some(seconds) = seconds else {
        return Err(ValueError::WrongArguments { function: "sleep" });
    };
    let clock = RealClock::new();
    let until = clock.monotonic() + Duration::from_secs_f64(seconds.min(1e9));
    loop {
        let left = until.saturating_sub(clock.monotonic());
        if left.is_zero() {
            return Ok(Value::Int(0));
        }
        if ctx.is_interrupted() {
            return Ok(Value::Int(1));
        }
        clock.sleep(left.min(LOOK));
    }
}

/// BENCHMARK(count, expression): the expression has been evaluated once, as an argument.
pub(crate) fn benchmark(args: Args<'_>, ctx: &mut Context) -> Answer {
    let n = some!(args[0].to_i64(ctx));
    Ok(if n < 0 { Value::Null } else { Value::Int(0) })
}

/// A version 1 UUID: the time, and a number of this process for the node.
pub(crate) fn uuid(_: Args<'_>, ctx: &mut Context) -> Answer {
    static LAST: AtomicU64 = AtomicU64::new(0);
    static NODE: std::sync::LazyLock<u64> = std::sync::LazyLock::new(env::random::seed);
    // 100 ns steps since 1582-10-15, never the same twice.
    const TO_UNIX: u64 = 0x01b2_1dd2_1381_4000;
    let now = RealClock::new().wall().as_nanos() as u64 / 100 + TO_UNIX;
    let before = LAST.fetch_max(now, Ordering::Relaxed);
    let time = if before < now { now } else { LAST.fetch_add(1, Ordering::Relaxed) + 1 };
    let node = *NODE;
    let text = format!(
        "{:08x}-{:04x}-1{:03x}-{:04x}-{:012x}",
        time as u32,
        time >> 32 & 0xffff,
        time >> 48 & 0xfff,
        0x8000 | node >> 48 & 0x3fff,
        node & 0xffff_ffff_ffff | 0x0100_0000_0000,
    );
    ascii(text.as_bytes(), ctx)
}

/// UUID_SHORT(): a number that grows.
pub(crate) fn uuid_short(_: Args<'_>, _: &mut Context) -> Answer {
    static NEXT: std::sync::LazyLock<AtomicU64> = std::sync::LazyLock::new(|| {
        let seconds = RealClock::new().wall().as_secs();
        AtomicU64::new(1 << 56 | (seconds & 0xffff_ffff) << 24)
    });
    Ok(Value::UInt(NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// NAME_CONST(name, value).
pub(crate) fn name_const(args: Args<'_>, _: &mut Context) -> Answer {
    Ok(args[1].clone())
}

fn formatted_uuid(bits: u128, ctx: &Context) -> Answer {
    let hex = format!("{bits:032x}");
    ascii([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-").as_bytes(), ctx)
}

fn random_bits() -> u128 {
    let mut bytes = [0; 16];
    env::random::entropy(&mut bytes);
    u128::from_be_bytes(bytes)
}

/// Version and variant of a UUID in their places.
fn with_version(bits: u128, version: u128) -> u128 {
    bits & !(0xf << 76 | 0b11 << 62) | version << 76 | 0b10 << 62
}

/// A version 4 UUID: random.
pub(crate) fn uuid_v4(_: Args<'_>, ctx: &mut Context) -> Answer {
    formatted_uuid(with_version(random_bits(), 4), ctx)
}

/// A version 7 UUID: milliseconds, then random.
pub(crate) fn uuid_v7(_: Args<'_>, ctx: &mut Context) -> Answer {
    let millis = RealClock::new().wall().as_millis() & 0xffff_ffff_ffff;
    formatted_uuid(with_version(millis << 80 | random_bits() & ((1 << 80) - 1), 7), ctx)
}

/// SYS_GUID(): a UUID without dashes.
pub(crate) fn sys_guid(_: Args<'_>, ctx: &mut Context) -> Answer {
    ascii(format!("{:032X}", with_version(random_bits(), 1)).as_bytes(), ctx)
}

/// NVL2(a, b, c): b when a is not NULL, else c.
pub(crate) fn nvl2(args: Args<'_>, _: &mut Context) -> Answer {
    Ok(args[if args[0].is_null() { 2 } else { 1 }].clone())
}

/// LAST_VALUE(expr, ...): all are evaluated, the last one is the answer.
pub(crate) fn last_value(args: Args<'_>, _: &mut Context) -> Answer {
    Ok(args[args.len() - 1].clone())
}

/// NATURAL_SORT_KEY(text): runs of digits carry their length, so that they sort as numbers.
pub(crate) fn natural_sort_key(args: Args<'_>, ctx: &mut Context) -> Answer {
    let s = some!(args[0].to_str(ctx));
    let mut out = Vec::with_capacity(s.len() + 8);
    let mut rest = s.bytes();
    while let Some(first) = rest.first() {
        if !first.is_ascii_digit() {
            out.push(*first);
            rest = &rest[1..];
            continue;
        }
        let zeros = rest.iter().take_while(|b| **b == b'0').count();
        let digits = rest[zeros..].iter().take_while(|b| b.is_ascii_digit()).count();
        // Zero itself keeps one digit.
        let run = if digits == 0 { &rest[zeros - 1..zeros] } else { &rest[zeros..zeros + digits] };
        let mut length = run.len() - 1;
        while length >= 9 {
            out.push(b'9');
            length -= 9;
        }
        out.push(b'0' + length as u8);
        out.extend_from_slice(run);
        rest = &rest[zeros + digits..];
    }
    Ok(Value::str(&out, s.collation()))
}
