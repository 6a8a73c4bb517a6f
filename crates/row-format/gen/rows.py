#!/usr/bin/env python3
"""Makes ../tests/fixtures/rows.tsv: rows as a running MariaDB 11.8 writes them to its binlog.

    rows.py BINLOG_DIR CLIENT...     (row-based binlog on; the client runs SQL on its standard input)

Columns: our column list | NULL-able 0/1 a column | table map types, hex | table map metadata, hex | row image, hex | CHECKSUM TABLE of
the row alone | the value of each column: hex of its text, - for NULL
"""
import glob
import struct
import subprocess
import sys

directory, client = sys.argv[1], sys.argv[2:]

# SQL type, our name, values
COLUMNS = [
    ("tinyint", "int1", ["1", "-128", "127"]),
    ("tinyint unsigned", "uint1", ["255"]),
    ("smallint", "int2", ["-32768", "5"]),
    ("mediumint", "int3", ["-8388608", "8388607"]),
    ("mediumint unsigned", "uint3", ["16777215"]),
    ("int", "int4", ["-1", "2147483647"]),
    ("int unsigned", "uint4", ["4294967295"]),
    ("bigint", "int8", ["-9223372036854775808", "7"]),
    ("bigint unsigned", "uint8", ["18446744073709551615"]),
    ("float", "float", ["1.5", "-0.1", "3e38", "0"]),
    ("double", "double", ["1.5", "-0.1", "1e300", "123456.789"]),
    ("decimal(10,2)", "decimal 10 2", ["12.34", "-12.34", "0", "99999999.99"]),
    ("decimal(65,30)", "decimal 65 30", ["1234567890123456789012345678901234.123456789012345678901234567890", "-0.000000001"]),
    ("decimal(20,0)", "decimal 20 0", ["12345678901234567890", "-1"]),
    ("decimal(9,9)", "decimal 9 9", ["0.123456789", "-0.5"]),
    ("year", "year", ["2024", "0", "1901", "2155"]),
    ("bit(3)", "bit 3", ["5"]),
    ("bit(12)", "bit 12", ["0xabc"]),
    ("bit(64)", "bit 64", ["18446744073709551615"]),
    ("date", "date", ["'2024-02-29'", "'0000-00-00'", "'9999-12-31'", "'2024-00-00'"]),
    ("time", "time 0", ["'10:11:12'", "'-10:11:12'", "'838:59:59'", "'-838:59:59'"]),
    ("time(1)", "time 1", ["'10:11:12.3'", "'-00:00:00.1'"]),
    ("time(2)", "time 2", ["'10:11:12.34'", "'-10:11:12.34'"]),
    ("time(4)", "time 4", ["'10:11:12.3456'", "'-10:11:12.3456'"]),
    ("time(6)", "time 6", ["'10:11:12.345678'", "'-10:11:12.345678'", "'-00:00:00.000001'"]),
    ("datetime", "datetime 0", ["'2024-01-02 03:04:05'", "'0000-00-00 00:00:00'", "'9999-12-31 23:59:59'"]),
    ("datetime(3)", "datetime 3", ["'2024-01-02 03:04:05.678'"]),
    ("datetime(6)", "datetime 6", ["'2024-01-02 03:04:05.678901'"]),
    ("timestamp null", "timestamp 0", ["'2024-01-02 03:04:05'", "'0000-00-00'", "'2106-02-07 06:28:15'"]),
    ("timestamp(4) null", "timestamp 4", ["'2024-01-02 03:04:05.6789'"]),
    ("timestamp(6) null", "timestamp 6", ["'2024-01-02 03:04:05.678901'"]),
    ("char(10) charset latin1", "char 10 latin1_swedish_ci", ["'abc'", "''", "'abc   '"]),
    ("char(10) charset utf8mb4 collate utf8mb4_general_ci", "char 10 utf8mb4_general_ci", ["'aé漢😀'", "'0123456789'"]),
    ("char(100) charset utf8mb4 collate utf8mb4_general_ci", "char 100 utf8mb4_general_ci", ["'abc'"]),
    ("char(255) charset utf8mb3 collate utf8mb3_general_ci", "char 255 utf8mb3_general_ci", ["'abc'"]),
    ("binary(5)", "char 5 binary", ["'ab'", "'a\\0b\\0\\0'", "'     '"]),
    ("varchar(10) charset latin1", "varchar 10 latin1_swedish_ci", ["'abc'", "''", "'abc   '"]),
    ("varchar(100) charset utf8mb4 collate utf8mb4_bin", "varchar 100 utf8mb4_bin", ["'aé漢😀'"]),
    ("varbinary(300)", "varchar 300 binary", ["'a\\0b\\0'", "repeat('x', 300)"]),
    ("tinyblob", "blob 1 binary", ["'abc'"]),
    ("text charset utf8mb4 collate utf8mb4_general_ci", "blob 2 utf8mb4_general_ci", ["'aé漢😀'", "''"]),
    ("mediumblob", "blob 3 binary", ["repeat('y', 400)"]),
    ("longtext charset latin1", "blob 4 latin1_swedish_ci", ["'abc'"]),
    ("enum('a','bb') charset latin1", "enum a,bb latin1_swedish_ci", ["'a'", "'bb'"]),
    ("set('a','b','c') charset latin1", "set a,b,c latin1_swedish_ci", ["'a,c'", "''"]),
    ("set('1','2','3','4','5','6','7','8','9') charset latin1", "set 1,2,3,4,5,6,7,8,9 latin1_swedish_ci", ["'1,9'"]),
]


