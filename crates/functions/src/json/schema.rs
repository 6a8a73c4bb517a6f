//! JSON_SCHEMA_VALID: the keywords of JSON Schema draft 2020 that MariaDB checks, annotations ignored.

use types::{Context, Value};

use super::read::same;
use super::tree::{self, Json, unescape};
use super::utf8;
use crate::arguments::{Answer, Args, some};

pub(crate) fn schema_valid(args: Args<'_>, ctx: &mut Context) -> Answer {
    let (schema, text) = (some!(utf8(&args[0], ctx)), some!(utf8(&args[1], ctx)));
    let schema = some!(tree::parse(&schema, 1, "json_schema_valid", ctx));
    let json = some!(tree::parse(&text, 2, "json_schema_valid", ctx));
    Ok(Value::bool(fits(&schema, &json)))
}

fn fits(schema: &Json<'_>, json: &Json<'_>) -> bool {
    match schema {
        Json::Literal(b"false") => false,
        Json::Object(keywords) => keywords.iter().all(|(word, rule)| keyword(word, rule, schema, json)),
        _ => true,
    }
}

fn keyword(word: &[u8], rule: &Json<'_>, schema: &Json<'_>, json: &Json<'_>) -> bool {
    let list = |j: &Json<'_>| match j {
        Json::Array(items) => items.len(),
        _ => 0,
    };
    let all = |check: &dyn Fn(&Json<'_>) -> bool| match rule {
        Json::Array(rules) => rules.iter().filter(|r| check(r)).count(),
        _ => 0,
    };
    match word {
        b"type" => match rule {
            Json::Array(names) => names.iter().any(|n| is_type(n, json)),
            name => is_type(name, json),
        },
        b"const" => same(rule, json),
        b"enum" => matches!(rule, Json::Array(items) if items.iter().any(|i| same(i, json))),
        b"allOf" => all(&|r| fits(r, json)) == list(rule),
        b"anyOf" => all(&|r| fits(r, json)) > 0,
        b"oneOf" => all(&|r| fits(r, json)) == 1,
        b"not" => !fits(rule, json),
        b"if" => match schema.member(if fits(rule, json) { b"then" } else { b"else" }) {
            Some(branch) => fits(branch, json),
            None => true,
        },
        b"minimum" | b"maximum" | b"exclusiveMinimum" | b"exclusiveMaximum" | b"multipleOf" => {
            match (json.number(), rule.number()) {
                (Some(n), Some(limit)) => number_rule(word, n, limit),
                _ => true,
            }
        }
        b"minLength" | b"maxLength" | b"pattern" => match json {
            Json::String(text) => text_rule(word, &unescape(text), rule),
            _ => true,
        },
        b"items" | b"prefixItems" | b"minItems" | b"maxItems" | b"uniqueItems" | b"contains" => match json {
            Json::Array(items) => array_rule(word, items, rule, schema),
            _ => true,
        },
        _ => match json {
            Json::Object(members) => object_rule(word, members, rule, schema, json),
            _ => true,
        },
    }
}

fn is_type(name: &Json<'_>, json: &Json<'_>) -> bool {
    let Json::String(name) = name else { return false };
    match *name {
        b"object" => matches!(json, Json::Object(_)),
        b"array" => matches!(json, Json::Array(_)),
        b"string" => matches!(json, Json::String(_)),
        b"number" => json.number().is_some(),
        b"integer" => json.number().is_some_and(|n| n.fract() == 0.0),
        b"boolean" => matches!(json, Json::Literal(b"true" | b"false")),
        b"null" => json.is_null(),
        _ => false,
    }
}

fn number_rule(word: &[u8], n: f64, limit: f64) -> bool {
    match word {
        b"minimum" => n >= limit,
        b"maximum" => n <= limit,
        b"exclusiveMinimum" => n > limit,
        b"exclusiveMaximum" => n < limit,
        _ => limit == 0.0 || (n / limit).fract() == 0.0,
    }
}

fn text_rule(word: &[u8], text: &[u8], rule: &Json<'_>) -> bool {
    let chars = String::from_utf8_lossy(text).chars().count() as f64;
    match (word, rule) {
        (b"pattern", Json::String(pattern)) => crate::regexp::matches_plainly(&unescape(pattern), text),
        (b"minLength", _) => rule.number().is_none_or(|n| chars >= n),
        (b"maxLength", _) => rule.number().is_none_or(|n| chars <= n),
        _ => true,
    }
}

fn array_rule(word: &[u8], items: &[Json<'_>], rule: &Json<'_>, schema: &Json<'_>) -> bool {
    let len = items.len() as f64;
    match (word, rule) {
        (b"prefixItems", Json::Array(rules)) => items.iter().zip(rules).all(|(item, rule)| fits(rule, item)),
        (b"items", rule) => {
            let skip = match schema.member(b"prefixItems") {
                Some(Json::Array(rules)) => rules.len(),
                _ => 0,
            };
            items.iter().skip(skip).all(|item| fits(rule, item))
        }
        (b"minItems", _) => rule.number().is_none_or(|n| len >= n),
        (b"maxItems", _) => rule.number().is_none_or(|n| len <= n),
        (b"uniqueItems", Json::Literal(b"true")) => {
            items.iter().enumerate().all(|(i, a)| items[..i].iter().all(|b| !same(a, b)))
        }
        (b"contains", _) => {
            let found = items.iter().filter(|item| fits(rule, item)).count() as f64;
            let least = schema.member(b"minContains").and_then(Json::number).unwrap_or(1.0);
            let most = schema.member(b"maxContains").and_then(Json::number).unwrap_or(f64::INFINITY);
            found >= least && found <= most
        }
        _ => true,
    }
}

fn object_rule(
    word: &[u8],
    members: &[(&[u8], Json<'_>)],
    rule: &Json<'_>,
    schema: &Json<'_>,
    json: &Json<'_>,
) -> bool {
    let len = members.len() as f64;
    match (word, rule) {
        (b"properties", Json::Object(rules)) => rules
            .iter()
            .all(|(name, rule)| json.member(&unescape(name)).is_none_or(|found| fits(rule, found))),
        (b"required", Json::Array(names)) => {
            names.iter().all(|n| matches!(n, Json::String(n) if json.member(&unescape(n)).is_some()))
        }
        (b"minProperties", _) => rule.number().is_none_or(|n| len >= n),
        (b"maxProperties", _) => rule.number().is_none_or(|n| len <= n),
        (b"propertyNames", _) => members.iter().all(|(name, _)| fits(rule, &Json::String(name))),
        (b"patternProperties", Json::Object(rules)) => rules.iter().all(|(pattern, rule)| {
            members.iter().all(|(name, value)| {
                !crate::regexp::matches_plainly(&unescape(pattern), &unescape(name)) || fits(rule, value)
            })
        }),
        (b"additionalProperties", _) => members.iter().all(|(name, value)| {
            let known = schema.member(b"properties").is_some_and(|p| p.member(&unescape(name)).is_some());
            let fitting = match schema.member(b"patternProperties") {
                Some(Json::Object(rules)) => {
                    rules.iter().any(|(p, _)| crate::regexp::matches_plainly(&unescape(p), &unescape(name)))
                }
                _ => false,
            };
            known || fitting || fits(rule, value)
        }),
        (b"dependentRequired", Json::Object(rules)) => rules.iter().all(|(name, needed)| {
            json.member(&unescape(name)).is_none()
                || matches!(needed, Json::Array(list) if list.iter().all(|n| {
                    matches!(n, Json::String(n) if json.member(&unescape(n)).is_some())
                }))
        }),
        _ => true,
    }
}
