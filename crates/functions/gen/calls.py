#!/usr/bin/env python3
"""Makes ../tests/fixtures/calls.tsv: calls of functions and what a running MariaDB 11.8 answers.

    calls.py CLIENT...      (a command that runs SQL on its standard input, -N -f)

Columns: function, arguments as SQL literals (tab separated), type of the first result (its metadata is not checked), answer as text,
NULL or ERROR. Units are written as U:NAME.
"""
import itertools
import random
import subprocess
import sys

client = sys.argv[1:]
random.seed(5)
T = ["'Hello'", "''", "'héllo wörld'", "'a,b,c'", "NULL", "'  pad  '", "'😀x'", "12.50", "-7", "'abcabc'", "1e3", "'12abc'"]
N = ["0", "1", "2", "3", "-1", "-2", "100", "NULL", "1.5", "'2'"]
X = ["0", "1", "-1", "2.5", "-2.5", "3.14159", "-0.5", "1e10", "-1.5e0", "2.5e0", "'7.9'", "'abc'", "NULL", "123456789.987654321", "9223372036854775807",
     "18446744073709551615", "0.001", "99999999999999999999.5"]
D = ["'2024-02-29'", "'2024-12-31 23:59:59'", "'2023-01-01'", "'2024-01-07 01:02:03.456'", "'0000-00-00'", "'2024-00-10'", "'abc'", "NULL", "20240315",
     "20240315102030", "date'2021-01-03'", "timestamp'2020-06-15 12:34:56.789012'", "'1999-12-27'", "'2026-01-04'", "timestamp'2000-02-29 00:00:00'"]
M = ["'10:11:12'", "'-10:11:12.5'", "'100:00:00'", "101112", "time'23:59:59.999999'", "timestamp'2020-06-15 12:34:56.789012'", "'2024-02-29 03:04:05'", "NULL", "'abc'"]
U = ("MICROSECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR SECOND_MICROSECOND MINUTE_MICROSECOND MINUTE_SECOND HOUR_MICROSECOND "
     "HOUR_SECOND HOUR_MINUTE DAY_MICROSECOND DAY_SECOND DAY_MINUTE DAY_HOUR YEAR_MONTH").split()
cases = []


def every(name, *lists, most=40):
    combos = list(itertools.product(*lists))
    if len(combos) > most:
        combos = random.sample(combos, most)
    cases.extend((name, list(c)) for c in combos)


for f in "length bit_length char_length upper lower trim ltrim rtrim reverse ascii ord hex md5 sha1 crc32 crc32c to_base64 quote soundex unhex from_base64".split():
    every(f, T + ["'4D7A'", "'SGVsbG8='", "'F'", "255"])
for f in "left right repeat".split():
    every(f, T, N, most=60)
every("substring", T, N, most=60)
every("substring", T, N, N, most=100)
every("concat", T, T, most=60)
every("concat_ws", ["','", "NULL", "''"], T, T)
every("replace", T, ["'a'", "'l'", "''", "'bc'", "NULL"], ["'X'", "''", "'long'"])
for f in ["instr"]:
    every(f, T, ["'L'", "'é'", "'E'", "''", "'bc'", "NULL", "'O W'"])
every("locate", ["'L'", "'é'", "''", "'bc'", "'c'"], T, N, most=80)
every("lpad", T, N, ["'xy'", "''", "'é'"], most=80)
every("rpad", T, N, ["'xy'", "''", "'é'"], most=80)
every("trim", T, ["'l'", "'  '", "'a'", "''", "'abc'"])
every("ltrim", T, ["'a'", "' '", "'abc'"])
every("rtrim", T, ["'c'", "' '", "'abc'"])
every("substring_index", ["'www.mariadb.org'", "'a,b,c'", "''", "NULL"], ["'.'", "','", "''"], ["0", "1", "2", "-1", "-2", "10"], most=80)
every("insert", ["'Quadratic'", "'é漢x'"], ["0", "3", "-1", "99"], ["0", "4", "-1", "100"], ["'What'", "''"], most=64)
every("elt", ["0", "1", "2", "3", "NULL"], ["'a'"], ["'b'", "5"])
every("make_set", ["1", "5", "7", "0", "NULL"], ["'a'"], ["'b'", "NULL"], ["'c'"])
every("export_set", ["5", "0"], ["'Y'"], ["'N'"], ["','", "''"], ["4", "-1"])
every("field", ["'b'", "2", "NULL", "2.0"], ["'a'", "1"], ["'B'", "2"])
every("find_in_set", ["'b'", "'B'", "'x'", "'a,b'", "NULL", "''"], ["'a,b,c'", "''", "'a,,b'"])
every("greatest", X, X, most=60)
every("least", X, X, most=60)
every("greatest", ["'a'", "'B'", "NULL"], ["'b'", "'c'"])
every("strcmp", T, T)
every("format", X, ["0", "2", "4", "-1", "NULL"], most=80)
every("bit_count", X[:5] + ["255"])
every("conv", ["'ff'", "'10'", "-1", "'zz'", "'12.5'", "18446744073709551615", "NULL"], ["16", "10", "36", "2"], ["2", "10", "16", "-10", "1"], most=80)
for f in "bin oct".split():
    every(f, ["12", "-1", "0", "'7'", "NULL"])
