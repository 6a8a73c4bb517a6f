"""Scalar functions with arguments at limits: what a real server and this one answer.

    python3 functions.py --socket /tmp/m/sock --ours /tmp/o/sock [--count 20000] [--seed 1] [--only NAME,...]

Each call is `SELECT HEX-able value` on both servers; value, error number and warnings (their numbers, or with --texts their texts, too) are
compared. Prints each function with the share that differs and its first differing calls. Functions of clocks, chance and sessions are left out.
"""

import argparse
import collections
import random
import socket

from server import Connection, ServerError

INTS = ["0", "1", "-1", "2", "3", "7", "10", "100", "255", "256", "65535", "2147483647", "-2147483648", "4294967295", "4294967296",
        "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615", "18446744073709551616", "null"]
DECIMALS = ["0.0", "1.5", "-1.5", "0.5", "2.5", "99999999999999999999", "-99999999999999999999.5", "0.00000000000000000000000000000000000001",
            "12345678901234567890123456789012345678901234567890123456789012345", "-0.0"]
DOUBLES = ["0e0", "1e0", "-1.5e0", "1e30", "-1e30", "1e308", "1e-308", "1.7976931348623157e308", "0.1e0", "2.5e0"]
TEXTS = ["''", "'a'", "'abc'", "'ABC'", "'a,b,c'", "'ä'", "'Straße'", "'😀'", "' a '", "'1'", "'-1'", "'1.5'", "'1e3'", "'12abc'", "'abc def'", "'%'", "'a%b_c'",
         "'\\\\'", "'\\''", "'\\0'", "x'ff'", "x''", "x'c3a9'", "_latin1 x'e9'", "_utf8mb4 x'f09f9880'", "_ucs2 x'00e40061'", "'a' collate utf8mb4_bin",
         "'2001-01-01'", "'12:34:56'", "'9223372036854775807'", "'99999999999999999999'", "repeat('x',300)", "null"]
DATES = ["'0000-00-00'", "'2000-00-00'", "'2000-02-29'", "'2001-02-29'", "'9999-12-31'", "'0001-01-01'", "'1969-12-31 23:59:59'", "'1970-01-01 00:00:01'",
         "'2038-01-19 03:14:07.999999'", "'9999-12-31 23:59:59.999999'", "'838:59:59'", "'-838:59:59'", "'839:00:00'", "'23:59:59.999999'", "'00:00:00'", "20010203",
         "101", "99991231235959", "timestamp'2000-01-01 00:00:00'", "date'2008-12-29'", "time'10:11:12.123456'", "'2004-13-01'", "'garbage'", "''", "null", "'10:11'",
         "'2000-1-1 1:1:1'", "0", "-1", "1e10", "700101"]
JSONS = ["'{}'", "'[]'", "'[1,2,3]'", "'{\"a\":1,\"b\":[1,2,{\"c\":null}]}'", "'\"x\"'", "'1'", "'true'", "'null'", "'[1,'", "''", "'{\"a\":{\"a\":{\"a\":1}}}'", "null", "'[[1,2],[3]]'", "x'ff'"]
PATHS = ["'$'", "'$.a'", "'$[0]'", "'$[last]'", "'$[last-1]'", "'$.b[2].c'", "'$[*]'", "'$.*'", "'$**.a'", "'$.'", "'a'", "'$[0 to 1]'", "'$[-1]'", "'$.a.a'", "null", "''"]
PATTERNS = ["'a'", "'^a'", "'b$'", "'.*'", "''", "'('", "'[a-z]+'", "'(a)(b)?'", "'\\\\\\\\'", "'ä'", "'(?i)ABC'", "null", "'\\\\d+'"]
FORMATS = ["'%Y-%m-%d'", "'%H:%i:%s.%f'", "'%j %U %u %V %v %X %x %W %w %a'", "'%p %r %T'", "'%'", "'%%'", "'%D %M %b %c %e %k %l %h %I'", "'%y%m'", "''", "null", "'%Y %j'", "'%d'", "'%q'"]
UNITS = "microsecond second minute hour day week month quarter year".split()
COMPOUND = UNITS + "second_microsecond minute_second hour_second day_hour year_month day_microsecond".split()
I, D, F, T, X, J, P, R, M = INTS, DECIMALS, DOUBLES, TEXTS, DATES, JSONS, PATHS, PATTERNS, FORMATS
N = I + D + F + ["'12abc'", "'1e3'"]
A = N + T + X
SMALL = [i for i in I if i not in ("2147483647", "4294967295", "4294967296")] + ["20", "63", "64"]

