#!/usr/bin/env python3
"""Makes ../data/tailored.bin, what the collations of languages change in their root's tables, from what a running MariaDB 11.8 answers.

    tailored.py CLIENT...

CLIENT is a command as for weights.py. The file, little-endian, has one part a table, in the order of TABLES:

    u32 singles | u32 contractions
    singles, sorted:       u32 code point | u8 n | u16 weights[n]
    contractions, sorted:  u32 code points[3] (0 = none) | u8 n | u16 weights[n]

Contractions are searched among pairs of letters of the scripts that the languages change, and what may follow such a pair.
"""
import struct
import subprocess
import sys

OLD = ("icelandic latvian romanian slovenian polish estonian spanish swedish turkish czech danish lithuanian slovak spanish2 roman "
       "persian esperanto hungarian sinhala german2 croatian_mysql561 vietnamese croatian myanmar").split()
NEW = ("icelandic latvian romanian slovenian polish estonian spanish swedish turkish czech danish lithuanian slovak spanish2 roman "
       "persian esperanto hungarian sinhala german2 vietnamese croatian").split()


def ask(client, sql):
    out = subprocess.run(client, input=sql.encode(), stdout=subprocess.PIPE, check=True).stdout
    return [line.split("\t") for line in out.decode().splitlines()]


def weights_of(hexed):
    return tuple(int(hexed[i : i + 4], 16) for i in range(0, len(hexed), 4))


def char(expr):
    return f"convert(char({expr} using utf32) using utf8mb4)"


def table(client, name, collation, root, level):
    def w(expr, collate):
        return f"weight_string({expr} collate {collate} level {level})" if level else f"weight_string({expr} collate {collate})"

    rows = ask(client, f"select seq, hex({w('c', collation)}) from (select seq, {char('seq')} c from seq_1_to_196607 "
                       f"where seq not between 0xd800 and 0xdfff) t where {w('c', collation)} <> {w('c', root)};")
    singles = {int(r[0]): weights_of(r[1]) for r in rows}
    letters = set(range(0x41, 0x5B)) | set(range(0x61, 0x7B)) | set(range(0xC0, 0x250)) | {0xB7, 0x27}
    letters |= {c for c in singles if c < 0x3000 and len(singles) < 2000}
    if "sinhala" in name:
        letters |= set(range(0xD80, 0xE00))
    if "myanmar" in name:
        letters |= set(range(0x1000, 0x10A0))
    after = letters | set(range(0x300, 0x346))
    client_sql = ("create temporary table a (n int unsigned primary key, c varchar(1) character set utf8mb4 collate utf8mb4_bin);"
                  "create temporary table b like a;"
                  f"insert into a select seq, {char('seq')} from seq_1_to_65535 where seq in ({','.join(map(str, sorted(letters)))});"
                  f"insert into b select seq, {char('seq')} from seq_1_to_65535 where seq in ({','.join(map(str, sorted(after)))});")
    both = f"concat({w('a.c', collation)}, {w('b.c', collation)})"
    together = w("concat(a.c, b.c)", collation)
    rows = ask(client, client_sql + f"select a.n, b.n, hex({together}), {together} <> {both} from a, b where "
                                    f"({together} <> {both} or {w('concat(a.c, b.c)', root)} <> concat({w('a.c', root)}, {w('b.c', root)})) "
                                    f"and {together} <> {w('concat(a.c, b.c)', root)};")
    pairs = {(int(r[0]), int(r[1])): weights_of(r[2]) for r in rows}
    contractions = {pair: weights for pair, weights in pairs.items()}
    if pairs:
        listed = " union all ".join(f"select {a} x, {b} y" for a, b in pairs)
        text = f"concat({char('x')}, {char('y')})"
        rows = ask(client, client_sql.split("insert into a")[0] +
                   f"insert into b select seq, {char('seq')} from seq_1_to_65535 where seq in ({','.join(map(str, sorted(after)))});"
                   f"select x, y, b.n, hex({w('concat(p, b.c)', collation)}) from (select x, y, {text} p from ({listed}) l) q, b "
                   f"where {w('concat(p, b.c)', collation)} <> concat({w('p', collation)}, {w('b.c', collation)}) "
                   f"and {w('concat(p, b.c)', collation)} <> concat({w(char('x'), collation)}, {w('concat(' + char('y') + ', b.c)', collation)});")
        for r in rows:
            contractions[int(r[0]), int(r[1]), int(r[2])] = weights_of(r[3])
    print(name, level, len(singles), "singles", len(contractions), "contractions", file=sys.stderr)
    data = struct.pack("<II", len(singles), len(contractions))
    for code in sorted(singles):
        data += struct.pack(f"<IB{len(singles[code])}H", code, len(singles[code]), *singles[code])
    for seq in sorted(contractions, key=lambda s: (s + (0,))[:3]):
        weights = contractions[seq]
        data += struct.pack(f"<3IB{len(weights)}H", *(seq + (0,))[:3], len(weights), *weights)
    return data


def main():
    client = sys.argv[1:]
    data = b""
    for name in OLD:
        # The last one is made from the newer root.
        root = "utf8mb4_unicode_520_ci" if name == "myanmar" else "utf8mb4_unicode_ci"
        data += table(client, name, f"utf8mb4_{name}_ci", root, 0)
    for name in NEW:
        for level in (1, 2, 3):
            data += table(client, name, f"utf8mb4_uca1400_{name}_as_cs", "utf8mb4_uca1400_as_cs", level)
    open("../data/tailored.bin", "wb").write(data)


main()
