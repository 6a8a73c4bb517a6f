#!/usr/bin/env python3
"""Bulk writes on morsed and on a real MariaDB: seconds a shape, each in a table of its own, one client, binary log on in both.

  bulk.py [--rows 500000] [--repeat 3] [--only morse|mariadb] [--shapes NAME,...]

Environment: see servers.py. Prints Markdown.
"""
import argparse, os, statistics, subprocess, time
from servers import Server

COMMON = ['--innodb-log-file-size=2G', '--innodb-flush-log-at-trx-commit=1', '--log-bin', '--innodb-buffer-pool-size=2G', '--local-infile=1']

COLUMNS = 'id int not null, a int not null, b int not null, c varchar(60) not null, d varchar(250) not null'
KEYS = {
    'ascending primary key': 'primary key (id)',
    'random primary key': 'primary key (a)',
    'one secondary key': 'primary key (id), key (a)',
    'unique and two secondary keys': 'primary key (id), unique (a), key (b, c), key (c)',
    'a long secondary key': 'primary key (id), key (d)',
}
HASH = "conv(substr(md5(%s), 1, 7), 16, 10)"


def fill(server, rows):
    """The source: every column but the first in no order, `a` without duplicates."""
    server.sql('create database b; create table b.source (%s, primary key (id)) charset=utf8mb4' % COLUMNS)
    for begin in range(1, rows + 1, 50000):
        server.sql('insert into b.source select seq, seq * 7919 %% 2147483629, %s, md5(seq), repeat(md5(seq), 7) from seq_%d_to_%d'
                   % (HASH % 'seq', begin, min(begin + 49999, rows)), db='b')


def select_into(server, keys, rows):
    server.sql('create or replace table b.t (%s, %s) charset=utf8mb4' % (COLUMNS, keys))
    begin = time.time()
    server.sql('insert into b.t select * from b.source where id <= %d' % rows)
    return time.time() - begin


def texts(server, rows, keys='primary key (id), key (a), key (c)'):
    """INSERT of 1,000 rows a statement, as a dump has them."""
    path = os.path.join(server.dir, 'texts.sql')
    if not os.path.exists(path):
        with open(path, 'w') as out:
            for begin in range(1, rows + 1, 1000):
                out.write('insert into t values ' + ','.join(
                    "(%d,%d,%d,'%032d','%064d')" % (i, i * 7919 % 2147483629, i * 31 % 100003, i * 7919 % 1000003, i)
                    for i in range(begin, begin + 1000)) + ';\n')
    server.sql('create or replace table b.t (%s, %s) charset=utf8mb4' % (COLUMNS, keys))
    begin = time.time()
    subprocess.run(['mariadb', '--no-defaults', '-h127.0.0.1', '-P%d' % server.port, '-uroot', 'b'], stdin=open(path), check=True)
    return time.time() - begin


def load_data(server, rows):
    path = os.path.join(server.dir, 'rows.txt')
    if not os.path.exists(path):
        with open(path, 'w') as out:
            for i in range(1, rows + 1):
                out.write('%d\t%d\t%d\t%032d\t%064d\n' % (i, i * 7919 % 2147483629, i * 31 % 100003, i * 7919 % 1000003, i))
    server.sql('create or replace table b.t (%s, primary key (id), key (a)) charset=utf8mb4' % COLUMNS)
    begin = time.time()
    subprocess.run(['mariadb', '--no-defaults', '--local-infile', '-h127.0.0.1', '-P%d' % server.port, '-uroot', 'b', '-e',
                    "load data local infile '%s' into table t" % path], check=True)
    return time.time() - begin


def shapes(args):
    all_rows, few = args.rows, args.rows // 10
    found = {'INSERT ... SELECT, ' + name: (few if 'long' in name else all_rows, lambda s, n, k=keys: select_into(s, k, n))
             for name, keys in KEYS.items()}
    found['INSERT of 1,000 rows a statement, two secondary keys'] = (all_rows, texts)
    found['LOAD DATA LOCAL, one secondary key'] = (all_rows, load_data)
    return {n: s for n, s in found.items() if not args.shapes or any(w in n for w in args.shapes.split(','))}


def processor(server):
    """Seconds of the processor that the server has used."""
    fields = open('/proc/%d/stat' % server.pid).read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--rows', type=int, default=500000)
    parser.add_argument('--repeat', type=int, default=3)
    parser.add_argument('--only')
    parser.add_argument('--shapes', help='words of names')
    args = parser.parse_args()
    seconds = {}
    for kind in [args.only] if args.only else ['morse', 'mariadb']:
        server = Server(kind, COMMON + ([] if kind == 'morse' else ['--sync-binlog=1']))
        fill(server, args.rows)
        for name, (rows, run) in shapes(args).items():
            before = processor(server)
            seconds[name, kind] = statistics.median(run(server, rows) for _ in range(args.repeat))
            used = (processor(server) - before) / args.repeat
            print('# %s, %s: %.2f s, %.2f of the processor' % (kind, name, seconds[name, kind], used), flush=True)
        server.stop()
    print('| rows | shape | morsed s | MariaDB s | factor |\n|---|---|---|---|---|')
    for name, (rows, _) in shapes(args).items():
        ours, theirs = seconds.get((name, 'morse'), float('nan')), seconds.get((name, 'mariadb'), float('nan'))
        print('| %s | %s | %.2f | %.2f | %.2f |' % (format(rows, ','), name, ours, theirs, ours / theirs))


if __name__ == '__main__':
    main()
