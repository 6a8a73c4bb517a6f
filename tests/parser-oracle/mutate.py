"""Mutated statements against a running morsed: no panic, no hang, no words of its inside.

    python3 mutate.py --socket /tmp/o/sock --log /tmp/o/out [--count 20000] [--seed 1] [--seconds 5] [CORPUS...]

The corpus is statements, one a line or `.test` files of ../sql (the default). The statements of a file are run in order, so that there are tables, and
between them mutants of them: with tokens of others put in, left out, doubled or replaced by values at limits. What counts: the connection lost, an answer later than --seconds, an error whose text is about the
server's inside, a panic in the server's log, memory beyond --memory MiB. Statements that end the server or its sessions are left out.
"""

import argparse
import collections
import glob
import os
import random
import re
import socket
import time

from server import Connection, ServerError

TOKEN = re.compile(rb"'(?:[^'\\]|\\.)*'|`[^`]*`|[A-Za-z_@][A-Za-z_0-9@$]*|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|<=>|<<|>>|[<>!]=|:=|\|\||&&|\S")
VALUES = [b"NULL", b"0", b"-1", b"1e308", b"18446744073709551615", b"-9223372036854775808", b"''", b"x'ff'", b"'\xf0\x9f\x98\x80'", b"repeat('a', 100000)",
          b"(select 1)", b"(select 1, 2)", b"row(1, 2)", b"current_timestamp", b"99999999999999999999999999", b"0.0000000000000000000001", b"@v", b"?", b"default", b"*"]
LEFT_OUT = re.compile(rb"\b(shutdown|kill|sleep|get_lock|into\s+outfile|into\s+dumpfile|load\s+data|benchmark|set\s+password|drop\s+user|global|alter\s+user|flush\s+tables\s+with"
                      rb"|lock\s+tables|backup|read_only|max_session_mem|wait_timeout)\b", re.I)
INSIDE = re.compile(r"panick|unreachable|assert|unwrap|\.rs\b|internal|corrupt|index out of|overflow(ed)? (in|when)|Bug", re.I)


def corpus_of(paths):
    out = []
    for path in paths:
        text = open(path, "rb").read()
        if not path.endswith(".test"):
            out += text.split(b"\n")
            continue
        for line in text.split(b"\n"):
            line = line.strip()
            if re.match(rb"(?i)(select|insert|update|delete|create|alter|drop|with|replace|values|set|show|explain|call|prepare|execute|truncate|rename|do|begin|commit|rollback|savepoint|xa|table|check|analyze)\b", line):
                out.append(line.rstrip(b";"))
    return [s for s in out if s and not LEFT_OUT.search(s)]


def mutated(tokens, all_tokens, rng):
    tokens = list(tokens)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        at = rng.randrange(len(tokens) + 1)
        kind = rng.randrange(7)
        if kind == 0 and tokens:
            del tokens[min(at, len(tokens) - 1)]
        elif kind == 1:
            tokens.insert(at, rng.choice(rng.choice(all_tokens)))
        elif kind == 2 and tokens:
            tokens[min(at, len(tokens) - 1)] = rng.choice(rng.choice(all_tokens))
        elif kind == 3 and tokens:
            tokens[min(at, len(tokens) - 1)] = rng.choice(VALUES)
        elif kind == 4:
            other = rng.choice(all_tokens)
            start = rng.randrange(len(other) + 1)
            tokens[at:at] = other[start : start + rng.randrange(1, 8)]
        elif kind == 5 and tokens:
            start = min(at, len(tokens) - 1)
            tokens[at:at] = tokens[start : start + rng.randrange(1, 6)]
        else:
            tokens[at:at] = [b"(", *tokens[at : at + 3], b")"]
    return b" ".join(tokens)


def memory_of(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", required=True)
    parser.add_argument("--log")
    parser.add_argument("--pid", type=int)
    parser.add_argument("--memory", type=int, default=2048)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("corpus", nargs="*")
    options = parser.parse_args()
    here = os.path.dirname(os.path.abspath(__file__))
    files = options.corpus or sorted(glob.glob(os.path.join(here, "..", "sql", "*.test")))
    texts = [corpus_of([path]) for path in files]
    all_tokens = [t for text in texts for t in map(TOKEN.findall, text) if t]
    rng = random.Random(options.seed)
    log_at = os.path.getsize(options.log) if options.log else 0
    outcomes, found = collections.Counter(), []

    def connect():
        connection = Connection(options.socket, database="mutants")
        connection.sock.settimeout(options.seconds * 4)
        for setting in ("max_statement_time = %g" % options.seconds, "lock_wait_timeout = 1", "innodb_lock_wait_timeout = 1", "max_recursive_iterations = 1000"):
            connection.query("set session " + setting)
        return connection

    def statements():
        """Texts in order, each with mutants around it; None where a new database begins."""
        while True:
            yield None
            for text in rng.choice(texts):
                tokens = TOKEN.findall(text)
                for _ in range(rng.randrange(4)):
                    yield mutated(tokens, all_tokens, rng)
                yield text

    connection, source = connect(), statements()
    for number in range(options.count):
        text = next(source)
        if text is None:
            try:
                connection.query("rollback")
                connection.query("drop database mutants")
            except (ServerError, ConnectionError, socket.error):
                pass
            connection = connect()
            continue
        if LEFT_OUT.search(text):
            continue
        begin = time.time()
        try:
            connection.query(text)
            outcome = "ok"
        except ServerError as error:
            outcome = "error"
            if INSIDE.search(error.text) and error.code not in (1305, 1064, 1054, 1146):
                found.append(("words of the inside", text, str(error)))
        except (ConnectionError, socket.error) as error:
            outcome = "lost"
            found.append(("lost", text, repr(error)))
            connection = connect()
        took = time.time() - begin
        if took > options.seconds * 1.5:
            found.append(("slow", text, "%.1f s" % took))
        if options.log and os.path.getsize(options.log) > log_at:
            with open(options.log, "rb") as log:
                log.seek(log_at)
                new = log.read()
            log_at += len(new)
            if b"panicked" in new:
                found.append(("panic", text, new[new.index(b"panicked") :][:400].decode("utf-8", "replace")))
        if options.pid and number % 200 == 0 and memory_of(options.pid) > options.memory:
            found.append(("memory", text, "%d MiB" % memory_of(options.pid)))
            break
        outcomes[outcome] += 1
    print(dict(outcomes))
    for kind, text, detail in found:
        print(f"{kind}: {text[:500]!r}\n   {detail}")
    raise SystemExit(1 if found else 0)


main()
