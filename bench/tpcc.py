#!/usr/bin/env python3
"""A TPC-C-like mix by stored procedures on morsed and on a real MariaDB: transactions a second side by side, then the consistency conditions.

  tpcc.py [--warehouses 4] [--threads 16] [--seconds 60] [--warmup 10] [--repeat 1] [--customers 3000] [--items 100000] [--only morse|mariadb]
          [--data DIR]

Five procedures (tpcc_procedures.sql): new order, payment, order status, delivery, stock level, mixed 45:43:4:4:4 by sysbench
(tpcc.lua), without think times. Both servers load the same generated files. After the run the consistency conditions of the
specification are asked of each server; every one must find no row. Not the TPC's benchmark: nothing is audited. Environment: see
servers.py. Prints Markdown.
"""
import argparse, os, random, re, shutil, statistics, subprocess, sys, tempfile
from servers import Server

HERE = os.path.dirname(os.path.abspath(__file__))
SYLLABLES = ['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING']
DISTRICTS = 10
NOW = '2026-01-01 12:00:00'

CONDITIONS = {
 'w_ytd = sum(d_ytd)': "select w_id from warehouse join district on d_w_id = w_id group by w_id, w_ytd having w_ytd <> sum(d_ytd)",
 'd_next_o_id - 1 = max(o_id)': "select d_w_id, d_id from district join orders on o_w_id = d_w_id and o_d_id = d_id group by d_w_id, d_id, d_next_o_id having max(o_id) <> d_next_o_id - 1",
 'new orders without gaps': "select no_w_id, no_d_id from new_orders group by no_w_id, no_d_id having max(no_o_id) - min(no_o_id) + 1 <> count(*)",
 'sum(o_ol_cnt) = order lines of the district': "select o.w, o.d from (select o_w_id w, o_d_id d, sum(o_ol_cnt) n from orders group by 1, 2) o join (select ol_w_id w, ol_d_id d, count(*) n from order_line group by 1, 2) l on l.w = o.w and l.d = o.d where o.n <> l.n",
 'no carrier = a new order': "select o_w_id, o_d_id, o_id from orders left join new_orders on no_w_id = o_w_id and no_d_id = o_d_id and no_o_id = o_id where (o_carrier_id is null) <> (no_o_id is not null)",
 'o_ol_cnt = lines of the order': "select o_w_id, o_d_id, o_id from orders left join (select ol_w_id, ol_d_id, ol_o_id, count(*) n from order_line group by 1, 2, 3) l on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id where o_ol_cnt <> coalesce(n, 0)",
 'delivered lines = delivered orders': "select ol_w_id, ol_d_id, ol_o_id from order_line join orders on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id where (ol_delivery_d is null) <> (o_carrier_id is null)",
 'w_ytd = sum(h_amount)': "select w_id from warehouse join history on h_w_id = w_id group by w_id, w_ytd having w_ytd <> sum(h_amount)",
 'd_ytd = sum(h_amount)': "select d_w_id, d_id from district join history on h_w_id = d_w_id and h_d_id = d_id group by d_w_id, d_id, d_ytd having d_ytd <> sum(h_amount)",
 'c_balance = delivered - paid': "select c_w_id, c_d_id, c_id from customer left join (select o_w_id w, o_d_id d, o_c_id c, sum(ol_amount) a from orders join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id where ol_delivery_d is not null group by 1, 2, 3) o on w = c_w_id and d = c_d_id and c = c_id left join (select h_c_w_id hw, h_c_d_id hd, h_c_id hc, sum(h_amount) p from history group by 1, 2, 3) h on hw = c_w_id and hd = c_d_id and hc = c_id where c_balance <> coalesce(a, 0) - coalesce(p, 0)",
 'c_balance + c_ytd_payment = delivered': "select c_w_id, c_d_id, c_id from customer left join (select o_w_id w, o_d_id d, o_c_id c, sum(ol_amount) a from orders join order_line on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id where ol_delivery_d is not null group by 1, 2, 3) o on w = c_w_id and d = c_d_id and c = c_id where c_balance + c_ytd_payment <> coalesce(a, 0)",
}


