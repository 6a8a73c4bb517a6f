#!/usr/bin/env python3
"""Makes ../tests/fixtures/stores.tsv: values stored into columns by a running MariaDB 11.8.

    stores.py CLIENT...     (a command that runs SQL on its standard input, -N -f)

Columns: our column type | value as an SQL literal | hex of the stored value's text | first warning as level:code or - | error in strict mode or 0
"""
import subprocess
import sys

client = sys.argv[1:]
NUMBERS = ["0", "1", "-1", "127", "128", "-129", "255", "256", "32768", "8388608", "2147483647", "2147483648", "-2147483649", "4294967296",
           "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "1.5", "-1.5", "2.5e0", "-2.5e0", "0.499", "1e10", "1e20", "1e40",
           "123.456", "99999999.994", "99999999.995", "'12'", "'12abc'", "'abc'", "''", "' 7 '", "'1.6'", "'1e2'", "'-5'", "NULL", "'99999999999999999999'",
           "date'2024-01-02'", "time'10:11:12'", "timestamp'2024-01-02 03:04:05'"]
TEXTS = ["'abc'", "'abcdefghij'", "'abcdefghijk'", "'abc       x'", "'abcdefghij   '", "''", "12345678901", "1.5", "1e3", "'é漢😀'", "'éééééééééé'", "'ééééééééééé'",
         "x'ff41'", "x'41'", "date'2024-01-02'", "time'10:11:12.5'", "NULL"]
TIMES = ["'2024-01-02'", "'2024-01-02 03:04:05'", "'2024-01-02 03:04:05.678901'", "'2024-02-30'", "'2024-13-01'", "'0000-00-00'", "'2024-00-10'", "'abc'", "''",
         "'2024-01-02abc'", "20240102", "20240102030405", "0", "123", "1.5", "20240102e0", "date'2024-01-02'", "time'10:11:12.75'", "timestamp'2024-01-02 03:04:05.678901'", "'10:11:12'",
         "'839:00:00'", "'-10:11:12.6'", "101112", "'1969-12-31'", "'2106-02-07 06:28:16'", "'1970-01-01 00:00:00'", "'9999-12-31 23:59:59'", "NULL"]
COLUMNS = [(t, n, NUMBERS) for t, n in [
    ("tinyint", "int1"), ("tinyint unsigned", "uint1"), ("smallint", "int2"), ("mediumint", "int3"), ("int", "int4"), ("int unsigned", "uint4"),
    ("bigint", "int8"), ("bigint unsigned", "uint8"), ("float", "float"), ("double", "double"), ("decimal(10,2)", "decimal 10 2"), ("decimal(5,0)", "decimal 5 0"),
    ("year", "year"), ("bit(8)", "bit 8")]]
COLUMNS += [(t, n, TEXTS) for t, n in [
    ("char(10) charset latin1", "char 10 latin1_swedish_ci"), ("varchar(10) charset latin1", "varchar 10 latin1_swedish_ci"),
    ("char(10) charset utf8mb4 collate utf8mb4_bin", "char 10 utf8mb4_bin"), ("varchar(10) charset utf8mb4 collate utf8mb4_bin", "varchar 10 utf8mb4_bin"),
    ("varchar(10) charset ascii", "varchar 10 ascii_general_ci"), ("varchar(10) charset utf8mb3 collate utf8mb3_general_ci", "varchar 10 utf8mb3_general_ci"),
    ("binary(10)", "char 10 binary"), ("varbinary(10)", "varchar 10 binary"), ("tinytext charset utf8mb4 collate utf8mb4_bin", "blob 1 utf8mb4_bin")]]
COLUMNS += [(t, n, TIMES) for t, n in [
    ("date", "date"), ("time", "time 0"), ("time(3)", "time 3"), ("datetime", "datetime 0"), ("datetime(3)", "datetime 3"), ("timestamp null", "timestamp 0"), ("timestamp(3) null", "timestamp 3")]]
COLUMNS += [("enum('a','bb','3') charset latin1", "enum a,bb,3 latin1_swedish_ci", ["'a'", "'BB'", "'bb  '", "'x'", "''", "1", "3", "4", "0", "'2'", "'3'", "NULL", "1.7"]),
            ("set('a','b','c') charset latin1", "set a,b,c latin1_swedish_ci", ["'a'", "'C,a'", "'x'", "'a,x'", "''", "3", "8", "'7'", "0", "NULL"])]
cases = [(t, n, v) for t, n, values in COLUMNS for v in values]

sql = "set time_zone='+00:00', names utf8mb4;\n"
for i, (t, _, v) in enumerate(cases):
    sql += f"select '#{i}#T'; set sql_mode=''; create or replace table stores (a {t} null); insert into stores values ({v}); show warnings limit 1;\n"
    sql += f"select '#{i}#V', ifnull(hex(concat(a)), '-') from stores; set sql_mode='STRICT_ALL_TABLES'; select '#{i}#S'; insert into stores values ({v}); select '#{i}#E';\n"
sql = sql.replace("insert into stores values", "insert into stores values")
out = subprocess.run(client, input=sql.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode()
results = {}
mode, number = None, None
for line in out.split("\n"):
    if line.startswith("#"):
        _, n, rest = line.split("#", 2)
        mode, number = rest[0], int(n)
        entry = results.setdefault(number, {"warn": "-", "value": "-", "strict": "0"})
        if mode == "V":
            entry["value"] = rest.split("\t")[1]
    elif mode == "T" and line.split("\t")[0] in ("Note", "Warning", "Error"):
        level, code, _ = line.split("\t", 2)
        results[number]["warn"] = f"{level}:{code}"
    elif mode == "S" and line.startswith("ERROR"):
        results[number]["strict"] = line.split()[1]
with open("../tests/fixtures/stores.tsv", "w") as f:
    for i, (_, n, v) in enumerate(cases):
        e = results[i]
        f.write("\t".join([n, v, e["value"], e["warn"], e["strict"]]) + "\n")
print(len(cases), "stores")
