//! Functions that answer with a changed document. New values come as JSON text: the planner has made it of them.

use types::{Context, Value};

use super::path::{self, Path, Place, Step};
use super::tree::{self, Json, Style, same_key, unescape};
use super::{Fault, answer, utf8, warn_path};
use crate::arguments::{Answer, Args, NULL, some};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Set,
    Insert,
    Replace,
}

fn wrap<'a>(slot: &mut Json<'a>, value: Json<'a>) {
    let old = std::mem::replace(slot, Json::Literal(b"null"));
    *slot = Json::Array(vec![old, value]);
}

/// Puts a value where a path without wildcards points.
fn put<'a>(json: &mut Json<'a>, path: &[Step], key: Option<&'a [u8]>, value: Json<'a>, rule: Rule) {
    let Some((last, parents)) = path.split_last() else {
        if rule != Rule::Insert {
            *json = value;
        }
        return;
    };
    let Some(parent) = path::first_mut(json, parents) else { return };
    match (last, parent) {
        (Step::Key(name), Json::Object(members)) => {
            match members.iter_mut().find(|(key, _)| same_key(key, name)) {
                Some((_, slot)) if rule != Rule::Insert => *slot = value,
                None if rule != Rule::Replace => members.extend(key.map(|key| (key, value))),
                _ => {}
            }
        }
        (Step::At(place), Json::Array(items)) => match place.in_array(items.len()) {
            Some(i) if i < items.len() && rule != Rule::Insert => items[i] = value,
            Some(i) if i >= items.len() && rule != Rule::Replace => items.push(value),
            _ => {}
        },
        (Step::At(Place::Index(0) | Place::Last(0)), slot) if rule != Rule::Insert => *slot = value,
        (Step::At(Place::Index(1..)), slot) if rule != Rule::Replace => wrap(slot, value),
        _ => {}
    }
}

/// A path, its last key as a document writes it, and the new value's text.
type Pair = (Path, Vec<u8>, Vec<u8>);

/// The pairs of path and value behind the document. All texts outlive the tree.
fn pairs(args: Args<'_>, function: &'static str, ctx: &mut Context) -> Option<Vec<Pair>> {
    let mut out = Vec::new();
    for (i, pair) in args[1..].chunks_exact(2).enumerate() {
        let text = utf8(&pair[0], ctx)?;
        let path = path::parse_single(&text, i * 2 + 2, function, ctx)?;
        // The key of a new member, as it is written in a document.
        let mut key = Vec::new();
        if let Some(Step::Key(name)) = path.last() {
            super::escape(&mut key, name);
        }
        out.push((path, key, utf8(&pair[1], ctx).unwrap_or_else(|| b"null".to_vec())));
    }
    Some(out)
}

fn put_all(args: Args<'_>, ctx: &mut Context, rule: Rule, function: &'static str) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    let pairs = some!(pairs(args, function, ctx));
    let mut json = some!(tree::parse(&text, 1, function, ctx));
    for (i, (path, key, value)) in pairs.iter().enumerate() {
        let value = some!(tree::parse(value, i * 2 + 3, function, ctx));
        put(&mut json, path, Some(key), value, rule);
    }
    answer(&json.text(Style::Loose))
}

pub(crate) fn set(args: Args<'_>, ctx: &mut Context) -> Answer {
    put_all(args, ctx, Rule::Set, "json_set")
}
pub(crate) fn insert(args: Args<'_>, ctx: &mut Context) -> Answer {
    put_all(args, ctx, Rule::Insert, "json_insert")
}
pub(crate) fn replace(args: Args<'_>, ctx: &mut Context) -> Answer {
    put_all(args, ctx, Rule::Replace, "json_replace")
}

pub(crate) fn array_append(args: Args<'_>, ctx: &mut Context) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    let pairs = some!(pairs(args, "json_array_append", ctx));
    let mut json = some!(tree::parse(&text, 1, "json_array_append", ctx));
    for (i, (path, _, value)) in pairs.iter().enumerate() {
        let value = some!(tree::parse(value, i * 2 + 3, "json_array_append", ctx));
        match some!(path::first_mut(&mut json, path)) {
            Json::Array(items) => items.push(value),
            slot => wrap(slot, value),
        }
    }
    answer(&json.text(Style::Loose))
}

