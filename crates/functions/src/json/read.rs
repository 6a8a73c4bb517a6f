//! Functions that look into JSON.

use types::{Context, Value, Warning};

use super::path::{self, Path, Step};
use super::tree::{self, Json, Style, unescape};
use super::{Fault, answer, utf8, warn_path};
use crate::arguments::{Answer, Args, NULL, some, too_long};

/// The paths in `args[from..]`; `None` when one is NULL or wrong.
fn paths(args: Args<'_>, from: usize, function: &'static str, ctx: &mut Context) -> Option<Vec<Path>> {
    let mut out = Vec::new();
    for (i, arg) in args.iter().enumerate().skip(from) {
        let text = utf8(arg, ctx)?;
        out.push(path::parse(&text, i + 1, function, ctx)?);
    }
    Some(out)
}

/// What each path names, each value once, in the order of the document.
fn matches<'j, 'a>(json: &'j Json<'a>, paths: &[Path]) -> Vec<&'j Json<'a>> {
    if let [one] = paths
        && !one.contains(&Step::Deep)
    {
        let mut out = Vec::new();
        path::find(json, one, &mut |v| {
            out.push(v);
            true
        });
        return out;
    }
    let mut hits: std::collections::HashSet<*const Json<'a>> = std::collections::HashSet::new();
    for path in paths {
        path::find(json, path, &mut |v| {
            hits.insert(std::ptr::from_ref(v));
            true
        });
    }
    let mut out = Vec::new();
    path::find(json, &[Step::Deep], &mut |v| {
        if hits.contains(&std::ptr::from_ref(v)) {
            out.push(v);
        }
        true
    });
    out
}

pub(crate) fn extract(args: Args<'_>, ctx: &mut Context) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    let paths = some!(paths(args, 1, "json_extract", ctx));
    let json = some!(tree::parse(&text, 1, "json_extract", ctx));
    let found = matches(&json, &paths);
    if paths.len() == 1 && !path::is_wild(&paths[0]) {
        return answer(&some!(found.first()).text(Style::Loose));
    }
    if found.is_empty() {
        return NULL;
    }
    let mut out = vec![b'['];
    for (i, value) in found.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        value.write(Style::Loose, &mut out);
    }
    out.push(b']');
    answer(&out)
}

/// The document and the value that its one path names.
fn document(args: Args<'_>, function: &'static str, ctx: &mut Context) -> Option<(Vec<u8>, Path)> {
    let text = utf8(&args[0], ctx)?;
    let path = match args.get(1) {
        None => Path::new(),
        Some(path) => {
            let path = utf8(path, ctx)?;
            path::parse(&path, 2, function, ctx)?
        }
    };
    Some((text, path))
}

/// JSON_VALUE: the scalar at a path, unquoted.
pub(crate) fn value(args: Args<'_>, ctx: &mut Context) -> Answer {
    let (text, path) = some!(document(args, "json_value", ctx));
    if path::is_wild(&path) {
        warn_path(ctx, Fault::Wildcard, 2, "json_value");
        return NULL;
    }
    let json = some!(tree::parse(&text, 1, "json_value", ctx));
    match some!(path::first(&json, &path)) {
        Json::Literal(b"true") => answer(b"1"),
        Json::Literal(b"false") => answer(b"0"),
        Json::Literal(b"null") => NULL,
        Json::Literal(text) => answer(text),
        Json::String(text) => answer(&unescape(text)),
        _ => NULL,
    }
}

/// JSON_QUERY: the array or object at a path, as it is written.
pub(crate) fn query(args: Args<'_>, ctx: &mut Context) -> Answer {
    let (text, path) = some!(document(args, "json_query", ctx));
    let json = some!(tree::parse(&text, 1, "json_query", ctx));
    if path.is_empty() && !json.is_scalar() {
        return answer(&text);
    }
    let mut found = None;
    path::find(&json, &path, &mut |v| {
        found = (!v.is_scalar()).then_some(v);
        found.is_none()
    });
    answer(&some!(found).text(Style::Loose))
}

