//! The functions by name.

use std::collections::HashMap;
use std::sync::LazyLock;

use types::{Context, Value, ValueError};

use crate::ty::{Arg, Type, rule, rule::Rule};
use crate::{
    calendar, crypt, date_format, date_parse, digest, encode, json, math, misc, now, numeric, pad, regexp,
    search, sformat, substring, text, to_char,
};

/// A scalar function.
#[derive(Debug)]
pub struct Function {
    /// Lower case; the first is the usual one.
    pub names: &'static [&'static str],
    pub min_args: u8,
    pub max_args: u8,
    /// The same arguments always give the same value: it can be computed once.
    pub deterministic: bool,
    result: Rule,
    eval: fn(&[Value], &mut Context) -> Result<Value, ValueError>,
}

impl Function {
    pub fn accepts(&self, args: usize) -> bool {
        (usize::from(self.min_args)..=usize::from(self.max_args)).contains(&args)
    }
    /// The static type of a call; the number of arguments must be accepted.
    pub fn result_type(&self, args: &[Arg<'_>]) -> Type {
        (self.result)(args)
    }
    /// The value of a call; the number of arguments must be accepted.
    pub fn call(&self, args: &[Value], ctx: &mut Context) -> Result<Value, ValueError> {
        (self.eval)(args, ctx)
    }
    /// The evaluator, for callers that keep it.
    pub fn evaluator(&self) -> fn(&[Value], &mut Context) -> Result<Value, ValueError> {
        self.eval
    }
}

/// Finds a function by its lower case name.
pub fn find(name: &str) -> Option<&'static Function> {
    static BY_NAME: LazyLock<HashMap<&'static str, &'static Function>> =
        LazyLock::new(|| FUNCTIONS.iter().flat_map(|f| f.names.iter().map(move |n| (*n, f))).collect());
    BY_NAME.get(name).copied()
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().flat_map(|f| f.names).copied()
}

macro_rules! functions {
    ($($name:literal $(| $alias:literal)* ($min:literal ..= $max:literal) $result:expr, $eval:expr $(, $volatile:ident)?;)*) => {
        static FUNCTIONS: &[Function] = &[$(Function {
            names: &[$name $(, $alias)*],
            min_args: $min,
            max_args: $max,
            deterministic: <[&str]>::is_empty(&[$(stringify!($volatile))?]),
            result: $result,
            eval: $eval,
        }),*];
    };
}