pub(crate) fn array_insert(args: Args<'_>, ctx: &mut Context) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    let pairs = some!(pairs(args, "json_array_insert", ctx));
    let mut json = some!(tree::parse(&text, 1, "json_array_insert", ctx));
    for (i, (path, _, value)) in pairs.iter().enumerate() {
        let Some((Step::At(place), parents)) = path.split_last() else { return NULL };
        let value = some!(tree::parse(value, i * 2 + 3, "json_array_insert", ctx));
        if let Some(Json::Array(items)) = path::first_mut(&mut json, parents) {
            let at = place.in_array(items.len()).unwrap_or(0).min(items.len());
            items.insert(at, value);
        }
    }
    answer(&json.text(Style::Loose))
}

pub(crate) fn remove(args: Args<'_>, ctx: &mut Context) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    let mut paths = Vec::new();
    for (i, arg) in args.iter().enumerate().skip(1) {
        let path = some!(utf8(arg, ctx));
        let path = some!(path::parse_single(&path, i + 1, "json_remove", ctx));
        if path.is_empty() {
            warn_path(ctx, Fault::Root, i + 1, "json_remove");
            return NULL;
        }
        paths.push(path);
    }
    let mut json = some!(tree::parse(&text, 1, "json_remove", ctx));
    for path in &paths {
        let Some((last, parents)) = path.split_last() else { continue };
        match (last, path::first_mut(&mut json, parents)) {
            (Step::Key(name), Some(Json::Object(members))) => {
                if let Some(at) = members.iter().position(|(key, _)| same_key(key, name)) {
                    members.remove(at);
                }
            }
            (Step::At(place), Some(Json::Array(items))) => {
                if let Some(at) = place.in_array(items.len()).filter(|at| *at < items.len()) {
                    items.remove(at);
                }
            }
            _ => {}
        }
    }
    answer(&json.text(Style::Loose))
}

fn merged<'a>(a: Json<'a>, b: Json<'a>) -> Json<'a> {
    match (a, b) {
        (Json::Object(mut members), Json::Object(more)) => {
            for (key, value) in more {
                let name = unescape(key);
                match members.iter_mut().find(|(k, _)| same_key(k, &name)) {
                    Some((_, slot)) => {
                        let old = std::mem::replace(slot, Json::Literal(b"null"));
                        *slot = merged(old, value);
                    }
                    None => members.push((key, value)),
                }
            }
            Json::Object(members)
        }
        (a, b) => {
            let list = |json| match json {
                Json::Array(items) => items,
                other => vec![other],
            };
            let mut items = list(a);
            items.extend(list(b));
            Json::Array(items)
        }
    }
}

pub(crate) fn merge(args: Args<'_>, ctx: &mut Context) -> Answer {
    let mut texts = Vec::new();
    for arg in args {
        texts.push(some!(utf8(arg, ctx)));
    }
    let mut out: Option<Json<'_>> = None;
    for (i, text) in texts.iter().enumerate() {
        let json = some!(tree::parse(text, i + 1, "json_merge_preserve", ctx));
        out = Some(match out {
            None => json,
            Some(before) => merged(before, json),
        });
    }
    answer(&some!(out).text(Style::Loose))
}

/// RFC 7396: members that are null go, objects merge, everything else replaces.
fn patched<'a>(target: Json<'a>, patch: Json<'a>) -> Json<'a> {
    let Json::Object(changes) = patch else { return patch };
    let mut members = match target {
        Json::Object(members) => members,
        _ => Vec::new(),
    };
    for (key, value) in changes {
        let name = unescape(key);
        let at = members.iter().position(|(k, _)| same_key(k, &name));
        match (at, value.is_null()) {
            (Some(at), true) => _ = members.remove(at),
            (None, true) => {}
            (Some(at), false) => {
                let old = std::mem::replace(&mut members[at].1, Json::Literal(b"null"));
                members[at].1 = patched(old, value);
            }
            (None, false) => members.push((key, patched(Json::Literal(b"null"), value))),
        }
    }
    Json::Object(members)
}