pub(crate) fn exists(args: Args<'_>, ctx: &mut Context) -> Answer {
    let (text, path) = some!(document(args, "json_exists", ctx));
    let json = some!(tree::parse(&text, 1, "json_exists", ctx));
    Ok(Value::bool(path::first(&json, &path).is_some()))
}

pub(crate) fn valid(args: Args<'_>, ctx: &mut Context) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    let (kept, count) = (ctx.warnings.len(), ctx.warning_count);
    let valid = tree::parse(&text, 1, "json_valid", ctx).is_some();
    // What is wrong is only noted.
    if let Some(Warning::Numbered { errno, text }) = ctx.warnings.get(kept).cloned() {
        ctx.warnings.truncate(kept);
        ctx.warning_count = count;
        ctx.warn(Warning::Noted { errno, text });
    }
    Ok(Value::bool(valid))
}

pub(crate) fn length(args: Args<'_>, ctx: &mut Context) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    let json = some!(tree::parse(&text, 1, "json_length", ctx));
    let path = match args.get(1) {
        None => Path::new(),
        Some(path) => {
            let path = some!(utf8(path, ctx));
            some!(path::parse_single(&path, 2, "json_length", ctx))
        }
    };
    Ok(Value::Int(some!(path::first(&json, &path)).length() as i64))
}

pub(crate) fn depth(args: Args<'_>, ctx: &mut Context) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    Ok(Value::Int(some!(tree::parse(&text, 1, "json_depth", ctx)).depth() as i64))
}

pub(crate) fn kind(args: Args<'_>, ctx: &mut Context) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    let json = some!(tree::parse(&text, 1, "json_type", ctx));
    answer(match json {
        Json::Object(_) => b"OBJECT",
        Json::Array(_) => b"ARRAY",
        Json::String(_) => b"STRING",
        Json::Literal(b"true" | b"false") => b"BOOLEAN",
        Json::Literal(b"null") => b"NULL",
        Json::Literal(text) if text.contains(&b'.') => b"DOUBLE",
        Json::Literal(_) => b"INTEGER",
    })
}

pub(crate) fn keys(args: Args<'_>, ctx: &mut Context) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    let json = some!(tree::parse(&text, 1, "json_keys", ctx));
    let path = match args.get(1) {
        None => Path::new(),
        Some(path) => {
            let path = some!(utf8(path, ctx));
            some!(path::parse_single(&path, 2, "json_keys", ctx))
        }
    };
    let Some(Json::Object(members)) = path::first(&json, &path) else { return NULL };
    let mut seen: Vec<&[u8]> = Vec::new();
    for (key, _) in members {
        if !seen.contains(key) {
            seen.push(key);
        }
    }
    answer(&Json::Array(seen.into_iter().map(Json::String).collect()).text(Style::Loose))
}

pub(crate) fn unquote(args: Args<'_>, ctx: &mut Context) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    match tree::read(&text) {
        Ok(Json::String(inner)) => answer(&unescape(inner)),
        _ => answer(&text),
    }
}

pub(crate) fn quote(args: Args<'_>, ctx: &mut Context) -> Answer {
    if !matches!(
        args[0],
        Value::Str(_) | Value::Date(_) | Value::Time(_) | Value::DateTime(_) | Value::Timestamp(_)
    ) {
        return NULL;
    }
    let text = match &args[0] {
        // Bytes are taken for code points.
        Value::Str(s) if s.collation().is_binary() => {
            s.bytes().iter().map(|b| char::from(*b)).collect::<String>().into_bytes()
        }
        other => some!(utf8(other, ctx)),
    };
    let mut out = Vec::new();
    super::write_string(&mut out, &text);
    if too_long(out.len() as u64, "json_quote", ctx) { NULL } else { answer(&out) }
}