CALLS = {
    "concat": [A, A], "concat_ws": [T, A, A], "substring": [T, N], "substring ": [T, I, I], "left": [T, N], "right": [T, N], "substring_index": [T, ["','", "'a'", "''", "'b'", "null"], N],
    "insert": [T, I, I, T], "elt": [I, A, A], "make_set": [N, T, T, T], "export_set": [I, T, T, T, I], "repeat": [T, ["-1", "0", "1", "3", "null", "1.5"]], "space": [["-1", "0", "3", "null"]],
    "reverse": [A], "length": [A], "bit_length": [A], "char_length": [A], "upper": [T], "lower": [T], "trim": [T], "ltrim": [T], "rtrim": [T],
    "lpad": [T, ["-1", "0", "1", "5", "10", "null"], T], "rpad": [T, ["-1", "0", "1", "5", "10", "null"], T], "replace": [T, T, T], "instr": [T, T], "locate": [T, T], "locate ": [T, T, I],
    "field": [A, A, A], "find_in_set": [T, T], "greatest": [A, A], "least": [A, A], "ascii": [A], "ord": [A], "char": [N, N], "chr": [I], "strcmp": [A, A], "quote": [A], "soundex": [T],
    "format": [N, I], "bit_count": [A], "conv": [A, ["10", "16", "2", "36", "-10", "37", "1", "null"], ["10", "16", "2", "36", "-10", "37", "0", "null"]], "bin": [A], "oct": [A],
    "interval": [N, N, N], "hex": [A], "unhex": [A], "to_base64": [T], "from_base64": [T], "inet_aton": [T + ["'1.2.3.4'", "'255.255.255.255'", "'1.2'", "'256.1.1.1'"]], "inet_ntoa": [N],
    "inet6_aton": [T + ["'::1'", "'1.2.3.4'", "'::ffff:1.2.3.4'"]], "inet6_ntoa": [T + ["x'7f000001'"]], "md5": [A], "sha1": [T], "sha2": [T, I + ["224", "384", "512"]], "crc32": [A], "crc32c": [A],
    "abs": [A], "sign": [A], "ceiling": [A], "floor": [A], "round": [A], "round ": [N, SMALL], "truncate": [N, SMALL], "mod": [N, N], "exp": [N], "ln": [N], "log": [N, N], "log2": [N], "log10": [N],
    "pow": [N, N], "sqrt": [N], "sin": [N], "cos": [N], "tan": [N], "cot": [N], "asin": [N], "acos": [N], "atan": [N, N], "degrees": [N], "radians": [N],
    "convert_tz": [X, ["'+00:00'", "'-12:59'", "'+14:00'", "'x'", "null"], ["'+01:00'", "'+15:00'", "null"]], "unix_timestamp": [X], "from_unixtime": [N], "from_unixtime ": [N, M],
    "date": [X], "time": [X], "timestamp": [X], "timestamp ": [X, X], "year": [X], "month": [X], "day": [X], "quarter": [X], "hour": [X], "minute": [X], "second": [X], "microsecond": [X],
    "week": [X, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "-1", "null"]], "weekofyear": [X], "yearweek": [X, ["0", "1", "2", "3", "7", "null"]], "weekday": [X], "dayofweek": [X], "dayofyear": [X], "dayname": [X],
    "monthname": [X], "last_day": [X], "makedate": [N, N], "maketime": [N, N, N], "from_days": [N], "to_days": [X], "to_seconds": [X], "datediff": [X, X], "timediff": [X, X], "addtime": [X, X], "subtime": [X, X],
    "sec_to_time": [N], "time_to_sec": [X], "period_add": [N, I], "period_diff": [N, N], "date_format": [X, M], "time_format": [X, M], "str_to_date": [X, M], "to_char": [X],
    "regexp_instr": [T, R], "regexp_substr": [T, R], "regexp_replace": [T, R, T], "uncompressed_length": [T], "password": [T], "is_ipv4": [T], "is_ipv6": [T], "nvl2": [A, A, A], "ifnull": [A, A], "nullif": [A, A],
    "coalesce": [A, A], "isnull": [A], "natural_sort_key": [T], "json_array": [A, A], "json_object": [T, A], "json_array_append": [J, P, A], "json_array_insert": [J, P, A], "json_compact": [J],
    "json_contains": [J, J], "json_contains ": [J, J, P], "json_contains_path": [J, ["'one'", "'all'", "'x'", "null"], P], "json_depth": [J], "json_detailed": [J], "json_equals": [J, J], "json_exists": [J, P],
    "json_extract": [J, P], "json_insert": [J, P, A], "json_keys": [J], "json_keys ": [J, P], "json_length": [J], "json_length ": [J, P], "json_loose": [J], "json_merge_patch": [J, J], "json_merge_preserve": [J, J],
    "json_normalize": [J], "json_overlaps": [J, J], "json_query": [J, P], "json_quote": [A], "json_remove": [J, P], "json_replace": [J, P, A], "json_search": [J, ["'one'", "'all'", "'x'", "null"], T], "json_set": [J, P, A],
    "json_type": [J], "json_unquote": [A], "json_valid": [A], "json_value": [J, P],
}
TEMPLATES = {
    "cast signed": ("cast({} as signed)", [A]), "cast unsigned": ("cast({} as unsigned)", [A]), "cast decimal": ("cast({} as decimal(10,2))", [A]), "cast decimal max": ("cast({} as decimal(65,38))", [A]),
    "cast double": ("cast({} as double)", [A]), "cast char": ("cast({} as char)", [A]), "cast char(2)": ("cast({} as char(2))", [A]), "cast binary": ("cast({} as binary(3))", [A]), "cast date": ("cast({} as date)", [A]),
    "cast time": ("cast({} as time(3))", [A]), "cast datetime": ("cast({} as datetime(3))", [A]), "convert latin1": ("convert({} using latin1)", [A]), "convert ucs2": ("convert({} using ucs2)", [T]),
    "char using": ("char({}, {} using utf8mb4)", [N, N]), "date_add": ("date_add({}, interval {} {})", [X, N, COMPOUND]), "date_sub": ("date_sub({}, interval {} {})", [X, N, COMPOUND]),
    "timestampadd": ("timestampadd({}, {}, {})", [UNITS, N, X]), "timestampdiff": ("timestampdiff({}, {}, {})", [UNITS, X, X]), "extract": ("extract({} from {})", [COMPOUND, X]),
    "+": ("{} + {}", [N, N]), "-": ("{} - {}", [N, N]), "*": ("{} * {}", [N, N]), "/": ("{} / {}", [N, N]), "div": ("{} div {}", [N, N]), "%": ("{} % {}", [N, N]), "neg": ("-({})", [A]), "&": ("{} & {}", [A, A]),
    "|": ("{} | {}", [N, N]), "^": ("{} ^ {}", [N, N]), "<<": ("{} << {}", [N, N]), ">>": ("{} >> {}", [N, N]), "~": ("~({})", [A]), "=": ("{} = {}", [A, A]), "<": ("{} < {}", [A, A]), "<=>": ("{} <=> {}", [A, A]),
    "in": ("{} in ({}, {})", [A, A, A]), "between": ("{} between {} and {}", [A, A, A]), "like": ("{} like {}", [T, T]), "regexp": ("{} regexp {}", [T, R]), "case": ("case {} when {} then {} else {} end", [A, A, A, A]),
    "if": ("if({}, {}, {})", [A, A, A]), "and": ("({}) and ({})", [A, A]), "trim of": ("trim(both {} from {})", [T, T]),
}


