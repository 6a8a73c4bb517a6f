#!/usr/bin/env python3
"""sysbench on morsed and on a real MariaDB in the same run, and the ratio.

  compare.py [--test oltp_write_only] [--threads 1,8,32,64] [--tables 4] [--rows 100000] [--seconds 10] [--warmup 3]
             [--repeat 3] [--disk plain|SYNC_MS,MBPS,IOPS] [--binlog both|off-peer|off] [--flush 1] [--extra=...]
             [--json FILE]

Servers run one at a time on the same machine (the other is stopped meanwhile), alternating; each point is the median of --repeat runs. Prints one
Markdown table: rate, p99, syncs and device bytes per transaction of both, and morsed/MariaDB. Environment: see servers.py.
"""
import argparse, json, re, statistics, subprocess, sys, threading, time
from servers import Server


def sysbench(server, test, threads, args, seconds):
    base = ['sysbench', test, '--db-driver=mysql', '--mysql-host=127.0.0.1', '--mysql-port=%d' % server.port,
            '--mysql-user=root', '--mysql-db=sbtest', '--tables=%d' % args.tables, '--table-size=%d' % args.rows,
            '--percentile=99', '--threads=%d' % threads, '--time=%d' % seconds] + args.extra.split()
    before = server.counters()
    log_before = server.status('Innodb_os_log_written')
    switches = {}

    def watch():
        # Threads of closed connections take their counts with them: sample while the run lasts.
        time.sleep(1)
        switches['from'] = server.context_switches()
        time.sleep(max(seconds - 2, 0.5))
        switches['to'] = server.context_switches()

    watcher = threading.Thread(target=watch)
    watcher.start()
    young = server.status('Innodb_buffer_pool_pages_made_young')
    r = subprocess.run(base + ['run'], capture_output=True, text=True)
    watcher.join()
    out = r.stdout
    if r.returncode or 'transactions:' not in out:
        return dict(error=(out + r.stderr)[-400:])
    after = server.counters()
    trx = int(re.search(r'transactions: *(\d+)', out).group(1))
    queries = int(re.search(r'queries: *(\d+)', out).group(1))
    return dict(
        tps=float(re.search(r'transactions:.*\(([\d.]+) per sec', out).group(1)),
        qps=float(re.search(r'queries:.*\(([\d.]+) per sec', out).group(1)),
        p99=float(re.search(r'99th percentile: *([\d.]+)', out).group(1)),
        errors=int(re.search(r'ignored errors: *(\d+)', out).group(1)),
        syncs=(after[0] - before[0] + after[3] - before[3]) / max(trx, 1),
        bytes=(after[2] - before[2]) / max(trx, 1),
        log=(server.status('Innodb_os_log_written') - log_before) / max(trx, 1),
        switches=(switches['to'] - switches['from']) / max(queries * max(seconds - 2, 0.5) / seconds, 1),
        young=server.status('Innodb_buffer_pool_pages_made_young') - young)


def prepare(server, args):
    server.sql('create database if not exists sbtest')
    test = 'oltp_write_only' if args.test.startswith(('oltp', 'select')) else args.test
    r = subprocess.run(['sysbench', test, '--db-driver=mysql', '--mysql-host=127.0.0.1', '--mysql-port=%d' % server.port,
                        '--mysql-user=root', '--mysql-db=sbtest', '--tables=%d' % args.tables,
                        '--table-size=%d' % args.rows, '--threads=2', 'prepare'], capture_output=True, text=True)
    if r.returncode:
        sys.exit('prepare failed on %s:\n%s' % (server.kind, r.stdout + r.stderr))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--test', default='oltp_write_only')
    p.add_argument('--threads', default='1,8,32,64')
    p.add_argument('--tables', type=int, default=4)
    p.add_argument('--rows', type=int, default=100000)
    p.add_argument('--seconds', type=int, default=10)
    p.add_argument('--warmup', type=int, default=3)
    p.add_argument('--repeat', type=int, default=3)
    p.add_argument('--disk', default='plain')
    p.add_argument('--binlog', default='both')
    p.add_argument('--flush', default='1')
    p.add_argument('--pool', default='2G')
    p.add_argument('--extra', default='')
    p.add_argument('--first', default='', help='a sysbench test run for the warm-up time before each point, e.g. oltp_read_write')
    p.add_argument('--only', default='', help='morse or mariadb: measure one server only')
    p.add_argument('--json')
    args = p.parse_args()
    model = None
    if args.disk != 'plain':
        parts = [float(x) for x in args.disk.split(',')]
        model = {k: v for k, v in zip(('sync_ms', 'mbps', 'iops'), parts) if v}
    common = ['--innodb-buffer-pool-size=' + args.pool, '--innodb-log-file-size=2G',
              '--innodb-flush-log-at-trx-commit=' + args.flush]
    on = ['--log-bin']
    peer_on = ['--log-bin', '--sync-binlog=' + ('1' if args.flush == '1' else '0')]
    options = {'morse': common + (on if args.binlog != 'off' else ['--skip-log-bin']),
               'mariadb': common + (peer_on if args.binlog == 'both' else [])}
    kinds = [args.only] if args.only else ['morse', 'mariadb']
    results = {}
    servers = {}
    for kind in kinds:
        servers[kind] = Server(kind, options[kind], model)
        prepare(servers[kind], args)
    for threads in [int(x) for x in args.threads.split(',')]:
        runs = {k: [] for k in kinds}
        for _ in range(args.repeat):
            for kind in kinds:
                with servers[kind].alone():
                    if args.warmup:
                        sysbench(servers[kind], args.first or args.test, threads, args, args.warmup)
                    runs[kind].append(sysbench(servers[kind], args.test, threads, args, args.seconds))
        for kind in kinds:
            bad = [r for r in runs[kind] if 'error' in r]
            results[threads, kind] = bad[0] if bad else {k: statistics.median(r[k] for r in runs[kind]) for k in runs[kind][0]}
            print(kind, threads, json.dumps(results[threads, kind]), file=sys.stderr, flush=True)
    for s in servers.values():
        s.stop()
    print('| %s, %s, disk %s | morsed TPS | MariaDB TPS | ratio | morsed q/s | p99 ms | MariaDB p99 | syncs/trx | MariaDB | log B/trx | device B/trx | MariaDB | ctx sw/query | MariaDB | errors |'
          % (args.test, 'binlog ' + args.binlog, args.disk))
    print('|' + '---|' * 16)
    for threads in [int(x) for x in args.threads.split(',')]:
        a, b = (results.get((threads, k), {}) for k in ('morse', 'mariadb'))
        g = lambda r, k, f='%.1f': f % r[k] if k in r else '-'
        ratio = '%.2f' % (a['tps'] / b['tps']) if 'tps' in a and 'tps' in b else '-'
        print('| %d | %s | %s | **%s** | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |' % (
            threads, g(a, 'tps'), g(b, 'tps'), ratio, g(a, 'qps', '%.0f'), g(a, 'p99', '%.2f'), g(b, 'p99', '%.2f'), g(a, 'syncs', '%.4f'),
            g(b, 'syncs', '%.4f'), g(a, 'log', '%.0f'), g(a, 'bytes', '%.0f'), g(b, 'bytes', '%.0f'),
            g(a, 'switches', '%.2f'), g(b, 'switches', '%.2f'), g(a, 'errors', '%.0f')))
    if args.json:
        with open(args.json, 'a') as f:
            f.write(json.dumps(dict(args=vars(args), results={'%d %s' % k: v for k, v in results.items()})) + '\n')


main()