/// Whether a document holds another one, as JSON_CONTAINS means it.
fn holds(json: &Json<'_>, wanted: &Json<'_>) -> bool {
    match (json, wanted) {
        (Json::Array(items), Json::Array(all)) => {
            all.iter().all(|w| items.iter().any(|i| holds_item(i, w)))
                || items.iter().any(|i| matches!(i, Json::Array(_)) && holds(i, wanted))
        }
        (Json::Array(items), other) => items.iter().any(|i| holds(i, other)),
        (Json::Object(_), Json::Object(members)) => members
            .iter()
            .all(|(key, value)| json.member(&unescape(key)).is_some_and(|found| holds(found, value))),
        (a, b) => a.is_scalar() && same(a, b),
    }
}

fn holds_item(item: &Json<'_>, wanted: &Json<'_>) -> bool {
    match (item, wanted) {
        (Json::Array(_), Json::Array(_)) => holds(item, wanted),
        (Json::Array(inner), w) => inner.iter().any(|i| holds_item(i, w)),
        _ => holds(item, wanted),
    }
}

/// Equal values: numbers by value, strings by text, objects whatever the order of their members.
pub(crate) fn same(a: &Json<'_>, b: &Json<'_>) -> bool {
    match (a, b) {
        (Json::String(x), Json::String(y)) => x == y || unescape(x) == unescape(y),
        (Json::Literal(x), Json::Literal(y)) => {
            x == y || matches!((a.number(), b.number()), (Some(x), Some(y)) if x == y)
        }
        (Json::Array(x), Json::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y)),
        (Json::Object(x), Json::Object(y)) => {
            x.len() == y.len()
                && x.iter().all(|(key, v)| b.member(&unescape(key)).is_some_and(|found| same(found, v)))
        }
        _ => false,
    }
}

pub(crate) fn contains(args: Args<'_>, ctx: &mut Context) -> Answer {
    let (text, wanted) = (some!(utf8(&args[0], ctx)), some!(utf8(&args[1], ctx)));
    let json = some!(tree::parse(&text, 1, "json_contains", ctx));
    let path = match args.get(2) {
        None => Path::new(),
        Some(path) => {
            let path = some!(utf8(path, ctx));
            some!(path::parse_single(&path, 3, "json_contains", ctx))
        }
    };
    let wanted = some!(tree::parse(&wanted, 2, "json_contains", ctx));
    Ok(Value::bool(path::first(&json, &path).is_some_and(|found| holds(found, &wanted))))
}

/// "one" or "all"; warns of anything else.
fn mode(arg: &Value, function: &'static str, ctx: &mut Context) -> Option<bool> {
    let text = utf8(arg, ctx)?;
    let all = text.eq_ignore_ascii_case(b"all");
    if !all && !text.eq_ignore_ascii_case(b"one") {
        warn_path(ctx, Fault::OneOrAll, 2, function);
        return None;
    }
    Some(all)
}

pub(crate) fn contains_path(args: Args<'_>, ctx: &mut Context) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    let all = some!(mode(&args[1], "json_contains_path", ctx));
    let paths = some!(paths(args, 2, "json_contains_path", ctx));
    let json = some!(tree::parse(&text, 1, "json_contains_path", ctx));
    let mut there = paths.iter().map(|p| path::first(&json, p).is_some());
    Ok(Value::bool(if all { there.all(|t| t) } else { there.any(|t| t) }))
}

pub(crate) fn overlaps(args: Args<'_>, ctx: &mut Context) -> Answer {
    let (a, b) = (some!(utf8(&args[0], ctx)), some!(utf8(&args[1], ctx)));
    let a = some!(tree::parse(&a, 1, "json_overlaps", ctx));
    let b = some!(tree::parse(&b, 2, "json_overlaps", ctx));
    let found = match (&a, &b) {
        (Json::Array(x), Json::Array(y)) => x.iter().any(|x| y.iter().any(|y| same(x, y))),
        (Json::Array(list), one) | (one, Json::Array(list)) => list.iter().any(|item| same(item, one)),
        (Json::Object(x), Json::Object(_)) => {
            x.iter().any(|(key, v)| b.member(&unescape(key)).is_some_and(|found| same(found, v)))
        }
        (x, y) => same(x, y),
    };
    Ok(Value::bool(found))
}

