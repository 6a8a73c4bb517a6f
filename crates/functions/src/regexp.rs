//! Regular expressions: REGEXP, REGEXP_REPLACE, REGEXP_INSTR, REGEXP_SUBSTR, by PCRE2, as in MariaDB.
//!
//! Texts are matched as UTF-8 (binary ones as bytes), without regard to case unless the collation tells cases apart. The last
//! patterns of a thread are kept compiled: a query uses the same one for every row.

use std::cell::RefCell;
use std::rc::Rc;

use charset::Collation;
use pcre2::bytes::{Regex, RegexBuilder};
use types::{Context, Str, Value, ValueError};

use crate::arguments::{Answer, Args, common_collation, some};

/// Compiled patterns a thread keeps.
const KEPT: usize = 8;

type Kept = (Vec<u8>, bool, bool, Rc<Regex>);

thread_local! {
    static COMPILED: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

fn compile(pattern: &[u8], caseless: bool, utf: bool) -> Result<Rc<Regex>, ValueError> {
    COMPILED.with_borrow_mut(|kept| {
        let found = kept.iter().position(|(p, c, u, _)| p == pattern && *c == caseless && *u == utf);
        if let Some(at) = found {
            // The most recent one stands last.
            let entry = kept.remove(at);
            let regex = entry.3.clone();
            kept.push(entry);
            return Ok(regex);
        }
        let text = pattern_text(pattern, utf);
        let built = RegexBuilder::new().caseless(caseless).utf(utf).ucp(utf).build(&text);
        let regex = Rc::new(built.map_err(|e| error(&e))?);
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((pattern.to_vec(), caseless, utf, regex.clone()));
        Ok(regex)
    })
}

/// A pattern as a Rust string; bytes above ASCII of a binary pattern are written as escapes.
fn pattern_text(pattern: &[u8], utf: bool) -> String {
    if utf {
        return String::from_utf8_lossy(pattern).into_owned();
    }
    pattern.iter().fold(String::new(), |mut out, b| {
        match b {
            0..128 => out.push(char::from(*b)),
            _ => out.push_str(&format!("\\x{b:02x}")),
        }
        out
    })
}

fn error(e: &pcre2::Error) -> ValueError {
    let text = e.to_string();
    let plain = text.rsplit(": ").next().unwrap_or(&text).trim_end_matches('\0').to_owned();
    ValueError::Regexp {
        text: match e.offset() {
            Some(at) => format!("{plain} at offset {at}"),
            None => plain,
        },
    }
}

/// The texts of a call as bytes to match, and how.
struct Call {
    collation: Collation,
    utf: bool,
    caseless: bool,
}

impl Call {
    fn of(args: Args<'_>, ctx: &Context) -> Self {
        let collation = common_collation(&args[..2], ctx);
        let cased = collation.is_bin() || collation.is_binary() || collation.name().ends_with("_cs");
        Self { collation, utf: !collation.is_binary(), caseless: !cased }
    }

    fn text(&self, value: &Value, ctx: &Context) -> Option<Vec<u8>> {
        let text = value.to_str(ctx)?;
        Some(if self.utf { text.to_utf8_lossy().into_bytes() } else { text.bytes().to_vec() })
    }

    fn regex(&self, pattern: &[u8]) -> Result<Rc<Regex>, ValueError> {
        compile(pattern, self.caseless, self.utf)
    }

    fn answer(&self, bytes: &[u8]) -> Answer {
        if !self.utf || self.collation.charset().max_len() == 4 {
            return Ok(Value::str(bytes, self.collation));
        }
        let text = Str::new(bytes, Collation::UTF8MB4_BIN);
        Ok(Value::Str(text.convert(self.collation)))
    }
}

pub(crate) fn regexp(args: Args<'_>, ctx: &mut Context) -> Answer {
    let call = Call::of(args, ctx);
    let (text, pattern) = (some!(call.text(&args[0], ctx)), some!(call.text(&args[1], ctx)));
    let regex = call.regex(&pattern)?;
    Ok(Value::bool(regex.is_match(&text).map_err(|e| error(&e))?))
}

pub(crate) fn instr(args: Args<'_>, ctx: &mut Context) -> Answer {
    let call = Call::of(args, ctx);
    let (text, pattern) = (some!(call.text(&args[0], ctx)), some!(call.text(&args[1], ctx)));
    let found = call.regex(&pattern)?.find(&text).map_err(|e| error(&e))?;
    let Some(found) = found else { return Ok(Value::Int(0)) };
    let before = &text[..found.start()];
    let chars = if call.utf { String::from_utf8_lossy(before).chars().count() } else { before.len() };
    Ok(Value::Int(chars as i64 + 1))
}

pub(crate) fn substr(args: Args<'_>, ctx: &mut Context) -> Answer {
    let call = Call::of(args, ctx);
    let (text, pattern) = (some!(call.text(&args[0], ctx)), some!(call.text(&args[1], ctx)));
    let found = call.regex(&pattern)?.find(&text).map_err(|e| error(&e))?;
    call.answer(found.map_or(&b""[..], |m| m.as_bytes()))
}

/// REGEXP_REPLACE(text, pattern, by): every match; `\1` in `by` is what the first parentheses matched.
pub(crate) fn replace(args: Args<'_>, ctx: &mut Context) -> Answer {
    let call = Call::of(args, ctx);
    let (text, pattern) = (some!(call.text(&args[0], ctx)), some!(call.text(&args[1], ctx)));
    let by = some!(call.text(&args[2], ctx));
    let regex = call.regex(&pattern)?;
    let mut out = Vec::with_capacity(text.len());
    let mut done = 0;
    for found in regex.captures_iter(&text) {
        let found = found.map_err(|e| error(&e))?;
        // A long text has many matches, and each may take long.
        if ctx.is_interrupted() {
            return Err(ValueError::Interrupted);
        }
        let Some(whole) = found.get(0).filter(|m| m.end() > m.start()) else { continue };
        out.extend_from_slice(&text[done..whole.start()]);
        let mut rest = by.iter();
        while let Some(b) = rest.next() {
            if *b != b'\\' {
                out.push(*b);
                continue;
            }
            match rest.next() {
                Some(d @ b'0'..=b'9') => {
                    if let Some(group) = found.get(usize::from(d - b'0')) {
                        out.extend_from_slice(group.as_bytes());
                    }
                }
                Some(other) => out.push(*other),
                // A backslash at the end stands for nothing.
                None => {}
            }
        }
        done = whole.end();
        if out.len() as u64 > ctx.max_allowed_packet {
            ctx.warn(types::Warning::ResultTooLarge {
                function: "regexp_replace",
                limit: ctx.max_allowed_packet,
            });
            return Ok(Value::Null);
        }
    }
    out.extend_from_slice(&text[done..]);
    call.answer(&out)
}

/// A match for other functions: a pattern that is wrong matches nothing.
pub(crate) fn matches_plainly(pattern: &[u8], text: &[u8]) -> bool {
    compile(pattern, false, true).is_ok_and(|regex| regex.is_match(text).unwrap_or(false))
}
