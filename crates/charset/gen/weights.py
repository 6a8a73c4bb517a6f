#!/usr/bin/env python3
"""Makes the weight and case tables in ../data from what a running MariaDB 11.8 answers.

    weights.py CLIENT... -- ALLKEYS...

CLIENT is a command that runs the SQL on its standard input and prints tab-separated rows without headings
(for example `mariadb -N --default-character-set=utf8mb4 test`). The ALLKEYS files are Unicode's collation element tables
(versions 4.0.0, 5.2.0, 14.0.0); only their lists of character sequences are read, as candidates for contractions.

A table file, little-endian:
    u32 pages | u32 slots' count | u32 contractions' count | u32 weights' count
    u16 page of each 256 code points, 0x1100 of them
    u32 slots, 256 a page:   bit 31 set: implicit weights, the low 16 bits are the base, 0xffff = the code point itself
                             else offset << 4 | length into the weights, bit 30 = may start a contraction
    contractions, sorted: u32 code points[3] (0 = none), u32 slot
    u16 weights
latin1.bin holds one page of 256 bytes for each of LATIN1. A case file is a list of u32 pairs: code point, other case.
"""
import struct
import subprocess
import sys

LAST = 0x110000
COLUMNS = [
    "weight_string(c collate utf8mb4_uca1400_as_cs level 1)",
    "weight_string(c collate utf8mb4_uca1400_as_cs level 2)",
    "weight_string(c collate utf8mb4_uca1400_as_cs level 3)",
    "weight_string(c collate utf8mb4_unicode_ci)",
    "weight_string(c collate utf8mb4_unicode_520_ci)",
    "weight_string(c collate utf8mb4_general_ci)",
    "convert(upper(c collate utf8mb4_general_ci) using utf32)",
    "convert(lower(c collate utf8mb4_general_ci) using utf32)",
    "convert(upper(c collate utf8mb4_uca1400_ai_ci) using utf32)",
    "convert(lower(c collate utf8mb4_uca1400_ai_ci) using utf32)",
]
LATIN1 = [
    "weight_string(c collate latin1_swedish_ci)",
    "weight_string(c collate latin1_general_ci)",
    "weight_string(c collate latin1_general_cs)",
    "weight_string(c collate latin1_german1_ci)",
    "weight_string(c collate latin1_danish_ci)",
    "weight_string(c collate latin1_spanish_ci)",
    "upper(c)",
    "lower(c)",
]
NAMES = ["uca1400-1", "uca1400-2", "uca1400-3", "uca400", "uca520", "general"]


def ask(client, sql):
    out = subprocess.run(client, input=sql.encode(), stdout=subprocess.PIPE, check=True).stdout
    return [line.split("\t") for line in out.decode().splitlines()]


def weights_of(hexed):
    return tuple(int(hexed[i : i + 4], 16) for i in range(0, len(hexed), 4))


def sequences(files):
    found = set()
    for name in files:
        for line in open(name, encoding="utf-8", errors="replace"):
            codes = line.split(";")[0].split()
            if 2 <= len(codes) <= 3 and all(c.strip("0123456789ABCDEF") == "" for c in codes):
                found.add(tuple(int(c, 16) for c in codes))
    return sorted(found)


def implicit_base(code, weights):
    if len(weights) != 2:
        return None
    base = weights[0] - (code >> 15)
    if weights[1] == (code & 0x7FFF) | 0x8000 and base in (0xFB40, 0xFB80, 0xFBC0):
        return base
    return None


class Table:
    def __init__(self):
        self.weights, self.lists = [], {}

    def slot(self, code, weights):
        if weights == (code,):
            return 0x8000FFFF
        base = implicit_base(code, weights)
        if base is not None:
            return 0x80000000 | base
        if weights not in self.lists:
            self.lists[weights] = len(self.weights)
            self.weights += weights
        assert len(weights) < 16
        return self.lists[weights] << 4 | len(weights)

    def write(self, path, singles, contractions):
        heads = {c[0] for c in contractions}
        slots = [
            self.slot(code, singles.get(code, ())) | (0x40000000 if code in heads else 0) for code in range(LAST)
        ]
        pages, index = {}, []
        for at in range(0, LAST, 256):
            index.append(pages.setdefault(tuple(slots[at : at + 256]), len(pages)))
        tail = b""
        for seq in sorted(contractions, key=lambda s: (s + (0,))[:3]):
            tail += struct.pack("<4I", *(seq + (0,))[:3], self.slot(0, contractions[seq]))
        with open(path, "wb") as f:
            f.write(struct.pack("<4I", len(pages), len(pages) * 256, len(contractions), len(self.weights)))
            f.write(struct.pack(f"<{len(index)}H", *index))
            for page in pages:
                f.write(struct.pack("<256I", *page))
            f.write(tail)
            f.write(struct.pack(f"<{len(self.weights)}H", *self.weights))
        print(path, len(pages), "pages", len(contractions), "contractions", len(self.weights), "weights")


def main():
    split = sys.argv.index("--")
    client, files = sys.argv[1:split], sys.argv[split + 1 :]
    select = ", ".join(f"hex({c})" for c in COLUMNS)
    rows = ask(
        client,
        f"select seq, {select} from (select seq, convert(char(seq using utf32) using utf8mb4) c "
        "from seq_0_to_1114111 where seq not between 0xd800 and 0xdfff) t;",
    )
    singles = [{} for _ in NAMES]
    cases = {name: [] for name in ("general-upper", "general-lower", "uca1400-upper", "uca1400-lower")}
    for row in rows:
        code = int(row[0])
        for table, hexed in zip(singles, row[1:7]):
            table[code] = weights_of(hexed)
        for name, hexed in zip(cases, row[7:]):
            if int(hexed, 16) != code:
                cases[name].append((code, int(hexed, 16)))
    wanted = sequences(files)
    sql = "".join(
        f"select {select} from (select convert(_utf32 0x{''.join(f'{c:08x}' for c in seq)} using utf8mb4) c) t;\n"
        for seq in wanted
    )
    answers = ask(client, sql)
    assert len(answers) == len(wanted)
    found = [{} for _ in NAMES]
    for seq, row in zip(wanted, answers):
        for table, known, hexed in zip(found, singles, row):
            together = weights_of(hexed)
            if together != sum((known[c] for c in seq), ()):
                table[seq] = together
    # The levels of one collation must agree on what a contraction is.
    for seq in set().union(*found[:3]):
        row = answers[wanted.index(seq)]
        for level in range(3):
            found[level][seq] = weights_of(row[level])
    for name, table, contractions in zip(NAMES, singles, found):
        Table().write(f"../data/{name}.bin", table, contractions)
    for name, pairs in cases.items():
        with open(f"../data/{name}.bin", "wb") as f:
            f.write(b"".join(struct.pack("<2I", *p) for p in pairs))
        print(name, len(pairs))
    select = ", ".join(f"hex({c})" for c in LATIN1)
    rows = ask(
        client,
        f"select {select} from (select convert(unhex(lpad(hex(seq), 2, '0')) using latin1) c from seq_0_to_255) t;",
    )
    with open("../data/latin1.bin", "wb") as f:
        for column in range(len(LATIN1)):
            f.write(bytes(int(row[column], 16) for row in rows))


main()