every("interval", ["5", "0", "NULL", "'7'", "2.5"], ["1"], ["3"], ["7"])
every("inet_aton", ["'127.0.0.1'", "'1.2'", "'256.1.1.1'", "NULL"])
every("inet_ntoa", ["2130706433", "0", "4294967296", "NULL"])
every("sha2", ["'abc'", "NULL"], ["0", "224", "256", "384", "512", "100"])
for f in "abs sign ceiling floor round sqrt exp ln log2 log10 sin cos tan atan degrees radians asin acos".split():
    every(f, X)
every("round", X, ["0", "1", "2", "-1", "-3", "20", "NULL"], most=130)
every("truncate", X, ["0", "1", "2", "-1", "-3", "20"], most=110)
every("mod", X, X, most=120)
every("pow", ["2", "0", "-1.5", "10"], ["2", "-1", "0", "0.5"])
every("log", ["2", "10", "0", "1"], ["8", "0", "-1", "100"])
every("atan2", ["1", "-2"], ["3", "0"])
every("pi")
for f in ("year month day quarter week weekofyear yearweek weekday dayofweek dayofyear dayname monthname last_day to_days to_seconds date timestamp "
          "unix_timestamp").split():
    every(f, D)
for f in "hour minute second microsecond time time_to_sec".split():
    every(f, M + D[:4])
for f in "week yearweek".split():
    every(f, ["'2024-01-01'", "'2023-01-01'", "'2022-12-31'", "'2021-01-03'", "'2020-12-31'", "'2016-01-03'", "'2025-12-29'", "'2000-01-01'", "'1999-12-26'"], [str(i) for i in range(8)], most=72)
every("makedate", ["2024", "24", "99", "9999", "NULL", "-1"], ["1", "366", "0", "-1", "60"])
every("maketime", ["10", "-10", "838", "839", "NULL"], ["0", "59", "60"], ["0", "59.5", "60", "12.123456789"], most=60)
every("from_days", ["0", "365", "366", "739310", "3652424", "3652425", "NULL"])
every("datediff", D, D, most=60)
every("timediff", M[:4] + ["NULL"], M[:4])
every("timediff", ["timestamp'2024-01-02 03:04:05.5'", "'2024-01-02 00:00:00'"], ["timestamp'2024-01-01 00:00:00'", "'2023-12-31 23:59:59'"])
every("addtime", D[1:4] + M[:5], ["'01:00:00'", "'-1 00:00:01.5'", "'23:59:59.999999'"], most=60)
every("subtime", D[1:4] + M[:5], ["'01:00:00'", "'1 00:00:01.5'"], most=60)
every("sec_to_time", ["0", "3661", "-3661", "3020399", "3020400", "1.5", "-1.25", "NULL", "'90.5'"])
every("period_add", ["202401", "2401", "9912"], ["1", "-1", "13"])
every("period_diff", ["202401", "2401"], ["202312", "9912"])
every("from_unixtime", ["0", "1", "1700000000", "1700000000.5", "4294967295", "4294967296", "-1", "NULL"])
every("from_unixtime", ["1700000000"], ["'%Y %M %d'", "'%H'"])
FORMATS = ["'%" + c + "'" for c in "aAbBcCdDeEfFhHiIjJkKlLmMpPrSsTuUvVwWxXyY%"] + ["'%W %M %e %Y %T'", "''", "'plain'", "'%'"]
# Weeks of the zero date are the server's accident.
every("date_format", ["'0000-00-00'"], [f for f in FORMATS if f[2:3] not in "UuVvXx"], most=60)
every("date_format", ["'2024-02-29 13:04:05.678901'", "'2023-01-01'", "'2000-12-31 00:00:00'", "'2024-05-00'", "NULL"], FORMATS, most=220)
every("time_format", ["'10:11:12.5'", "'-100:00:01'", "'00:00:00'"], ["'%H:%i:%s'", "'%k %l %p'", "'%r'", "'%T.%f'", "'%d'"])
PARSE = [("'01,5,2013'", "'%d,%m,%Y'"), ("'May 1, 2013'", "'%M %d,%Y'"), ("'a09:30:17'", "'a%h:%i:%s'"), ("'a09:30:17'", "'%h:%i:%s'"), ("'09:30:17a'", "'%h:%i:%s'"),
         ("'abc'", "'abc'"), ("'9'", "'%m'"), ("'9'", "'%s'"), ("'00/00/0000'", "'%m/%d/%Y'"), ("'04/31/2004'", "'%m/%d/%Y'"), ("'200442 Monday'", "'%X%V %W'"),
         ("'2003-01-02 10:11:12.0012'", "'%Y-%m-%d %H:%i:%S.%f'"), ("'10:20:10PM'", "'%h:%i:%s%p'"), ("'22.5.69'", "'%d.%m.%y'"), ("'2024 60'", "'%Y %j'"),
         ("'15-Jan-2001 12:59:58'", "'%d-%b-%Y %T'"), ("'20240115'", "'%Y%m%d'"), ("NULL", "'%Y'"), ("'13:00'", "'%h:%i'"), ("'12:00 AM'", "'%h:%i %p'"),
         ("'2024-13-01'", "'%Y-%m-%d'"), ("'1st Feb 2024'", "'%D %b %Y'"), ("'2024-02-30 xx'", "'%Y-%m-%d'"), ("'2024-02-03 xx'", "'%Y-%m-%d'")]
