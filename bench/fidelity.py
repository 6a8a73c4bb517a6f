"""Checks of the binary log with real servers; they need no quiet machine. Each prints a line of Markdown a run and ends with an error when
something is not as it must be; the data directories stay then."""
import os, random, subprocess, sys, threading, time
import mixed
from client import Client, Gone, Refused
from followers import Replica, attempt, checksums, not_ahead, same_tables
from servers import MORSED, Server

MORSE_BINLOG = os.path.join(os.path.dirname(MORSED), 'morse-binlog')
PRIMARY = ['--server-id=1', '--log-bin', '--max-binlog-size=32M', '--innodb-buffer-pool-size=512M', '--innodb-log-file-size=512M']
SYSBENCH = ['sysbench', 'oltp_write_only', '--db-driver=mysql', '--mysql-host=127.0.0.1', '--mysql-user=root', '--mysql-db=sbtest', '--tables=4',
            '--table-size=10000', '--mysql-ignore-errors=1213,1205,1020,1062']


def primary(options, kind='morse'):
    own = [] if kind == 'morse' else ['--sync-binlog=1']
    return Server(kind, [o for o in PRIMARY if kind == 'morse' or 'server-id' not in o] + own + list(options))


def load(port, threads, seconds):
    return subprocess.Popen(SYSBENCH + ['--mysql-port=%d' % port, '--threads=%d' % threads, '--time=%d' % seconds, 'run'],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def fill(server):
    server.sql('create database sbtest')
    subprocess.run(SYSBENCH + ['--mysql-port=%d' % server.port, '--threads=2', 'prepare'], check=True, stdout=subprocess.DEVNULL)


def replicas(args):
    """Real replicas follow through writes, definitions and kills; equal tables at the end, no error, never ahead."""
    print('| flush_log | replica | kills | seconds | transactions | catching up s | tables equal | errors |\n|---|---|---|---|---|---|---|---|')
    for flush in args.flush.split(','):
        server = primary(['--innodb-flush-log-at-trx-commit=' + flush] + args.option)
        followers = [Replica('mariadb-10.11'), Replica('mariadb-11.8'), Replica(
            'mariadb-11.8', ['--slave-parallel-threads=8', '--slave-parallel-mode=optimistic'], 'mariadb-11.8, 8 optimistic')]
        for f in followers:
            f.follow(server.port)
        fill(server)
        r, begin, failed = random.Random(args.seed), time.time(), []
        for n in range(args.kills + 1):
            stop = threading.Event()

            def define():
                try:
                    mixed.definitions(server.port, stop, args.seed * 1000 + n)
                except BaseException as e:
                    failed.append(e)

            writers, definer = load(server.port, 16, 3600), threading.Thread(target=define)
            definer.start()
            time.sleep(r.uniform(0.3, 1.7) * args.seconds / (args.kills + 1))
            last = n == args.kills
            if last:
                stop.set()
                definer.join()
                writers.terminate()
            else:
                server.kill()
            definer.join()
            writers.wait()
            if not last:
                server.start()
            if failed:
                raise failed[0]
            position = server.sql('select @@global.gtid_binlog_pos')[1].strip()
            for f in followers:
                if not last:
                    not_ahead(position, f)
                f.check()
        seconds, client = time.time() - begin, Client(server.port)
        time.sleep(0.5)
        position, sums = client.value('SELECT @@GLOBAL.gtid_binlog_pos'), checksums(client, ['sbtest', 'ddl'])
        for f in followers:
            wait = time.time()
            f.catch_up(position)
            equal = same_tables(sums, checksums(f.connection, ['sbtest', 'ddl']), f.name)
            print('| %s | %s | %d | %.0f | %s | %.0f | %d | 0 |' % (flush, f.name, args.kills, seconds, position.split('-')[-1], time.time() - wait, equal), flush=True)
            f.stop()
        server.stop()


def semisync_on(server, replica, point):
    for sql in ('rpl_semi_sync_master_timeout = 600000', 'rpl_semi_sync_master_wait_point = ' + point, 'rpl_semi_sync_master_enabled = ON'):
        server.sql('set global ' + sql)
    replica.sql('SET GLOBAL rpl_semi_sync_slave_enabled = ON')
    replica.follow(server.port)
    while server.status('Rpl_semi_sync_master_clients') != 1:
        time.sleep(0.02)


def semisync_kill(args):
    """Kills during AFTER_SYNC: what a client was told, and what a reader saw, the replica has."""
    server = primary(['--innodb-flush-log-at-trx-commit=1'] + args.option)
    replica = Replica('mariadb-11.8')
    server.sql('create database s; create table s.t (id bigint primary key, v varchar(100))')
    semisync_on(server, replica, 'AFTER_SYNC')
    r, total = random.Random(args.seed), 0
    for n in range(args.rounds):
        # What recovery brought back unacknowledged is visible again; the round begins when the replica has that too.
        replica.catch_up(server.sql('select @@global.gtid_binlog_pos')[1].strip())
        told, seen, stop = [[] for _ in range(8)], [0], threading.Event()

        def write(w):
            try:
                c = Client(server.port)
                for i in range(n * 1000000 + w, (n + 1) * 1000000, 8):
                    c.query("INSERT INTO s.t VALUES (%d, 'of writer %d')" % (i, w))
                    told[w].append(i)
            except (Gone, Refused):
                pass

        def read():
            try:
                c = Client(server.port)
                while True:
                    seen[0] = max(seen[0], int(c.value('SELECT COUNT(*) FROM s.t')))
                    time.sleep(0.001)
            except (Gone, Refused):
                pass

        threads = [threading.Thread(target=write, args=(w,)) for w in range(8)] + [threading.Thread(target=read)]
        for t in threads:
            t.start()
        time.sleep(r.uniform(0.2, 1.2))
        server.kill()
        for t in threads:
            t.join()
        replica.apply_received()
        there = {int(row[0]) for row in replica.sql('SELECT id FROM s.t WHERE id >= %d' % (n * 1000000))}
        missing = [i for w in told for i in w if i not in there]
        assert not missing, 'round %d: told but not on the replica: %s' % (n, missing[:10])
        count = int(replica.connection.value('SELECT COUNT(*) FROM s.t'))
        assert seen[0] <= count, 'round %d: a reader saw %d rows, the replica has %d' % (n, seen[0], count)
        total += sum(map(len, told))
        server.start()
        not_ahead(server.sql('select @@global.gtid_binlog_pos')[1].strip(), replica)
        replica.check()
        for sql in ('rpl_semi_sync_master_timeout = 600000', 'rpl_semi_sync_master_wait_point = AFTER_SYNC', 'rpl_semi_sync_master_enabled = ON'):
            server.sql('set global ' + sql)
    client = Client(server.port)
    replica.catch_up(client.value('SELECT @@GLOBAL.gtid_binlog_pos'))
    same_tables(checksums(client, ['s']), checksums(replica.connection, ['s']), replica.name)
    print('%d kills during AFTER_SYNC, %d commits acknowledged to clients, none missing on the replica' % (args.rounds, total))
    replica.stop()
    server.stop()


def output(command, path):
    with open(path, 'wb') as f:
        r = subprocess.run(command, stdout=f, stderr=subprocess.PIPE)
    if r.returncode:
        raise AssertionError('%s: %s' % (' '.join(command[:3]), r.stderr.decode()[-2000:]))


def statements(command):
    """What a server would run of a tool's output: comments depend on the tool's version."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    for line in process.stdout:
        if not line.startswith(b'#'):
            yield line
    assert process.wait() == 0, ' '.join(command[:2])


def pitr(args):
    """morse-binlog's text makes the same rows in an empty server; classic files are read by mariadb-binlog."""
    server = primary(['--innodb-flush-log-at-trx-commit=2', '--max-binlog-size=16M'] + args.option)
    done = mixed.run(server.port, args.seconds, seed=args.seed, rate=args.rate)
    databases = ['mix', 'mix_tmp']
    sums = checksums(Client(server.port), databases)
    server.kill()  # The log of a server that crashed is read as it is.
    logs, text = os.path.join(server.dir, 'data', 'log'), os.path.join(server.dir, 'text.sql')
    begin = time.time()
    output([MORSE_BINLOG, logs], text)
    print('%d transactions; the log as text: %d MiB in %.1f s' % (done, os.path.getsize(text) >> 20, time.time() - begin), flush=True)
    for kind in ('mariadb', 'morse'):
        copy = Server(kind, ['--max-allowed-packet=1G', '--innodb-flush-log-at-trx-commit=2', '--innodb-buffer-pool-size=512M'])
        begin = time.time()
        r = subprocess.run(['mariadb', '--no-defaults', '-h127.0.0.1', '-P%d' % copy.port, '-uroot', '--binary-mode', '--max-allowed-packet=1G'], stdin=open(text, 'rb'),
                           capture_output=True)
        assert r.returncode == 0, '%s (%s): %s' % (kind, copy.dir, r.stderr.decode()[-1000:])
        equal = same_tables(sums, checksums(Client(copy.port), databases), kind)
        print('applied to an empty %s in %.0f s: %d tables equal' % (kind, time.time() - begin, equal), flush=True)
        copy.stop()
    os.remove(text)
    output([MORSE_BINLOG, '--convert', '--result-file=' + os.path.join(server.dir, 'classic'), logs], os.devnull)
    files = sorted(os.path.join(server.dir, f) for f in os.listdir(server.dir) if f.startswith('classic'))
    count, theirs = 0, statements(['mariadb-binlog', '--no-defaults'] + files)
    for count, line in enumerate(statements([MORSE_BINLOG] + files), 1):
        other = next(theirs, None)
        assert line == other, 'line %d: %r, mariadb-binlog: %r (%s)' % (count, line[:200], other and other[:200], server.dir)
    assert next(theirs, None) is None, 'mariadb-binlog says more'
    print('%d classic files: %d lines of statements equal in mariadb-binlog' % (len(files), count), flush=True)
    server.stop()