pub(crate) fn equals(args: Args<'_>, ctx: &mut Context) -> Answer {
    let (a, b) = (some!(utf8(&args[0], ctx)), some!(utf8(&args[1], ctx)));
    let a = some!(tree::parse(&a, 1, "json_equals", ctx));
    let b = some!(tree::parse(&b, 2, "json_equals", ctx));
    Ok(Value::bool(same(&a, &b)))
}

/// JSON_SEARCH(doc, one|all, pattern [, escape [, path ...]]): paths of the strings that are LIKE the pattern.
pub(crate) fn search(args: Args<'_>, ctx: &mut Context) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    let all = some!(mode(&args[1], "json_search", ctx));
    let pattern = some!(utf8(&args[2], ctx));
    let escape = match args.get(3) {
        None | Some(Value::Null) => b'\\',
        Some(value) => some!(utf8(value, ctx)).first().copied().unwrap_or(b'\\'),
    };
    let roots = some!(paths(args, 4, "json_search", ctx));
    let json = some!(tree::parse(&text, 1, "json_search", ctx));
    let inside = (!roots.is_empty()).then(|| matches(&json, &roots));
    let mut finder = Finder { pattern: &pattern, escape, all, inside, found: Vec::new() };
    finder.walk(&json, &mut b"$".to_vec(), false);
    match finder.found.as_slice() {
        [] => NULL,
        [one] => {
            let mut out = Vec::new();
            super::write_string(&mut out, one);
            answer(&out)
        }
        many => {
            let mut out = vec![b'['];
            for (i, path) in many.iter().enumerate() {
                if i > 0 {
                    out.extend_from_slice(b", ");
                }
                super::write_string(&mut out, path);
            }
            out.push(b']');
            answer(&out)
        }
    }
}

struct Finder<'f, 'j, 'a> {
    pattern: &'f [u8],
    escape: u8,
    all: bool,
    /// Only values at or below these count.
    inside: Option<Vec<&'j Json<'a>>>,
    found: Vec<Vec<u8>>,
}

impl<'a> Finder<'_, '_, 'a> {
    fn walk(&mut self, json: &Json<'a>, path: &mut Vec<u8>, below: bool) {
        if !self.all && !self.found.is_empty() {
            return;
        }
        let below = below || self.inside.as_ref().is_none_or(|l| l.iter().any(|r| std::ptr::eq(*r, json)));
        let len = path.len();
        match json {
            Json::String(text) if below && like(&unescape(text), self.pattern, self.escape) => {
                self.found.push(path.clone());
            }
            Json::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    path.extend_from_slice(format!("[{i}]").as_bytes());
                    self.walk(item, path, below);
                    path.truncate(len);
                }
            }
            Json::Object(members) => {
                for (key, value) in members {
                    path.push(b'.');
                    path.extend_from_slice(key);
                    self.walk(value, path, below);
                    path.truncate(len);
                }
            }
            _ => {}
        }
    }
}

/// LIKE over UTF-8 bytes, without regard to case as the default collation has it for ASCII letters.
fn like(text: &[u8], pattern: &[u8], escape: u8) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return text.is_empty() };
    match *first {
        b'%' => (0..=text.len()).any(|i| like(&text[i..], rest, escape)),
        b'_' => {
            let width =
                std::str::from_utf8(text).ok().and_then(|t| t.chars().next()).map_or(1, char::len_utf8);
            !text.is_empty() && like(&text[width.min(text.len())..], rest, escape)
        }
        b => {
            let (b, rest) = match rest.split_first() {
                Some((next, rest)) if b == escape => (*next, rest),
                _ => (b, rest),
            };
            text.first().is_some_and(|t| t.eq_ignore_ascii_case(&b)) && like(&text[1..], rest, escape)
        }
    }
}