def last_name(number):
    return SYLLABLES[number // 100 % 10] + SYLLABLES[number // 10 % 10] + SYLLABLES[number % 10]


def text(r, low, high):
    n = r.randint(low, high)
    return ''.join(r.choices('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789', k=n))


def generate(args, directory):
    """One file a table, tab separated."""
    r = random.Random(args.seed)
    pool = [text(r, 24, 24) for _ in range(1000)]
    files = {}

    def put(table, *values):
        if table not in files:
            files[table] = open(os.path.join(directory, table), 'w')
        files[table].write('\t'.join(map(str, values)) + '\n')

    for i in range(1, args.items + 1):
        put('item', i, r.randint(1, 10000), text(r, 14, 24), '%.2f' % (r.randint(100, 10000) / 100), text(r, 26, 50))
    paid = 10 * args.customers
    for w in range(1, args.warehouses + 1):
        put('warehouse', w, text(r, 6, 10), text(r, 10, 20), text(r, 10, 20), 'XX', '123411111', '%.4f' % (r.randint(0, 2000) / 1e4), paid * DISTRICTS)
        for i in range(1, args.items + 1):
            put('stock', w, i, r.randint(10, 100), *[pool[(i * 7 + k) % 1000] for k in range(10)], 0, 0, 0, pool[i % 1000])
        for d in range(1, DISTRICTS + 1):
            put('district', w, d, text(r, 6, 10), text(r, 10, 20), text(r, 10, 20), 'XX', '123411111', '%.4f' % (r.randint(0, 2000) / 1e4), paid,
                args.customers + 1)
            district(args, r, put, pool, w, d)
    for f in files.values():
        f.close()
    return sorted(files)


def district(args, r, put, pool, w, d):
    for c in range(1, args.customers + 1):
        name = last_name(c - 1 if c <= 1000 else min(r.randint(0, 255) | r.randint(0, 999), 999))
        put('customer', w, d, c, text(r, 8, 16), 'OE', name, text(r, 10, 20), text(r, 10, 20), 'XX', '123411111', '0123456789012345', NOW,
            'BC' if r.random() < 0.1 else 'GC', 50000, '%.4f' % (r.randint(0, 5000) / 1e4), -10, 10, 1, 0, (pool[c % 1000] + ' ') * r.randint(12, 19))
        put('history', 0, c, d, w, d, w, NOW, 10, pool[c % 1000])
    customers = list(range(1, args.customers + 1))
    r.shuffle(customers)
    undelivered = args.customers * 7 // 10
    for o, c in enumerate(customers, 1):
        lines, new = r.randint(5, 15), o > undelivered
        put('orders', w, d, o, c, NOW, '\\N' if new else r.randint(1, 10), lines, 1)
        if new:
            put('new_orders', w, d, o)
        for n in range(1, lines + 1):
            amount = '%.2f' % (r.randint(1, 999999) / 100) if new else 0
            put('order_line', w, d, o, n, r.randint(1, args.items), w, '\\N' if new else NOW, 5, amount, pool[(o * 11 + n) % 1000])


def client(server, *more, **kw):
    r = subprocess.run(['mariadb', '--no-defaults', '--local-infile=1', '-h127.0.0.1', '-P%d' % server.port, '-uroot', '-N', '-B'] + list(more),
                       capture_output=True, text=True, **kw)
    if r.returncode:
        sys.exit('%s: %s' % (server.kind, r.stderr))
    return r.stdout


def load(server, tables, directory):
    server.sql('create database tpcc')
    for name in ('tpcc_schema.sql', 'tpcc_procedures.sql'):
        client(server, 'tpcc', stdin=open(os.path.join(HERE, name)))
    for table in tables:
        client(server, 'tpcc', '-e', "load data local infile '%s' into table %s" % (os.path.join(directory, table), table))
    client(server, 'tpcc', '-e', 'analyze table ' + ', '.join(tables))


def drive(server, args, seconds):
    out = subprocess.run(['sysbench', os.path.join(HERE, 'tpcc.lua'), '--db-driver=mysql', '--mysql-host=127.0.0.1', '--mysql-port=%d' % server.port,
                          '--mysql-user=root', '--mysql-db=tpcc', '--threads=%d' % args.threads, '--time=%d' % seconds, '--percentile=95',
                          '--mysql-ignore-errors=1213,1205,1020', '--warehouses=%d' % args.warehouses, '--customers=%d' % args.customers,
                          '--items=%d' % args.items, 'run'], capture_output=True, text=True)
    if 'FATAL' in out.stdout or out.returncode:
        sys.exit('%s: %s %s' % (server.kind, out.stdout, out.stderr))
    number = lambda pattern: float(re.search(pattern, out.stdout).group(1))
    return (number(r'transactions: +\d+ +\(([\d.]+) per sec'), number(r'95th percentile: +([\d.]+)'), number(r'ignored errors: +(\d+)'))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (('warehouses', 4), ('threads', 16), ('seconds', 60), ('warmup', 10), ('repeat', 1), ('customers', 3000), ('items', 100000), ('seed', 1)):
        p.add_argument('--' + name, type=int, default=default)
    p.add_argument('--only', choices=['morse', 'mariadb'])
    p.add_argument('--data', help='files of an earlier run with the same sizes; made there when it is empty')
    p.add_argument('--keep', action='store_true', help='leave the servers running and say where')
    args = p.parse_args()
    directory = args.data or tempfile.mkdtemp(prefix='bench-tpcc-')
    os.makedirs(directory, exist_ok=True)
    os.chmod(directory, 0o755)
    found, wrong = {}, []
    print('| server | transactions/s | p95 ms | errors to try again | conditions that fail |\n|---|---|---|---|---|')
    try:
        tables = sorted(os.listdir(directory)) or generate(args, directory)
        if args.seconds == 0:
            return
        for kind in [args.only] if args.only else ['mariadb', 'morse']:
            own = [] if kind == 'morse' else ['--sync-binlog=1']
            server = Server(kind, ['--innodb-log-file-size=2G', '--innodb-flush-log-at-trx-commit=1', '--log-bin', '--innodb-buffer-pool-size=2G'] + own)
            load(server, tables, directory)
            if args.warmup:
                drive(server, args, args.warmup)
            runs = [drive(server, args, args.seconds) for _ in range(args.repeat)]
            failed = [name for name, query in CONDITIONS.items() if client(server, 'tpcc', '-e', query + ' limit 5').strip()]
            found[kind] = statistics.median(run[0] for run in runs)
            wrong += failed
            print('| %s | %.0f | %.1f | %d | %s |' % (kind, found[kind], statistics.median(run[1] for run in runs), sum(run[2] for run in runs),
                                                      '; '.join(failed) or 'none of %d' % len(CONDITIONS)), flush=True)
            if args.keep:
                print('%s: port %d, directory %s' % (kind, server.port, server.dir), flush=True)
                input()
            server.stop()
    finally:
        if not args.data:
            shutil.rmtree(directory, ignore_errors=True)
    if len(found) == 2:
        print('\nmorsed / MariaDB: %.2f' % (found['morse'] / found['mariadb']))
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