pub(crate) fn merge_patch(args: Args<'_>, ctx: &mut Context) -> Answer {
    let texts: Vec<Option<Vec<u8>>> = args.iter().map(|a| utf8(a, ctx)).collect();
    let mut out: Option<Json<'_>> = None;
    for (i, text) in texts.iter().enumerate() {
        let Some(text) = text else {
            out = None;
            continue;
        };
        let json = some!(tree::parse(text, i + 1, "json_merge_patch", ctx));
        out = match (out, json) {
            (None, json @ Json::Object(_)) if i > 0 => {
                // NULL and an object stay NULL; a later value that is no object replaces it.
                drop(json);
                None
            }
            (None, json) => Some(json),
            (Some(before), json) => Some(patched(before, json)),
        };
    }
    answer(&some!(out).text(Style::Loose))
}

/// Only the members whose names are in an array.
pub(crate) fn filter_keys(args: Args<'_>, ctx: &mut Context) -> Answer {
    let (text, names) = (some!(utf8(&args[0], ctx)), some!(utf8(&args[1], ctx)));
    let json = some!(tree::parse(&text, 1, "json_object_filter_keys", ctx));
    let names = some!(tree::parse(&names, 2, "json_object_filter_keys", ctx));
    let (Json::Object(members), Json::Array(names)) = (json, names) else { return NULL };
    let kept: Vec<_> = members
        .into_iter()
        .filter(|(key, _)| names.iter().any(|n| matches!(n, Json::String(n) if same_key(key, &unescape(n)))))
        .collect();
    if kept.is_empty() {
        return NULL;
    }
    answer(&Json::Object(kept).text(Style::Loose))
}

/// Elements that both arrays have, in the order of the second.
pub(crate) fn array_intersect(args: Args<'_>, ctx: &mut Context) -> Answer {
    let (a, b) = (some!(utf8(&args[0], ctx)), some!(utf8(&args[1], ctx)));
    let a = some!(tree::parse(&a, 1, "json_array_intersect", ctx));
    let b = some!(tree::parse(&b, 2, "json_array_intersect", ctx));
    let (Json::Array(mut left), Json::Array(right)) = (a, b) else { return NULL };
    let mut out = Vec::new();
    for item in right {
        if let Some(at) = left.iter().position(|l| super::read::same(l, &item)) {
            left.remove(at);
            out.push(item);
        }
    }
    if out.is_empty() {
        return NULL;
    }
    answer(&Json::Array(out).text(Style::Loose))
}

/// `[{"key": k, "value": v}, ...]` of the object at a path.
pub(crate) fn key_value(args: Args<'_>, ctx: &mut Context) -> Answer {
    let (text, path) = (some!(utf8(&args[0], ctx)), some!(utf8(&args[1], ctx)));
    let path = some!(path::parse_single(&path, 2, "json_key_value", ctx));
    let json = some!(tree::parse(&text, 1, "json_key_value", ctx));
    let Some(Json::Object(members)) = path::first(&json, &path) else { return NULL };
    let rows = members
        .iter()
        .map(|(k, v)| Json::Object(vec![(&b"key"[..], Json::String(k)), (b"value", v.clone())]))
        .collect();
    answer(&Json::Array(rows).text(Style::Loose))
}

/// `[[k, v], ...]` of an object.
pub(crate) fn object_to_array(args: Args<'_>, ctx: &mut Context) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    let json = some!(tree::parse(&text, 1, "json_object_to_array", ctx));
    let Json::Object(members) = json else { return NULL };
    let rows = members.into_iter().map(|(k, v)| Json::Array(vec![Json::String(k), v])).collect();
    answer(&Json::Array(rows).text(Style::Loose))
}

fn format(args: Args<'_>, ctx: &mut Context, style: Style, function: &'static str) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    answer(&some!(tree::parse(&text, 1, function, ctx)).text(style))
}