functions! {
    "concat" (1 ..= 255) rule::sum_of_texts, text::concat;
    "concat_ws" (2 ..= 255) rule::sum_of_texts, text::concat_ws;
    "substring" | "substr" | "mid" (2 ..= 3) rule::like_first, substring::substring;
    "left" (2 ..= 2) rule::like_first, substring::left;
    "right" (2 ..= 2) rule::like_first, substring::right;
    "substring_index" (3 ..= 3) rule::like_first, substring::substring_index;
    "insert" (4 ..= 4) rule::sum_of_texts, substring::insert;
    "elt" (2 ..= 255) rule::longest_text, substring::elt;
    "make_set" (2 ..= 65) rule::sum_of_texts, substring::make_set;
    "export_set" (3 ..= 5) rule::long_text, substring::export_set;
    "repeat" (2 ..= 2) rule::long_text, substring::repeat;
    "space" (1 ..= 1) rule::long_text, substring::space;
    "reverse" (1 ..= 1) rule::like_first, substring::reverse;
    "length" | "octet_length" | "lengthb" (1 ..= 1) rule::int, text::length;
    "bit_length" (1 ..= 1) rule::int, text::bit_length;
    "char_length" | "character_length" (1 ..= 1) rule::int, text::char_length;
    "upper" | "ucase" (1 ..= 1) rule::like_first, text::upper;
    "lower" | "lcase" (1 ..= 1) rule::like_first, text::lower;
    "trim" (1 ..= 2) rule::like_first, pad::trim;
    "ltrim" (1 ..= 2) rule::like_first, pad::ltrim;
    "rtrim" (1 ..= 2) rule::like_first, pad::rtrim;
    "lpad" (2 ..= 3) rule::long_text, pad::lpad;
    "rpad" (2 ..= 3) rule::long_text, pad::rpad;
    "replace" (3 ..= 3) rule::long_text, search::replace;
    "instr" (2 ..= 2) rule::int, search::instr;
    "locate" | "position" (2 ..= 3) rule::int, search::locate;
    "field" (2 ..= 255) rule::int_not_null, search::field;
    "find_in_set" (2 ..= 2) rule::int, search::find_in_set;
    "greatest" (2 ..= 255) rule::extreme, search::greatest;
    "least" (2 ..= 255) rule::extreme, search::least;
    "ascii" (1 ..= 1) rule::int, text::ascii;
    "ord" (1 ..= 1) rule::bigint, text::ord;
    "char" (1 ..= 255) rule::binary, text::char;
    "<char using>" (2 ..= 2) rule::binary, text::char_using;
    "chr" (1 ..= 1) rule::ascii::<4>, text::chr;
    "weight_string" (2 ..= 2) rule::binary, text::weight_string;
    "strcmp" (2 ..= 2) rule::int, text::strcmp;
    "quote" (1 ..= 1) rule::long_text, text::quote;
    "soundex" (1 ..= 1) rule::like_first, text::soundex;
    "format" (2 ..= 3) rule::ascii::<100>, text::format;
    "bit_count" (1 ..= 1) rule::int, text::bit_count;
    "conv" (3 ..= 3) rule::ascii::<65>, text::conv;
    "bin" (1 ..= 1) rule::ascii::<65>, text::bin;
    "oct" (1 ..= 1) rule::ascii::<65>, text::oct;
    "charset" (1 ..= 1) rule::ascii::<64>, text::charset;
    "collation" (1 ..= 1) rule::ascii::<64>, text::collation;
    "interval" (2 ..= 255) rule::int_not_null, text::interval;
    "hex" (1 ..= 1) rule::hex, encode::hex;
    "unhex" (1 ..= 1) rule::binary, encode::unhex;
    "to_base64" (1 ..= 1) rule::hex, encode::to_base64;
    "from_base64" (1 ..= 1) rule::binary, encode::from_base64;
    "inet_aton" (1 ..= 1) rule::ubigint, encode::inet_aton;
    "inet_ntoa" (1 ..= 1) rule::ascii::<15>, encode::inet_ntoa;
    "md5" (1 ..= 1) rule::ascii::<32>, digest::md5;
    "sha" | "sha1" (1 ..= 1) rule::ascii::<40>, digest::sha1;
    "sha2" (2 ..= 2) rule::ascii::<128>, digest::sha2;
    "crc32" (1 ..= 2) rule::ubigint, digest::crc32;
    "crc32c" (1 ..= 2) rule::ubigint, digest::crc32c;

    "abs" (1 ..= 1) rule::same_number, numeric::abs;
    "sign" (1 ..= 1) rule::int, numeric::sign;
    "ceiling" | "ceil" (1 ..= 1) rule::whole, numeric::ceiling;
    "floor" (1 ..= 1) rule::whole, numeric::floor;
    "round" (1 ..= 2) rule::rounded, numeric::round;
    "truncate" (2 ..= 2) rule::rounded, numeric::truncate;
    "mod" (2 ..= 2) rule::same_number, numeric::modulo;
    "rand" (0 ..= 1) rule::double, numeric::rand, volatile;
    "exp" (1 ..= 1) rule::double, math::exp;
    "ln" (1 ..= 1) rule::double, math::ln;
    "log" (1 ..= 2) rule::double, math::log;
    "log2" (1 ..= 1) rule::double, math::log2;
    "log10" (1 ..= 1) rule::double, math::log10;
    "pow" | "power" (2 ..= 2) rule::double, math::pow;
    "sqrt" (1 ..= 1) rule::double, math::sqrt;
    "sin" (1 ..= 1) rule::double, math::sin;
    "cos" (1 ..= 1) rule::double, math::cos;
    "tan" (1 ..= 1) rule::double, math::tan;
    "cot" (1 ..= 1) rule::double, math::cot;
    "asin" (1 ..= 1) rule::double, math::asin;
    "acos" (1 ..= 1) rule::double, math::acos;
    "atan" | "atan2" (1 ..= 2) rule::double, math::atan;
    "degrees" (1 ..= 1) rule::double, math::degrees;
    "radians" (1 ..= 1) rule::double, math::radians;
    "pi" (0 ..= 0) rule::pi, math::pi;

    "now" | "current_timestamp" | "localtime" | "localtimestamp" (0 ..= 1) rule::now, now::now;
    "sysdate" (0 ..= 1) rule::now, now::sysdate, volatile;
    "curdate" | "current_date" (0 ..= 0) rule::date, now::curdate;
    "curtime" | "current_time" (0 ..= 1) rule::now_time, now::curtime;
    "utc_date" (0 ..= 0) rule::date, now::utc_date;
    "utc_time" (0 ..= 1) rule::now_time, now::utc_time;
    "utc_timestamp" (0 ..= 1) rule::now, now::utc_timestamp;
    "convert_tz" (3 ..= 3) rule::datetime_of, now::convert_tz;
    "unix_timestamp" (0 ..= 1) rule::seconds_of, calendar::unix_timestamp;
    "from_unixtime" (1 ..= 2) rule::from_unixtime, calendar::from_unixtime;
    "date" (1 ..= 1) rule::date, calendar::date;
    "time" (1 ..= 1) rule::time_of, calendar::time;
    "timestamp" (1 ..= 2) rule::datetime_of, calendar::timestamp;
    "year" (1 ..= 1) rule::int, calendar::year;
    "month" (1 ..= 1) rule::int, calendar::month;
    "day" | "dayofmonth" (1 ..= 1) rule::int, calendar::day;
    "quarter" (1 ..= 1) rule::int, calendar::quarter;
    "hour" (1 ..= 1) rule::int, calendar::hour;
    "minute" (1 ..= 1) rule::int, calendar::minute;
    "second" (1 ..= 1) rule::int, calendar::second;
    "microsecond" (1 ..= 1) rule::int, calendar::microsecond;
    "week" (1 ..= 2) rule::int, calendar::week;
    "weekofyear" (1 ..= 1) rule::int, calendar::week_of_year;
    "yearweek" (1 ..= 2) rule::int, calendar::year_week;
    "weekday" (1 ..= 1) rule::int, calendar::weekday;
    "dayofweek" (1 ..= 1) rule::int, calendar::day_of_week;
    "dayofyear" (1 ..= 1) rule::int, calendar::day_of_year;
    "dayname" (1 ..= 1) rule::ascii::<9>, calendar::day_name;
    "monthname" (1 ..= 1) rule::ascii::<9>, calendar::month_name;
    "last_day" (1 ..= 1) rule::date, calendar::last_day;
    "makedate" (2 ..= 2) rule::date, calendar::make_date;
    "maketime" (3 ..= 3) rule::time_of, calendar::make_time;
    "from_days" (1 ..= 1) rule::date, calendar::from_days;
    "to_days" (1 ..= 1) rule::int, calendar::to_days;
    "to_seconds" (1 ..= 1) rule::bigint, calendar::to_seconds;
    "datediff" (2 ..= 2) rule::int, calendar::date_diff;
    "timediff" (2 ..= 2) rule::time_of, calendar::time_diff;
    "timestampdiff" (3 ..= 3) rule::bigint, calendar::timestamp_diff;
    "timestampadd" (3 ..= 3) rule::timestamp_add, calendar::timestamp_add;
    "date_add" (3 ..= 3) rule::date_add, calendar::date_add;
    "date_sub" (3 ..= 3) rule::date_add, calendar::date_sub;
    "adddate" (2 ..= 3) rule::date_add, calendar::add_date;
    "subdate" (2 ..= 3) rule::date_add, calendar::sub_date;
    "addtime" (2 ..= 2) rule::add_time, calendar::add_time;
    "subtime" (2 ..= 2) rule::add_time, calendar::sub_time;
    "extract" (2 ..= 2) rule::bigint, calendar::extract;
    "sec_to_time" (1 ..= 1) rule::time_of, calendar::sec_to_time;
    "time_to_sec" (1 ..= 1) rule::seconds_of, calendar::time_to_sec;
    "period_add" (2 ..= 2) rule::int, calendar::period_add;
    "period_diff" (2 ..= 2) rule::int, calendar::period_diff;
    "date_format" (2 ..= 3) rule::ascii::<255>, date_format::date_format;
    "time_format" (2 ..= 2) rule::ascii::<255>, date_format::time_format;
    "get_format" (2 ..= 2) rule::ascii::<17>, date_format::get_format;
    "to_char" (1 ..= 2) rule::ascii::<255>, to_char::to_char;
    "str_to_date" (2 ..= 2) rule::str_to_date, date_parse::str_to_date;

    "regexp" | "rlike" (2 ..= 2) rule::int, regexp::regexp;
    "regexp_instr" (2 ..= 2) rule::int, regexp::instr;
    "regexp_substr" (2 ..= 2) rule::like_first, regexp::substr;
    "regexp_replace" (3 ..= 3) rule::long_text, regexp::replace;
    "compress" (1 ..= 1) rule::binary, crypt::compress;
    "uncompress" (1 ..= 1) rule::binary, crypt::uncompress;
    "uncompressed_length" (1 ..= 1) rule::int, crypt::uncompressed_length;
    "aes_encrypt" (2 ..= 4) rule::binary, crypt::aes_encrypt;
    "aes_decrypt" (2 ..= 4) rule::binary, crypt::aes_decrypt;
    "password" (1 ..= 1) rule::ascii::<41>, crypt::password;
    "random_bytes" (1 ..= 1) rule::binary, crypt::random_bytes, volatile;
    "inet6_aton" (1 ..= 1) rule::binary, encode::inet6_aton;
    "inet6_ntoa" (1 ..= 1) rule::ascii::<39>, encode::inet6_ntoa;
    "is_ipv4" (1 ..= 1) rule::int_not_null, encode::is_ipv4;
    "is_ipv6" (1 ..= 1) rule::int_not_null, encode::is_ipv6;
    "is_ipv4_compat" (1 ..= 1) rule::int_not_null, encode::is_ipv4_compat;
    "is_ipv4_mapped" (1 ..= 1) rule::int_not_null, encode::is_ipv4_mapped;
    "uuid_v4" (0 ..= 0) rule::ascii::<36>, misc::uuid_v4, volatile;
    "uuid_v7" (0 ..= 0) rule::ascii::<36>, misc::uuid_v7, volatile;
    "sys_guid" (0 ..= 0) rule::ascii::<32>, misc::sys_guid, volatile;
    "nvl2" (3 ..= 3) rule::second, misc::nvl2;
    "last_value" (1 ..= 255) rule::last, misc::last_value;
    "natural_sort_key" (1 ..= 1) rule::long_text, misc::natural_sort_key;
    "sformat" (1 ..= 255) rule::long_text, sformat::sformat;

    "json_array" (0 ..= 255) rule::json, json::change::array;
    "json_object" (0 ..= 254) rule::json, json::change::object;
    "json_array_append" (3 ..= 255) rule::json, json::change::array_append;
    "json_array_insert" (3 ..= 255) rule::json, json::change::array_insert;
    "json_array_intersect" (2 ..= 2) rule::json, json::change::array_intersect;
    "json_compact" (1 ..= 1) rule::json, json::change::compact;
    "json_contains" (2 ..= 3) rule::int, json::read::contains;
    "json_contains_path" (3 ..= 255) rule::int, json::read::contains_path;
    "json_depth" (1 ..= 1) rule::int, json::read::depth;
    "json_detailed" | "json_pretty" (1 ..= 2) rule::json, json::change::detailed;
    "json_equals" (2 ..= 2) rule::int, json::read::equals;
    "json_exists" (2 ..= 2) rule::int, json::read::exists;
    "json_extract" (2 ..= 255) rule::json, json::read::extract;
    "json_insert" (3 ..= 255) rule::json, json::change::insert;
    "json_key_value" (2 ..= 2) rule::json, json::change::key_value;
    "json_keys" (1 ..= 2) rule::json, json::read::keys;
    "json_length" (1 ..= 2) rule::int, json::read::length;
    "json_loose" (1 ..= 1) rule::json, json::change::loose;
    "json_merge" | "json_merge_preserve" (2 ..= 255) rule::json, json::change::merge;
    "json_merge_patch" (2 ..= 255) rule::json, json::change::merge_patch;
    "json_normalize" (1 ..= 1) rule::json, json::change::normalize;
    "json_object_filter_keys" (2 ..= 2) rule::json, json::change::filter_keys;
    "json_object_to_array" (1 ..= 1) rule::json, json::change::object_to_array;
    "json_overlaps" (2 ..= 2) rule::int, json::read::overlaps;
    "json_query" (2 ..= 2) rule::json, json::read::query;
    "json_quote" (1 ..= 1) rule::json, json::read::quote;
    "json_remove" (2 ..= 255) rule::json, json::change::remove;
    "json_replace" (3 ..= 255) rule::json, json::change::replace;
    "json_schema_valid" (2 ..= 2) rule::int, json::schema::schema_valid;
    "json_search" (3 ..= 255) rule::json, json::read::search;
    "json_set" (3 ..= 255) rule::json, json::change::set;
    "json_type" (1 ..= 1) rule::ascii::<12>, json::read::kind;
    "json_unquote" (1 ..= 1) rule::json, json::read::unquote;
    "json_valid" (1 ..= 1) rule::int, json::read::valid;
    "json_value" (2 ..= 2) rule::json, json::read::value;

    "<json literal>" (1 ..= 1) rule::json, json::literal;
    "<json boolean>" (1 ..= 1) rule::json, json::boolean;
    "<json>" (1 ..= 1) rule::json, json::itself;
    "<json number>" (1 ..= 1) rule::double, json::number;

    "sleep" (1 ..= 1) rule::int_not_null, misc::sleep, volatile;
    "benchmark" (2 ..= 2) rule::int, misc::benchmark, volatile;
    "uuid" (0 ..= 0) rule::ascii::<36>, misc::uuid, volatile;
    "uuid_short" (0 ..= 0) rule::ubigint, misc::uuid_short, volatile;
    "name_const" (2 ..= 2) rule::second, misc::name_const;
}
