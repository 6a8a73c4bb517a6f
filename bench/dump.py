#!/usr/bin/env python3
"""Round trips of a mixed database by mariadb-dump and by mydumper, on morsed and on a real MariaDB.

  dump.py [--mib 1000] [--repeat 1] [--tools mariadb-dump,mydumper] [--keep]

The database is made on a real MariaDB and dumped there; that dump is loaded into an empty morsed and an empty MariaDB, and dumped again from
both. Compared: CHECKSUM TABLE and counts of every table, SHOW CREATE of every object, the texts of the dumps but for comments. Prints
Markdown, then every difference; ends with 1 when there is one. Needs about nine times the size on disk. Environment: see servers.py.
"""
import argparse, os, re, shutil, statistics, subprocess, sys, tempfile, time
import dump_data
from servers import Server

OPTIONS = ['--innodb-log-file-size=1G', '--innodb-flush-log-at-trx-commit=1', '--log-bin', '--innodb-buffer-pool-size=1G', '--max-allowed-packet=64M']
OBJECTS = """select concat('show create ', if(table_type = 'VIEW', 'view', if(table_type = 'SEQUENCE', 'sequence', 'table')), ' mixed.', table_name) from information_schema.tables where table_schema = 'mixed'
union all select concat('show create trigger mixed.', trigger_name) from information_schema.triggers where trigger_schema = 'mixed'
union all select concat('show create ', routine_type, ' mixed.', routine_name) from information_schema.routines where routine_schema = 'mixed'
union all select concat('show create event mixed.', event_name) from information_schema.events where event_schema = 'mixed' order by 1"""


def start(kind):
    return Server(kind, OPTIONS + ([] if kind == 'morse' else ['--sync-binlog=1']))


def timed(what, command, **how):
    begin = time.time()
    done = subprocess.run(command, stderr=subprocess.PIPE, **how)
    if done.returncode:
        sys.exit('%s: %s\n%s' % (what, ' '.join(command), done.stderr.decode()[-3000:]))
    return time.time() - begin


def connection(server):
    return ['-h127.0.0.1', '-P%d' % server.port, '-uroot']


def classic_dump(server, path):
    with open(path, 'wb') as out:
        return timed('dump', ['mariadb-dump', '--no-defaults', *connection(server), '--single-transaction', '--routines', '--triggers', '--events', '--databases', 'mixed'], stdout=out)


def classic_load(server, path):
    with open(path, 'rb') as source:
        return timed('load', ['mariadb', '--no-defaults', *connection(server), '--binary-mode'], stdin=source)


def my_dump(server, path):
    # This mydumper writes a sequence as a table with a row.
    shutil.rmtree(path, ignore_errors=True)
    return timed('dump', ['mydumper', '-h', '127.0.0.1', '-P', str(server.port), '-u', 'root', '-B', 'mixed', '-x', r'^(?!(mixed\.numbers))', '-G', '-E', '-R', '--less-locking', '-t', '4', '-o', path])


def my_load(server, path):
    return timed('load', ['myloader', '-h', '127.0.0.1', '-P', str(server.port), '-u', 'root', '-t', '4', '-d', path])


TOOLS = {'mariadb-dump': (classic_dump, classic_load), 'mydumper': (my_dump, my_load)}


def facts(server):
    """What must be equal: by name, a text."""
    found = {}
    for statement in server.sql(OBJECTS)[1].splitlines():
        # A trigger's last column is the time when it was made.
        found[statement] = re.sub(r'\t\d{4}-\d\d-\d\d [\d:.]+\n$', '\n', server.sql(statement)[1])
    for table in dump_data.TABLES:
        found['checksum of ' + table] = server.sql(dump_data.SUMS.get(table, 'checksum table mixed.%s extended' % table))[1]
        found['rows of ' + table] = server.sql('select count(*) from mixed.%s' % table)[1]
    if 'show create sequence mixed.numbers' in found:
        found['sequence'] = server.sql('select * from mixed.numbers')[1]
    return found


def differences(there, here):
    return ['%s\n  there: %s\n  here:  %s' % (name, there.get(name), here.get(name))
            for name in sorted(set(there) | set(here)) if there.get(name) != here.get(name)]


