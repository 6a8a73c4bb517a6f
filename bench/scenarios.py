#!/usr/bin/env python3
"""The measurements that are not a plain sysbench run, on morsed and on a real MariaDB.

  scenarios.py large_update [--repeat 3]   UPDATE of 100,000 rows of 1 KB in one transaction beside 8 threads of oltp_write_only:
                                           seconds of the COMMIT itself, the others' p99 before and during
  scenarios.py working_set                 data five times the pool, Pareto access: hit ratio; then a full scan beside it
  scenarios.py restart [--mib 1024]        kill -9 under 64 writers (and a large UPDATE) after that much log: age of the checkpoint, seconds to the first query
  scenarios.py footprint                   start of an empty server, resident memory at 64 connections, size of the program

Environment: see servers.py. Prints Markdown.
"""
import argparse, os, re, statistics, subprocess, sys, threading, time
from servers import MORSED, Server

COMMON = ['--innodb-log-file-size=2G', '--innodb-flush-log-at-trx-commit=1', '--log-bin']


def options(kind, pool='2G', extra=()):
    own = [] if kind == 'morse' else ['--sync-binlog=1']
    return COMMON + own + ['--innodb-buffer-pool-size=' + pool] + list(extra)


def sysbench(server, test, what, threads, seconds=None, tables=4, rows=100000, extra=()):
    cmd = ['sysbench', test, '--db-driver=mysql', '--mysql-host=127.0.0.1', '--mysql-port=%d' % server.port, '--mysql-user=root',
           '--mysql-db=sbtest', '--tables=%d' % tables, '--table-size=%d' % rows, '--threads=%d' % threads, '--percentile=99',
           '--mysql-ignore-errors=all'] + list(extra)
    if seconds:
        cmd += ['--time=%d' % seconds, '--report-interval=1']
    return subprocess.Popen(cmd + [what], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def prepare(server, tables=4, rows=100000):
    server.sql('create database if not exists sbtest')
    out = sysbench(server, 'oltp_write_only', 'prepare', 2, tables=tables, rows=rows).communicate()[0]
    if 'FATAL' in out:
        sys.exit(out)


def per_second_p99(out):
    return [float(x) for x in re.findall(r'lat \(ms,99%\): ([\d.]+)', out)]


def kinds(args):
    return [args.only] if args.only else ['morse', 'mariadb']


def large_update(args):
    print('| server | UPDATE s | COMMIT ms | others p99 before ms | during ms | factor | worst second ms |\n|---|---|---|---|---|---|---|')
    for kind in kinds(args):
        rows = []
        server = Server(kind, options(kind))
        prepare(server)
        server.sql('create table sbtest.big (id int primary key, v varchar(1100) not null)')
        server.sql("insert into sbtest.big select id, repeat('a', 1000) from sbtest.sbtest1 where id <= 100000")
        for turn in range(args.repeat):
            load = sysbench(server, 'oltp_write_only', 'run', 8, seconds=24)
            time.sleep(10)
            marks = {}
            script = ("set autocommit=0; update sbtest.big set v = repeat('%s', 1000); select 'updated'; commit; select 'done';"
                      % 'bc'[turn % 2])
            client = subprocess.Popen(['mariadb', '--no-defaults', '-h127.0.0.1', '-P%d' % server.port, '-uroot', '-N', '-B', '-n', '--unbuffered',
                                       '-e', script], stdout=subprocess.PIPE, text=True)
            begin = time.time()
            for line in client.stdout:
                marks[line.strip()] = time.time()
            client.wait()
            out = load.communicate()[0]
            seconds = per_second_p99(out)
            first, last = 10, 10 + max(1, int(marks['done'] - begin + 1))
            before, during = seconds[3:9], seconds[first:last] or seconds[first:first + 1]
            rows.append((marks['updated'] - begin, (marks['done'] - marks['updated']) * 1e3, statistics.median(before), statistics.median(during), max(during)))
        server.stop()
        m = [statistics.median(r[i] for r in rows) for i in range(5)]
        print('| %s | %.2f | %.1f | %.2f | %.2f | %.2f | %.2f |' % (kind, *m[:4], m[3] / m[2], m[4]), flush=True)


def reads(server):
    """Time, requests, and pages read from disk for somebody who waited or ahead (morsed does not read ahead)."""
    names = ('read_requests', 'reads', 'read_ahead')
    return (time.time(),) + tuple(server.status('Innodb_buffer_pool_' + name, absent=0) for name in names)


def hit(before, after, scanned=0):
    """Hit ratio without the pages of a scan in the same time: each is one request at least, and a miss."""
    requests = after[1] - before[1] - scanned
    return 100 - 100.0 * max(after[2] - before[2] + after[3] - before[3] - scanned, 0) / max(requests, 1)


def working_set(args):
    print('| server | hit ratio Pareto % | lowest second beside a full scan | seconds more than 1 point lower | q/s |\n|---|---|---|---|---|')
    for kind in kinds(args):
        server = Server(kind, options(kind, '64M'))
        prepare(server, 4, args.rows)
        server.sql("create table sbtest.wide (id int primary key, v varchar(1100) not null)")
        for part in range(10):
            server.sql("insert into sbtest.wide select id + %d, repeat('a', 1000) from sbtest.sbtest1 where id <= 15000" % (part * 15000))
        load = sysbench(server, 'oltp_point_select', 'run', 8, seconds=60, rows=args.rows, extra=['--rand-type=pareto'])
        time.sleep(25)
        samples = [reads(server)]
        time.sleep(10)
        steady = hit(samples[0], reads(server))
        lasted = []

        def run():
            begin = time.time()
            server.sql('select sum(length(v)) from sbtest.wide')
            lasted.extend([begin, time.time()])

        scan = threading.Thread(target=run)
        samples = [reads(server)]
        scan.start()
        for _ in range(10):
            time.sleep(1)
            samples.append(reads(server))
        scan.join()
        # 15 rows of the scanned table fill a page; its pages are spread evenly over the time of the scan.
        rate = 150000 / 15 / (lasted[1] - lasted[0])
        seconds = []
        for before, after in zip(samples, samples[1:]):
            together = max(min(after[0], lasted[1]) - max(before[0], lasted[0]), 0)
            seconds.append(hit(before, after, rate * together))
        out = load.communicate()[0]
        qps = float(re.search(r'queries:.*\(([\d.]+) per sec', out).group(1))
        server.stop()
        low = sum(1 for s in seconds if s < steady - 1)
        print('| %s | %.2f | %.2f | %d | %.0f |' % (kind, steady, min(seconds), low, qps), flush=True)


def restart(args):
    print('| server | log since checkpoint MiB (Innodb_checkpoint_age) | start to first query s |\n|---|---|---|')
    for kind in kinds(args):
        server = Server(kind, options(kind, extra=['--max-binlog-size=1G']))
        prepare(server)
        server.sql('create table sbtest.big (id int primary key, v varchar(1100) not null)')
        server.sql("insert into sbtest.big select id, repeat('a', 1000) from sbtest.sbtest1 where id <= 100000")
        begin = server.status('Innodb_os_log_written')
        load = sysbench(server, 'oltp_write_only', 'run', 64, seconds=args.limit)
        # Large updates beside the 64 writers, so that the log grows as fast as the disk takes it.
        turn = 0
        while (server.status('Innodb_os_log_written') - begin) >> 20 < args.mib and load.poll() is None:
            turn += 1
            server.sql("update sbtest.big set v = repeat('%s', 1000)" % 'bcd'[turn % 3])
        age = server.status('Innodb_checkpoint_age') / 2**20
        server.kill()
        load.communicate()
        server.start()
        print('| %s | %.0f | %.2f |' % (kind, age, server.start_seconds), flush=True)
        server.stop()


def footprint(args):
    print('| server | start of an empty server s | resident MiB at 64 connections beyond the pool used | program MiB |\n|---|---|---|---|')
    for kind in kinds(args):
        server = Server(kind, options(kind, '256M'))
        server.stop(remove=False)
        server.start()
        again = server.start_seconds
        prepare(server, 4, 300000)
        load = sysbench(server, 'oltp_read_write', 'run', 64, seconds=20, rows=300000)
        time.sleep(15)
        rss = server.rss_mib()
        load.communicate()
        server.stop()
        size = os.path.getsize(MORSED) / 2**20 if kind == 'morse' else 0
        print('| %s | %.2f | %.0f (pool 256) | %.1f |' % (kind, again, rss, size), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('scenario', choices=['large_update', 'working_set', 'restart', 'footprint'])
    p.add_argument('--only', default='')
    p.add_argument('--repeat', type=int, default=3)
    p.add_argument('--rows', type=int, default=300000)
    p.add_argument('--mib', type=int, default=1024)
    p.add_argument('--limit', type=int, default=400)
    args = p.parse_args()
    globals()[args.scenario](args)


main()
