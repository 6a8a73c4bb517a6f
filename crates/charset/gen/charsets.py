#!/usr/bin/env python3
"""Makes the tables of the character sets beside Unicode's, from what a running MariaDB 11.8 answers.

    charsets.py CLIENT...

CLIENT is a command as for weights.py. Files in ../data, little-endian:

eight-bit.bin   for each of EIGHT: u16 code points of the 256 bytes (0 = none but for byte 0), 256 bytes in upper case, 256 in lower case
byte-weights.bin   256 weights for each collation that `../src/listing.rs` says has a table
<multi>.bin     lists, each u32 length and pairs of u16: code and code point; code point and code, where that is not the first list
                read backwards (0 = none); code and weight; code and upper case; code and lower case, where they are not the code itself.
                A code is its bytes, one or two; of three the first (0x8f) is left out and the top bit of the second is clear.
../src/listing.rs  names, widths and collations
"""
import struct
import subprocess
import sys

EIGHT = ("dec8 cp850 hp8 koi8r latin2 swe7 hebrew tis620 koi8u greek cp1250 latin5 armscii8 cp866 keybcs2 macce macroman cp852 "
         "latin7 cp1251 cp1256 cp1257 geostd8").split()
MULTI = "big5 ujis sjis euckr gb2312 gbk cp932 eucjpms".split()
WIDE = "ucs2 utf16 utf16le utf32".split()
# Collations that compare more than one weight a byte.
LEFT_OUT = {"latin2_czech_cs", "cp1250_czech_cs", "latin1_german2_ci"}


HEAD = '''//! The character sets and the collations that `gen/charsets.py` found: made by it, not by hand.

use crate::charset::charsets;
use crate::collation::{SpacePad, Weights};
use crate::tables;
use Charset::*;
use SpacePad::{NoPad, Pad};

charsets! {
'''
MIDDLE = '''
}

/// Id, name, character set, pad, weights.
#[rustfmt::skip]
pub(crate) static LISTED: &[(u16, &str, Charset, SpacePad, Weights)] = &[
'''


def ask(client, sql):
    out = subprocess.run(client, input=sql.encode(), stdout=subprocess.PIPE, check=True).stdout
    return [line.split("\t") for line in out.decode().splitlines()]


def eight_bit(client):
    data = b""
    for name in EIGHT:
        rows = ask(client, f"select hex(convert(c using utf32)), hex(upper(c)), hex(lower(c)) from "
                           f"(select convert(unhex(lpad(hex(seq),2,'0')) using {name}) c from seq_0_to_255) t;")
        codes = [int(r[0], 16) for r in rows]
        codes = [0 if c == 0x3F and byte != 0x3F else c for byte, c in enumerate(codes)]
        data += struct.pack("<256H", *codes)
        for column in (1, 2):
            data += bytes(int(r[column], 16) for r in rows)
    open("../data/eight-bit.bin", "wb").write(data)


def code_of(hexed):
    if len(hexed) == 6:
        assert hexed[:2] == "8F"
        return int(hexed[2:], 16) & 0x7FFF
    return int(hexed, 16)


def multi_byte(client, name, collation):
    three = [] if name not in ("ujis", "eucjpms") else ["8F%04X" % c for c in range(0xA1A1, 0xFEFF) if c & 0xFF >= 0xA1]
    source = (f"select lpad(hex(seq),2,'0') h from seq_0_to_255 union all select hex(seq) from seq_33088_to_65278")
    if three:
        source += " union all select concat('8F', hex(seq)) from seq_41377_to_65278 where seq & 255 >= 161"
    rows = ask(client, f"select h, hex(convert(c using utf32)), hex(weight_string(c collate {collation})), hex(upper(c)), hex(lower(c)) "
                       f"from (select h, convert(unhex(h) using {name}) c from ({source}) s) t where char_length(c) = 1 and hex(c) = h;")
    forward, weights, upper, lower = [], [], [], []
    for h, unicode, weight, up, low in rows:
        code = code_of(h)
        point = int(unicode, 16)
        assert point < 0x10000, (h, unicode)
        if point != 0x3F or h == "3F":
            forward.append((code, point))
        assert len(weight) == len(h), (name, h, weight)
        # big5_chinese_ci compares codes, whatever WEIGHT_STRING tells of them.
        if name == "big5" and len(h) > 2:
            weight = h
        for found, into in ((weight, weights), (up, upper), (low, lower)):
            if found != h:
                into.append((code, code_of(found)))
    first = {}
    for code, point in sorted(forward):
        first.setdefault(point, code)
    rows = ask(client, f"select seq, hex(convert(convert(char(seq using utf32) using utf8mb4) using {name})) from seq_0_to_65535 "
                       "where seq not between 0xd800 and 0xdfff;")
    back = []
    for point, h in rows:
        point = int(point)
        code = 0 if h == "3F" and point != 0x3F else code_of(h)
        if code != first.get(point, 0):
            back.append((point, code))
    data = b""
    for pairs in (forward, back, weights, upper, lower):
        data += struct.pack("<I", len(pairs)) + b"".join(struct.pack("<2H", *p) for p in sorted(pairs))
    open(f"../data/{name}.bin", "wb").write(data)
    print(name, len(forward), "codes", len(back), "back", len(weights), "weights", len(upper), len(lower), "cases")


def main():
    client = sys.argv[1:]
    charsets = {r[0]: r for r in ask(client, "select character_set_name, maxlen, default_collate_name, description from information_schema.character_sets;")}
    listed = ask(client, "select full_collation_name, a.character_set_name, a.id from "
                         "information_schema.collation_character_set_applicability a where a.id > 0 order by a.id;")
    eight_bit(client)
    weights, lines = b"", []
    tables = {}
    for name, charset, number in listed:
        if charset not in EIGHT + MULTI or name in LEFT_OUT:
            continue
        pad = "NoPad" if "_nopad_" in name else "Pad"
        kind = "Weights::Chars"
        if name.endswith("_bin"):
            kind = "Weights::Code"
        elif charset in EIGHT:
            rows = ask(client, f"select hex(weight_string(convert(unhex(lpad(hex(seq),2,'0')) using {charset}) collate {name})) from seq_0_to_255;")
            table = bytes(int(r[0][:2], 16) if r[0] else 0 for r in rows)
            if any(len(r[0]) != 2 for r in rows):
                print(name, "has bytes of more or less than one weight")
            place = tables.setdefault(table, len(tables))
            if place * 256 == len(weights):
                weights += table
            kind = f"Weights::Bytes(tables::byte_weights({place}))"
        lines.append(f'    ({number}, "{name}", {charset.capitalize()}, {pad}, {kind}),')
    open("../data/byte-weights.bin", "wb").write(weights)
    for name in MULTI:
        multi_byte(client, name, charsets[name][2])
    ids = {name: number for name, _, number in listed}
    ids["binary_bin"] = ids["binary"]
    facts = [
        f'    {name.capitalize()} = "{name}" {r[1]} {ids[r[2]]} {ids[name + "_bin"]} "{r[3]}";' for name, r in charsets.items()
    ]
    with open("../src/listing.rs", "w") as f:
        f.write(HEAD + "\n".join(facts) + MIDDLE + "\n".join(lines) + "\n];\n")


main()