pub(crate) fn compact(args: Args<'_>, ctx: &mut Context) -> Answer {
    format(args, ctx, Style::Compact, "json_compact")
}
pub(crate) fn loose(args: Args<'_>, ctx: &mut Context) -> Answer {
    format(args, ctx, Style::Loose, "json_loose")
}
pub(crate) fn detailed(args: Args<'_>, ctx: &mut Context) -> Answer {
    let indent = match args.get(1) {
        None | Some(Value::Null) => 4,
        Some(value) => value.to_i64(ctx).unwrap_or(4).clamp(0, 16) as usize,
    };
    format(args, ctx, Style::Detailed(indent), "json_detailed")
}

/// JSON_NORMALIZE: members by name, numbers as `d.dE±e`, no spaces.
pub(crate) fn normalize(args: Args<'_>, ctx: &mut Context) -> Answer {
    let text = some!(utf8(&args[0], ctx));
    let mut out = Vec::new();
    normal(&some!(tree::parse(&text, 1, "json_normalize", ctx)), &mut out);
    answer(&out)
}

fn normal(json: &Json<'_>, out: &mut Vec<u8>) {
    match json {
        Json::Literal(text) if json.number().is_some() => normal_number(text, out),
        Json::Array(items) => {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                normal(item, out);
            }
            out.push(b']');
        }
        Json::Object(members) => {
            let mut sorted: Vec<&(&[u8], Json<'_>)> = members.iter().collect();
            sorted.sort_by_key(|(key, _)| unescape(key));
            out.push(b'{');
            for (i, (key, value)) in sorted.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                out.push(b'"');
                out.extend_from_slice(key);
                out.extend_from_slice(b"\":");
                normal(value, out);
            }
            out.push(b'}');
        }
        other => other.write(Style::Compact, out),
    }
}

fn normal_number(text: &[u8], out: &mut Vec<u8>) {
    let (sign, text) = match text.strip_prefix(b"-") {
        Some(rest) => (&b"-"[..], rest),
        None => (&b""[..], text),
    };
    let split = text.iter().position(|b| matches!(b, b'e' | b'E'));
    let (mantissa, exponent) = match split {
        Some(at) => {
            (&text[..at], std::str::from_utf8(&text[at + 1..]).ok().and_then(|t| t.parse().ok()).unwrap_or(0))
        }
        None => (text, 0i64),
    };
    let point = mantissa.iter().position(|b| *b == b'.').unwrap_or(mantissa.len());
    let digits: Vec<u8> = mantissa.iter().copied().filter(|b| *b != b'.').collect();
    let lead = digits.iter().take_while(|b| **b == b'0').count();
    let kept = digits[lead..].trim_ascii_end();
    let mut kept = kept.to_vec();
    while kept.last() == Some(&b'0') {
        kept.pop();
    }
    if kept.is_empty() {
        out.extend_from_slice(b"0.0E0");
        return;
    }
    let exponent = exponent + point as i64 - lead as i64 - 1;
    out.extend_from_slice(sign);
    out.push(kept[0]);
    out.push(b'.');
    out.extend_from_slice(if kept.len() > 1 { &kept[1..] } else { b"0" });
    out.extend_from_slice(format!("E{exponent}").as_bytes());
}

/// JSON_ARRAY over values that are JSON texts.
pub(crate) fn array(args: Args<'_>, ctx: &mut Context) -> Answer {
    let mut out = vec![b'['];
    for (i, arg) in args.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        out.extend_from_slice(&utf8(arg, ctx).unwrap_or_else(|| b"null".to_vec()));
    }
    out.push(b']');
    answer(&out)
}

/// JSON_OBJECT over names and values that are JSON texts.
pub(crate) fn object(args: Args<'_>, ctx: &mut Context) -> Answer {
    let mut out = vec![b'{'];
    for (i, pair) in args.chunks_exact(2).enumerate() {
        if i > 0 {
            out.extend_from_slice(b", ");
        }
        super::write_string(&mut out, &utf8(&pair[0], ctx).unwrap_or_default());
        out.extend_from_slice(b": ");
        out.extend_from_slice(&utf8(&pair[1], ctx).unwrap_or_else(|| b"null".to_vec()));
    }
    out.push(b'}');
    answer(&out)
}