def run(sql):
    return subprocess.run(client, input=sql.encode(), stdout=subprocess.PIPE, check=True).stdout.decode()


def length(data, at):
    first = data[at]
    if first < 251:
        return first, at + 1
    size = {252: 2, 253: 3, 254: 8}[first]
    return int.from_bytes(data[at + 1 : at + 1 + size], "little"), at + 1 + size


def events():
    # Without binlog_checksum an event has no CRC at its end.
    data = open(sorted(f for f in glob.glob(directory + "/binlog.0*") if f[-1].isdigit())[-1], "rb").read()
    at, crc = 4, 4 if int(run("select @@binlog_checksum = 'CRC32'")) else 0
    while at < len(data):
        kind, size = data[at + 4], struct.unpack_from("<I", data, at + 9)[0]
        yield kind, data[at + 19 : at + size - crc]
        at += size


cases = [([c], [v], null) for c in COLUMNS for v in c[2] + ["NULL"] for null in ([True] if v == "NULL" else [False, True])]
wide = [COLUMNS[i] for i in (5, 36, 19, 11, 7, 31, 41, 25, 0, 10, 43)]
cases.append((wide, [c[2][0] for c in wide], True))
cases.append((wide, [c[2][-1] if i % 3 else "NULL" for i, c in enumerate(wide)], True))
cases.append(([wide[0], wide[1], wide[2]], ["1", "'x'", "'2024-01-02'"], False))

sql = "flush binary logs; set sql_mode='', time_zone='+00:00', names utf8mb4;\n"
for columns, values, null in cases:
    definition = ", ".join(f"c{i} {c[0].replace(' null', '')} {'null' if null else 'not null'}" for i, c in enumerate(columns))
    shown = ", ".join(f"ifnull(hex(concat(c{i})), '-')" for i in range(len(columns)))
    sql += f"create or replace table golden ({definition}); insert into golden values ({', '.join(values)});\n"
    sql += f"select {shown} from golden; checksum table golden;\n"
answers = [line.split("\t") for line in run(sql).splitlines()]
maps, rows = [], []
for kind, body in events():
    if kind == 19:
        at = 8
        at += body[at] + 2
        at += body[at] + 2
        count, at = length(body, at)
        types = body[at : at + count]
        at += count
        size, at = length(body, at)
        maps.append((types, body[at : at + size]))
    elif kind == 23:
        count, at = length(body, 8)
        rows.append(body[at + (count + 7) // 8 :])
assert len(maps) == len(rows) == len(cases), (len(maps), len(rows), len(cases))
with open("../tests/fixtures/rows.tsv", "w") as f:
    for i, (columns, _, null) in enumerate(cases):
        names = "|".join(c[1] for c in columns)
        f.write("\t".join([names, "1" if null else "0", maps[i][0].hex(), maps[i][1].hex() or "-", rows[i].hex(), answers[2 * i + 1][1], " ".join(answers[2 * i])]) + "\n")
print(len(cases), "rows")