def text_differences(theirs, ours):
    """Lines of two dumps that differ, comments left out."""
    found, wanted = [], lambda path: (line for line in open(path, 'rb') if not line.startswith((b'-- ', b'/*M!999999')))
    a, b = wanted(theirs), wanted(ours)
    for number, line in enumerate(a):
        other = next(b, b'')
        if line != other:
            at = next((i for i, (x, y) in enumerate(zip(line, other)) if x != y), min(len(line), len(other)))
            found.append('dump, line %d: %r\n  here: %r' % (number, line[max(0, at - 60):at + 100], other[max(0, at - 60):at + 100]))
            if len(found) > 4:
                break
    return found


def make(mib, work):
    """The database on a real MariaDB, its facts, and one dump by each tool."""
    source = start('mariadb')
    timed('schema', ['mariadb', '--no-defaults', *connection(source), '--default-character-set=utf8mb4'], input=dump_data.SCHEMA.encode())
    for statement in dump_data.rows(mib):
        timed(statement[:60], ['mariadb', '--no-defaults', *connection(source), '--default-character-set=utf8mb4', 'mixed'],
              input=("set time_zone='+00:00', sql_mode='NO_UNSIGNED_SUBTRACTION', innodb_strict_mode=0; " + statement).encode())
    for tool in TOOLS:
        TOOLS[tool][0](source, os.path.join(work, tool))
    found = facts(source)
    source.stop()
    return found


def round_trips(args, work, wanted):
    seconds, problems, there = {}, [], {}
    for kind in ('mariadb', 'morse'):
        for tool in args.tools.split(','):
            dump, load = TOOLS[tool]
            loads, dumps = [], []
            for _ in range(args.repeat):
                server = start(kind)
                loads.append(load(server, os.path.join(work, tool)))
                print('# %s, %s: loaded in %.1f s' % (kind, tool, loads[-1]), flush=True)
                found = facts(server)
                # What a tool changes on the way into MariaDB, it may change here too: mydumper 0.10 loses sequences, UUIDs and addresses there.
                others = differences(there.setdefault(tool, found), found)
                problems += ['%s, %s: %s' % (kind, tool, d) for d in differences(wanted, found) if tool == 'mariadb-dump' or any(d.split('\n')[0] == o.split('\n')[0] for o in others)]
                dumps.append(dump(server, os.path.join(work, tool + '-' + kind)))
                print('# %s, %s: dumped in %.1f s' % (kind, tool, dumps[-1]), flush=True)
                server.stop()
            seconds[kind, tool] = statistics.median(loads), statistics.median(dumps)
    return seconds, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--mib', type=int, default=1000)
    parser.add_argument('--repeat', type=int, default=1)
    parser.add_argument('--tools', default='mariadb-dump,mydumper')
    parser.add_argument('--keep', action='store_true', help='leave the dumps')
    args = parser.parse_args()
    work = tempfile.mkdtemp(prefix='bench-dump-')
    wanted = make(args.mib, work)
    size = os.path.getsize(os.path.join(work, 'mariadb-dump')) >> 20
    print('# a dump of %d MiB' % size, flush=True)
    seconds, problems = round_trips(args, work, wanted)
    if 'mariadb-dump' in args.tools:
        problems += text_differences(os.path.join(work, 'mariadb-dump-mariadb'), os.path.join(work, 'mariadb-dump-morse'))
    print('| tool | MiB | load: morsed s | MariaDB s | factor | dump: morsed s | MariaDB s | factor | differences |\n|---|---|---|---|---|---|---|---|---|')
    for tool in args.tools.split(','):
        (our_load, our_dump), (load, dump) = seconds['morse', tool], seconds['mariadb', tool]
        count = sum(tool in p.split(':')[0] or tool == 'mariadb-dump' and p.startswith('dump,') for p in problems)
        print('| %s | %d | %.1f | %.1f | %.2f | %.1f | %.1f | %.2f | %d |' % (tool, size, our_load, load, our_load / load, our_dump, dump, our_dump / dump, count))
    if not args.keep:
        shutil.rmtree(work)
    if problems:
        sys.exit('\n'.join(problems))


if __name__ == '__main__':
    main()
