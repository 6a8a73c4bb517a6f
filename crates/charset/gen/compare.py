#!/usr/bin/env python3
"""Makes ../tests/fixtures/compare.tsv: pairs of our own random strings and how a running MariaDB 11.8 orders them.

    compare.py PAIRS OUTPUT CLIENT...
Columns: collation, left bytes in hex, right bytes in hex, -1 / 0 / 1.
"""
import random
import subprocess
import sys

pairs, output, client = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
random.seed(7)
COLLATIONS = subprocess.run(
    client,
    input=b"select character_set_name, full_collation_name from information_schema.collation_character_set_applicability "
    b"where character_set_name in ('ascii','latin1','utf8mb3','utf8mb4') and full_collation_name regexp "
    b"'^(ascii|latin1|utf8mb[34])_(bin|nopad_bin|general_(nopad_)?c[is]|swedish_.*ci|unicode_(520_)?(nopad_)?ci|german1_ci|danish_ci|spanish_ci|"
    b"uca1400_(nopad_)?a[is]_c[is])$' and full_collation_name not regexp 'utf8mb._(swedish|danish|spanish)' order by id;",
    stdout=subprocess.PIPE,
    check=True,
).stdout.decode().splitlines()
SETS = [
    "aAbBcC  \t!~09",
    "aAáÁàäÄåÅæÆbßsSøØoOöñnçÇþðÞ ",
    "lL·ŀŁłi\u0131İIıjſk",
    "еЕёЁжЖийЙ єЄ\u0301\u0306",
    "αΑάςσΣΤτ\u0345",
    "กขคเแโใไ ะา",
    "漢字かガガかカｶ゛ー㐀",
    "한글가ㄱᄀ",
    "אבﬡשׁ\u05c1",
    "ابپةآ\u0653",
    "\u0300\u0301\u0323a\u00ad\u200bb\x01",
    "😀😁𝐀𝒜\U00020000\U00017000",
    "²½℀ﬁﬃ①Ⅷ™",
    "\u0f71\u0f72\u0fb2\u0f80",
]


def text(charset):
    alphabet = random.choice(SETS[:1] if charset == "ascii" else SETS[:2] if charset == "latin1" else SETS)
    if random.random() < 0.3:
        alphabet += SETS[0]
    out = "".join(random.choice(alphabet) for _ in range(random.randint(0, 6))) + " " * random.choice([0, 0, 0, 1, 2])
    return fit(out, charset)


def fit(s, charset):
    if charset == "ascii":
        return s.encode("ascii", "ignore")
    if charset == "latin1":
        return s.encode("latin1", "ignore")
    if charset == "utf8mb3":
        return "".join(c for c in s if ord(c) < 0x10000).encode()
    return s.encode()


def mutate(b, charset):
    s = list(b.decode("latin1" if charset == "latin1" else "utf8"))
    what = random.random()
    if s and what < 0.4:
        i = random.randrange(len(s))
        s[i] = s[i].swapcase() if len(s[i].swapcase()) == 1 else s[i]
    elif s and what < 0.7:
        s[random.randrange(len(s))] = text(charset).decode("latin1" if charset == "latin1" else "utf8")[:1]
    elif what < 0.85:
        s.append(random.choice(" \t!"))
    else:
        s = s[:-1]
    return fit("".join(s), charset)


cases = []
for line in COLLATIONS:
    charset, collation = line.split("\t")
    for _ in range(pairs):
        a = text(charset)
        b = mutate(a, charset) if random.random() < 0.6 else text(charset)
        cases.append((charset, collation, a.hex(), b.hex()))
sql = "".join(
    f"select strcmp(convert(x'{a}' using {c}) collate {n}, convert(x'{b}' using {c}) collate {n});\n"
    for c, n, a, b in cases
)
signs = subprocess.run(client, input=sql.encode(), stdout=subprocess.PIPE, check=True).stdout.decode().split()
assert len(signs) == len(cases)
with open(output, "w") as f:
    for (_, n, a, b), sign in zip(cases, signs):
        f.write(f"{n}\t{a}\t{b}\t{sign}\n")
print(len(cases), "pairs of", len(COLLATIONS), "collations")