def call_of(name, rng):
    if name in TEMPLATES:
        text, args = TEMPLATES[name]
        return text.format(*(rng.choice(a) for a in args))
    return f"{name.strip()}({', '.join(rng.choice(a) for a in CALLS[name])})"


def answer(connection, call, texts):
    try:
        value = connection.query(f"select {call}")[0][0]
    except ServerError as error:
        return ("error", error.code, error.text if texts else "")
    warned = connection.query("show warnings") if connection.warnings else []
    warnings = [(int(w[1]), w[2] if texts else b"") for w in warned]
    return ("value", value, tuple(sorted(warnings)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", required=True)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--show", type=int, default=3)
    parser.add_argument("--texts", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    names = options.only.split(",") if options.only else sorted(CALLS) + sorted(TEMPLATES)
    paths = (options.socket, options.ours)
    connections = [Connection(path) for path in paths]
    tried, differing, lost = collections.Counter(), collections.defaultdict(list), []
    for number in range(options.count):
        name = names[number % len(names)]
        call = call_of(name, rng)
        answers = []
        for at, path in enumerate(paths):
            try:
                answers.append(answer(connections[at], call, options.texts))
            except (ConnectionError, socket.error, IndexError):
                lost.append((path, call))
                answers.append(("lost", path, ()))
                connections[at] = Connection(path)
        tried[name] += 1
        if answers[0] != answers[1]:
            differing[name].append((call, *answers))
    total = sum(len(d) for d in differing.values())
    print(f"{options.count} calls, {total} differ, {len(lost)} lost the connection")
    for path, call in lost:
        print("lost:", path, call)
    for name in sorted(differing, key=lambda n: -len(differing[n])):
        print(f"{name}: {len(differing[name])} of {tried[name]}")
        for call, there, here in differing[name][: options.show]:
            print(f"   {call}\n      there {there}\n      here  {here}")


main()