cases += [("str_to_date", list(p)) for p in PARSE]
every("get_format", ["'DATE'", "'TIME'", "'DATETIME'"], ["'USA'", "'ISO'", "'EUR'", "'INTERNAL'", "'X'"])
AMOUNT = ["1", "-1", "'1:30'", "1.5", "'2 3:4'", "0", "NULL", "'-1 2'"]
every("date_add", D, AMOUNT, ["U:" + u for u in U], most=300)
every("date_sub", D[:4] + D[10:12], AMOUNT, ["U:" + u for u in U], most=120)
every("date_add", ["time'10:11:12'", "time'-01:00:00.5'"], AMOUNT, ["U:" + u for u in U], most=60)
every("timestampadd", ["U:" + u for u in U[:9]], ["1", "-5", "100", "NULL"], D, most=100)
every("timestampdiff", ["U:" + u for u in U[:9]], D, D, most=150)
every("extract", ["U:" + u for u in U if u != "WEEK"], D[:4] + D[8:12] + M[:6], most=200)
every("adddate", D[:4], ["1", "-31", "NULL"])
every("subdate", D[:4], ["1", "366"])
every("convert_tz", ["'2024-07-01 12:00:00'", "'2024-01-01 12:00:00'", "NULL"], ["'+00:00'", "'+05:30'"], ["'-08:00'", "'+14:00'", "'bad'"])
every("timestamp", D[:4] + D[10:12], ["'01:00:00'", "'-25:00:00.5'"])


def sql_of(name, args):
    unit = [a[2:] for a in args if a.startswith("U:")]
    rest = [a for a in args if not a.startswith("U:")]
    if name in ("date_add", "date_sub"):
        return f"{name}({rest[0]}, interval {rest[1]} {unit[0]})"
    if name in ("timestampadd", "timestampdiff"):
        return f"{name}({unit[0]}, {rest[0]}, {rest[1]})"
    if name == "extract":
        return f"extract({unit[0]} from {rest[0]})"
    if name == "get_format":
        return f"get_format({rest[0][1:-1]}, {rest[1]})"
    if name in ("trim", "ltrim", "rtrim") and len(rest) == 2:
        side = {"trim": "both", "ltrim": "leading", "rtrim": "trailing"}[name]
        return f"trim({side} {rest[1]} from {rest[0]})"
    return f"{name}({', '.join(rest)})"


sql = "set time_zone='+00:00', group_concat_max_len=100000;\n"
for i, (name, args) in enumerate(cases):
    sql += f"select concat('#{i}#', ifnull(hex(convert(concat({sql_of(name, args)}) using utf8mb4)), 'NULL'));\n" if name not in ("unhex", "from_base64", "char") else \
        f"select concat('#{i}#', ifnull(hex({sql_of(name, args)}), 'NULL'));\n"
out = subprocess.run(client, input=sql.encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
found = {}
for line in out.split("\n"):
    if line.startswith("#"):
        _, number, text = line.split("#", 2)
        found[int(number)] = text
with open("../tests/fixtures/calls.tsv", "w") as f:
    for i, (name, args) in enumerate(cases):
        f.write("\t".join([name, *args, found.get(i, "ERROR")]) + "\n")
print(len(cases), "calls,", sum(1 for i in range(len(cases)) if i not in found), "errors")
