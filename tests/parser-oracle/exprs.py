"""Random expressions: does our tree group as the server does?

Each expression runs on the server three times: as generated, as we print it with parentheses around every operator,
and as we print it in MariaDB's form. All three must give the same value (or the same error).
"""

import argparse
import pathlib
import random
import subprocess

from server import Connection, ServerError

REPO = pathlib.Path(__file__).resolve().parents[2]
BINARY = ["+", "-", "*", "/", "%", "DIV", "MOD", "|", "&", "^", "<<", ">>", "=", "<=>", "<>", "!=", "<", "<=", ">", ">=",
          "AND", "OR", "XOR", "&&", "||", "LIKE", "NOT LIKE", "REGEXP", "NOT REGEXP", "SOUNDS LIKE"]
UNARY = ["-", "+", "~", "!", "NOT ", "BINARY "]
ATOMS = ["0", "1", "2", "3", "7", "10", "-1", "NULL", "'1'", "'a'", "'2x'", "1.5", "TRUE", "0x41", "(1)", "(2 + 3)",
         "ABS(-4)", "IF(1,2,3)", "CASE 1 WHEN 1 THEN 2 ELSE 3 END", "(SELECT 5)"]


def expression(rng, depth):
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(ATOMS)
    kind = rng.random()
    sub = lambda: expression(rng, depth - 1)
    if kind < 0.60:
        return f"{sub()} {rng.choice(BINARY)} {sub()}"
    if kind < 0.72:
        return rng.choice(UNARY) + sub()
    if kind < 0.80:
        return f"{sub()} {rng.choice(['BETWEEN', 'NOT BETWEEN'])} {sub()} AND {sub()}"
    if kind < 0.86:
        return f"{sub()} {rng.choice(['IN', 'NOT IN'])} ({sub()}, {sub()})"
    if kind < 0.93:
        return f"{sub()} IS {rng.choice(['', 'NOT '])}{rng.choice(['NULL', 'TRUE', 'FALSE', 'UNKNOWN'])}"
    if kind < 0.95:
        return f"{sub()} COLLATE utf8mb4_bin"
    if kind < 0.97:
        return f"{sub()} LIKE {sub()} ESCAPE '!'"
    if kind < 0.985:
        return f"{sub()} {rng.choice('+-')} INTERVAL {sub()} DAY"
    return f"INTERVAL {sub()} DAY + {sub()}"


def value(server, text):
    try:
        return server.query(b"select " + text)[0][0]
    except ServerError as error:
        return f"error {error.code}"


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--socket", required=True)
    args.add_argument("--count", type=int, default=5000)
    args.add_argument("--depth", type=int, default=3)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--sql-mode", default="")
    args.add_argument("--mode", default="", help="options of our parser: pipes, high_not")
    args = args.parse_args()
    server = Connection(args.socket)
    server.query(f"set names utf8mb4, sql_mode = '{args.sql_mode}'")
    rng = random.Random(args.seed)
    texts = [expression(rng, rng.randint(1, args.depth)).encode() for _ in range(args.count)]
    command = ["cargo", "run", "-q", "-p", "sql-syntax", "--example", "sql_group", "--", args.mode]
    done = subprocess.run(command, cwd=REPO, input=b"\0".join(texts), capture_output=True, check=True)
    printed = done.stdout.split(b"\0")
    valid = grouped_wrong = printed_wrong = accept_wrong = 0
    for text, grouped, plain in zip(texts, printed[0::2], printed[1::2]):
        expected = value(server, text)
        syntax_error = expected == "error 1064"
        if syntax_error or grouped.startswith(b"error"):
            if syntax_error != grouped.startswith(b"error"):
                accept_wrong += 1
                print("accept:", text.decode(), "->", expected, grouped.decode())
            continue
        valid += 1
        if value(server, grouped) != expected:
            grouped_wrong += 1
            print("group:", text.decode(), "->", expected, "\n       ", grouped.decode(), "->", value(server, grouped))
        if value(server, plain) != expected:
            printed_wrong += 1
            print("print:", text.decode(), "->", expected, "\n       ", plain.decode(), "->", value(server, plain))
    print(f"{valid} valid of {args.count}: {grouped_wrong} grouped otherwise, {printed_wrong} printed otherwise, "
          f"{accept_wrong} accepted otherwise")


if __name__ == "__main__":
    main()
