#!/usr/bin/env python3
"""Makes ../tests/fixtures: our own random expressions and what a running MariaDB 11.8 answers.

    cases.py CLIENT...      (a command that runs SQL on its standard input, -N -f, continuing after errors)
"""
import random
import subprocess
import sys

client = sys.argv[1:]
random.seed(11)


def ask(expressions):
    """One answer (text, NULL or ERROR) an expression."""
    sql = "".join(f"select concat('#{i}#', ifnull({e}, 'NULL'));\n" for i, e in enumerate(expressions))
    out = subprocess.run(client, input=sql.encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
    found = {}
    for line in out.split("\n"):
        if line.startswith("#"):
            _, number, text = line.split("#", 2)
            found[int(number)] = text
    return [found.get(i, "ERROR") for i in range(len(expressions))]


def decimal(digits, scale):
    n = random.randrange(10 ** random.randint(0, digits))
    text = str(n).rjust(scale + 1, "0")
    text = text[:-scale] + "." + text[-scale:] if scale else text + ".0"
    return random.choice(["", "-"]) + text


def number():
    kind = random.randrange(8)
    if kind < 2:
        return str(random.choice([0, 1, -1, 2, 3, 7, 10, 9223372036854775807, -9223372036854775808, 18446744073709551615,
                                  random.randint(-1000, 1000), random.randint(-10**18, 10**18)]))
    if kind < 5:
        return decimal(random.choice([1, 3, 5, 9, 10, 18, 30, 40]), random.choice([1, 2, 3, 5, 9, 10, 18, 20]))
    if kind < 6:
        return random.choice(["0e0", "1e0", "-2.5e0", "1e10", "1.5e-7", "3e100", "-1e308", "0.1e0", "123456.789e0"])
    return "'" + random.choice(["12", "-3.5", "abc", "7x", "", " 8 ", "1e2", "0.1"]) + "'"


def write(name, rows):
    with open(f"../tests/fixtures/{name}.tsv", "w") as f:
        f.writelines("\t".join(r) + "\n" for r in rows)
    print(name, len(rows))


def arithmetic():
    cases = []
    for op in ["+", "-", "*", "/", "div", "%", "<=>"]:
        for _ in range(220):
            a, b = number(), number()
            if op == "<=>" and random.random() < 0.3:
                b = a
            cases.append((op, a, b))
    texts = ask([f"({a}) {op} ({b})" if op != "<=>" else f"(({a}) > ({b})) - (({a}) < ({b}))" for op, a, b in cases])
    write("arithmetic", [c + (t,) for c, t in zip(cases, texts)])


def rounding():
    cases = [(decimal(random.choice([5, 12, 20, 40]), random.choice([1, 3, 9, 12, 20])), str(random.randint(-12, 22)))
             for _ in range(300)]
    round_texts = ask([f"round({a}, {n})" for a, n in cases])
    cut_texts = ask([f"truncate({a}, {n})" for a, n in cases])
    write("rounding", [("round",) + c + (t,) for c, t in zip(cases, round_texts)]
          + [("truncate",) + c + (t,) for c, t in zip(cases, cut_texts)])


def temporal():
    def pad(v, width):
        return str(v).rjust(width, "0") if random.random() < 0.7 else str(v)

    texts = []
    for _ in range(250):
        date = random.choice("-/.@:").join([pad(random.choice([2024, 24, 70, 1999, 0, 9999, random.randint(0, 9999)]), 4),
                                            pad(random.randint(0, 12), 2), pad(random.randint(0, 31), 2)])
        time = ":".join([pad(random.randint(0, 23), 2), pad(random.randint(0, 59), 2), pad(random.randint(0, 59), 2)])
        time += random.choice(["", "", ".5", ".123456", ".1234567"])
        texts.append(random.choice([date, date + " " + time, date + "T" + time, time, f"{random.randint(0, 35)} {time}",
                                    "-" + time, str(random.randint(0, 10 ** random.randint(1, 14))), time[:5],
                                    date + " " + time + "x", date + "abc"]))
    texts += """2024-01-02 03:04:05Z
2024-01-02 x
x2024-01-02
2024-01-02  03:04:05
2023-02-29
2024-02-29
0000-00-00
2024-00-00
00000000
20240102
20240102030405
20240102030405.123
240102030405
2401020304
24010203
202401020304
2024010203
20240102T030405
1234567
-10:11:12
10:11:12.5
34 22:59:59
35 00:00:00
838:59:59
839:00:00
-838:59:59.999999
-839:00:00
10:60:00
101112.5
1 10
2024-01-02 24:00:00
10000-01-01
2024-01
2024-01-02-03
1-1-1
100-1-1
+10:11:12
1:
:1
12:34:56.
1e3
2024-01-02 03:04:05.
2024-01-02 03:04:
10:11:12 2024
1000000
8395959""".split("\n")
    rows = []
    for kind in ["datetime(6)", "date", "time(6)", "datetime", "time(2)"]:
        answers = ask([f"cast('{t}' as {kind})" for t in texts])
        rows += [("text", kind, t, a) for t, a in zip(texts, answers)]
    numbers = ["0", "1", "100", "101", "1231", "10101", "101112", "101112.5", "-101112", "240102", "691231", "700101", "20240102",
               "20240230", "20240102030405", "20240102030405.123456", "240102030405", "8385959", "8385960", "8390000", "99991231",
               "99991231235959", "10000101000000", "123e0", "20240102e0", "6000", "1e20"]
    for kind in ["datetime(6)", "date", "time(6)"]:
        answers = ask([f"cast({n} as {kind})" for n in numbers])
        rows += [("number", kind, n, a) for n, a in zip(numbers, answers)]
    write("temporal", rows)


def intervals():
    units = ("MICROSECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR SECOND_MICROSECOND MINUTE_MICROSECOND MINUTE_SECOND "
             "HOUR_MICROSECOND HOUR_SECOND HOUR_MINUTE DAY_MICROSECOND DAY_SECOND DAY_MINUTE DAY_HOUR YEAR_MONTH").split()
    dates = ["2024-02-29 12:34:56.789000", "2024-01-31 00:00:00", "0001-01-01 00:00:00", "9999-12-31 23:59:59", "2023-12-31 23:59:59.999999",
             "2024-03-31 01:02:03"]
    amounts = ["1", "-1", "13", "0", "1:2", "-1:2:3", "1 2:3:4", "1.5", "99999", "-3000000000", "1-2", "10 5"]
    cases = [(u, d, n) for u in units for d in dates for n in random.sample(amounts, 5)]
    texts = ask([f"cast('{d}' as datetime(6)) + interval '{n}' {u}" for u, d, n in cases])
    rows = [("add",) + c + (t,) for c, t in zip(cases, texts)]
    cases = [(u, random.choice(dates), random.choice(dates)) for u in units[:9] for _ in range(12)]
    texts = ask([f"timestampdiff({u}, cast('{a}' as datetime(6)), cast('{b}' as datetime(6)))" for u, a, b in cases])
    write("intervals", rows + [("diff",) + c + (t,) for c, t in zip(cases, texts)])


arithmetic()
rounding()
temporal()
intervals()
