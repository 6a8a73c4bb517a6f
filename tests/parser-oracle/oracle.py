"""Compares what our parser and a real MariaDB accept."""

import argparse
import collections
import pathlib
import subprocess

from extract import statements
from server import Connection

# Errors that the server raises while it parses: what follows in the text has not been checked.
EARLY = {1065, 1115, 1193, 1273, 1286, 1308, 1310, 1324, 1327, 1330, 1331, 1332, 1337, 1338, 1407, 1453, 1582, 1583, 1641}
UTF8MB4, LATIN1 = 45, 8
REPO = pathlib.Path(__file__).resolve().parents[2]


def ours(list_of_sql, mode):
    command = ["cargo", "run", "-q", "-p", "sql-syntax", "--example", "sql_check", "--", mode]
    done = subprocess.run(command, cwd=REPO, input=b"\0".join(list_of_sql), capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace").splitlines()


def read(paths):
    for path in paths:
        data = pathlib.Path(path).read_bytes()
        if path.endswith((".test", ".inc")):
            for delimiter, sql in statements(data):
                yield path, delimiter, sql
        else:
            for line in data.splitlines():
                if line.strip() and not line.startswith(b"#"):
                    yield path, b";", line.rstrip(b";")


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--socket", required=True)
    args.add_argument("--sql-mode", default="")
    args.add_argument("--mode", default="", help="options of our parser, e.g. ansi_quotes,pipes")
    args.add_argument("--show", type=int, default=40, help="groups of disagreements")
    args.add_argument("--examples", type=int, default=3, help="statements of a group")
    args.add_argument("files", nargs="+")
    args = args.parse_args()
    servers = [Connection(args.socket, collation) for collation in (UTF8MB4, LATIN1)]
    for server in servers:
        server.query(f"set sql_mode = '{args.sql_mode}'")
    seen = collections.OrderedDict()
    for path, delimiter, sql in read(args.files):
        if b"\0" not in sql and len(sql) < 1 << 20:
            seen.setdefault(sql, (path, delimiter))
    texts = list(seen)
    answers = ours(texts, args.mode)
    counts = collections.Counter()
    wrong = collections.defaultdict(list)
    for sql, answer in zip(texts, answers):
        error = servers[0 if utf8(sql) else 1].prepare(sql)
        code = error.code if error else 0
        accepted = answer == "ok"
        kind = "program" if seen[sql][1] != b";" else "statement"
        if answer == "more" or code == 1065:
            counts["several or empty"] += 1
        elif code == 1064:
            counts[kind, "negative"] += 1
            if accepted:
                counts[kind, "wrongly accepted"] += 1
                wrong["accepted: " + words(sql)].append((sql, near(error.text)))
            elif answer != f"1064 {error.text}".replace("\n", "\\n"):
                counts["error text differs"] += 1
                wrong["error text"].append((sql, near(error.text) + "   OURS: " + near(answer)))
        elif code in EARLY and not accepted:
            counts["unknown"] += 1
        else:
            counts[kind, "positive"] += 1
            if not accepted:
                counts[kind, "wrongly rejected"] += 1
                wrong["rejected: " + words(sql)].append((sql, answer[:5] + near(answer)))
    for key, n in sorted(counts.items(), key=str):
        print(n, key if isinstance(key, str) else " ".join(key))
    for kind in ("statement", "program"):
        n, bad = counts[kind, "positive"], counts[kind, "wrongly rejected"]
        if n:
            print(f"{kind}: {100 * (n - bad) / n:.3f} % of {n} accepted ones parse")
    for key, list_ in sorted(wrong.items(), key=lambda kv: -len(kv[1]))[: args.show]:
        print(f"\n== {len(list_)} {key}")
        for sql, why in list_[: args.examples]:
            print("  ", sql[:300].decode("utf-8", "replace").replace("\n", " "), "\n      ->", why[:160])


def utf8(sql):
    try:
        sql.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


def near(text):
    return text[text.find(" near ") :] if " near " in text else text


def words(sql):
    return " ".join(sql.decode("utf-8", "replace").lower().split()[:2])[:40]


if __name__ == "__main__":
    main()
