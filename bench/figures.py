"""Figures of the binary log and of replication, each beside MariaDB's in the same run. They want a quiet machine."""
import os, re, select, socket, statistics, subprocess, sys, threading, time
from client import Client
from fidelity import semisync_on
from followers import Replica
from servers import DISK, Server

TABLES, ROWS = 4, 100000
KINDS = {'morse': 'one log', 'file': 'own FILE', 'mariadb': 'MariaDB FILE'}


def model(args):
    """The disk of both servers, or None for the plain one."""
    if not args.model or args.model == 'plain':
        return None
    sync, mbps, iops = args.model.split(',')
    return dict(sync_ms=sync, mbps=mbps, iops=iops)


def start(kind, args, options=(), disk=None):
    common = ['--innodb-buffer-pool-size=2G', '--innodb-log-file-size=2G', '--log-bin', '--max-binlog-size=1G']
    if kind == 'mariadb':
        common += ['--binlog-format=ROW', '--sync-binlog=1']
    else:
        common += ['--server-id=1'] + args.option
    if kind == 'file':
        common += ['--binlog-storage-engine=FILE', '--sync-binlog=1']
    return Server('mariadb' if kind == 'mariadb' else 'morse', common + list(options), disk)


def command(server, threads, seconds, tables=TABLES, rows=ROWS, extra=()):
    return ['sysbench', 'oltp_write_only', '--db-driver=mysql', '--mysql-host=127.0.0.1', '--mysql-port=%d' % server.port, '--mysql-user=root',
            '--mysql-db=sbtest', '--tables=%d' % tables, '--table-size=%d' % rows, '--threads=%d' % threads, '--percentile=99',
            '--mysql-ignore-errors=1213,1205,1020,1062', '--time=%d' % seconds] + list(extra)


def prepare(server):
    server.sql('create database if not exists sbtest')
    r = subprocess.run(command(server, 2, 0) + ['prepare'], capture_output=True, text=True)
    if r.returncode:
        sys.exit(r.stdout + r.stderr)


def loaded(kind, args):
    """A server with sysbench's tables that has the disk model from its second start on: to load through it takes minutes."""
    server = start(kind, args)
    prepare(server)
    server.stop(remove=False)
    server.model = model(args)
    server.start()
    settle(server)
    return server


def settle(server, seconds=60):
    """Waits until the server has written what the run before left: less than 1 MB in two seconds."""
    end, before = time.time() + seconds, server.counters()[2]
    while DISK and time.time() < end:
        time.sleep(2)
        now = server.counters()[2]
        if now - before < 1 << 20:
            return
        before = now


def result(out):
    """Rate, p99, maximum latency in ms, transactions, and the rate of each second."""
    number = lambda what: float(re.search(what, out).group(1))
    return dict(tps=number(r'transactions:.*\(([\d.]+) per sec'), p99=number(r'99th percentile: *([\d.]+)'), max=number(r'max: *([\d.]+)'),
                trx=number(r'transactions: *(\d+)'), seconds=[float(x) for x in re.findall(r'tps: ([\d.]+)', out)])


def measure(server, threads, seconds, warmup=1):
    if warmup:
        subprocess.run(command(server, threads, warmup) + ['run'], capture_output=True)
    r = subprocess.run(command(server, threads, seconds, extra=['--report-interval=1']) + ['run'], capture_output=True, text=True)
    if 'transactions:' not in r.stdout:
        raise SystemExit(r.stdout[-500:] + r.stderr)
    return result(r.stdout)


def kinds(args):
    return [k for k in args.only.split(',') if k in KINDS]


def profiles(args):
    """T1: D1, D2, D3 at each number of threads."""
    found = {}
    for kind in kinds(args):
        server = loaded(kind, args)
        for name, flush, sync in (('D1', 1, 1), ('D2', 2, 0), ('D3', 0, 0)):
            server.sql('set global innodb_flush_log_at_trx_commit = %d; set global sync_binlog = %d' % (flush, sync))
            for threads in map(int, args.threads.split(',')):
                found[name, threads, kind] = measure(server, threads, args.seconds)
        server.stop()
    print('| profile, disk %s | threads | %s |' % (args.model, ' | '.join('%s TPS | p99 ms' % KINDS[k] for k in kinds(args))))
    print('|---|---|' + '---|---|' * len(kinds(args)))
    for name, threads in dict.fromkeys(k[:2] for k in found):
        print('| %s | %d | %s |' % (name, threads, ' | '.join('%(tps).0f | %(p99).1f' % found[name, threads, k] for k in kinds(args))))


def nine(args):
    """T5: sync_binlog and flush_log under a bandwidth cap, 16 threads."""
    print('| binlog, disk %s | sync_binlog | flush_log | TPS | p99 ms | device MB/s | device bytes/trx |\n|---|---|---|---|---|---|---|' % args.model)
    for kind in kinds(args):
        server = loaded(kind, args)
        for sync in (['-'] if kind == 'morse' else [0, 1]):
            for flush in (0, 1, 2):
                server.sql('set global innodb_flush_log_at_trx_commit = %d' % flush + ('' if sync == '-' else '; set global sync_binlog = %d' % sync))
                subprocess.run(command(server, 16, 2) + ['run'], capture_output=True)
                before, begin = server.counters(), time.time()
                m = measure(server, 16, args.seconds, warmup=0)
                written = server.counters()[2] - before[2]
                print('| %s | %s | %d | %.0f | %.1f | %.1f | %.0f |' % (KINDS[kind], sync, flush, m['tps'], m['p99'], written / (time.time() - begin) / 1e6, written / m['trx']), flush=True)
        server.stop()


def images(args):
    """Log bytes a transaction by binlog_row_image, and T3's UPDATE of 100,000 rows of 1 KB."""
    print('| binlog | log bytes/trx | to binlog off | UPDATE of 100,000 rows s | COMMIT ms | log bytes/changed byte |\n|---|---|---|---|---|---|')
    off = None
    for image in ('off', 'FULL', 'MINIMAL', 'NOBLOB', 'FULL_NODUP'):
        server = start('morse', args)
        if image == 'off':
            server.stop(remove=False)
            server.options = ['--skip-log-bin' if o == '--log-bin' else o for o in server.options]
            server.start()
        else:
            server.sql('set global binlog_row_image = ' + image)
        prepare(server)
        before = server.status('Innodb_os_log_written')
        m = measure(server, 4, args.seconds, warmup=0)
        each = (server.status('Innodb_os_log_written') - before) / m['trx']
        off = off or each
        c = Client(server.port, 'sbtest')
        c.query('create table big (id int primary key, v varchar(1100) not null)')
        c.query("insert into big select id, repeat('a', 1000) from sbtest1 where id <= 100000")
        before = server.status('Innodb_os_log_written')
        times = [time.time()]
        for sql in ('begin', "update big set v = repeat('b', 1000)", 'commit'):
            c.query(sql)
            times.append(time.time())
        log = (server.status('Innodb_os_log_written') - before) / 1e8
        print('| %s | %.0f | %.2f | %.2f | %.1f | %.2f |' % (image, each, each / off, times[2] - times[1], (times[3] - times[2]) * 1e3, log), flush=True)
        server.stop()


ROW = 4000  # Bytes of a row of the large transactions.


def large(args):
    """T7: large transactions every few seconds beside 8 writers."""
    print('| binlog | MB each | of them | COMMIT ms, worst | TPS, median second | TPS, worst second | max ms of others | max without | ratio |\n|---|---|---|---|---|---|---|---|---|')
    variants = [('morse', ()), ('file', ()), ('file', ('--binlog-large-commit-threshold=100G',)), ('mariadb', ()), ('mariadb', ('--binlog-large-commit-threshold=100G',))]
    for kind, extra in variants:
        if kind not in kinds(args):
            continue
        server = start(kind, args, ['--max-binlog-cache-size=8G'] * (kind != 'morse') + list(extra), model(args))
        prepare(server)
        server.sql('create table sbtest.big (id int primary key, v varchar(4100) not null)')
        alone = None
        for size in [0] + [int(s) for s in args.sizes.split(',')]:
            # An UPDATE brings the row twice, before and after.
            rows, commits, stop = size * 1000000 // (2 * ROW), [], threading.Event()
            have = int(server.sql('select count(*) from sbtest.big')[1])
            while have < rows:
                step = min(rows - have, ROWS)
                server.sql("insert into sbtest.big select id + %d, repeat('a', %d) from sbtest.sbtest1 order by id limit %d" % (2 * have + ROWS, ROW, step))
                have = int(server.sql('select count(*) from sbtest.big')[1])
                purge(server)

            def update():
                c, turn = Client(server.port, 'sbtest'), 0
                while rows and not stop.is_set():
                    turn += 1
                    c.query('begin')
                    c.query("update big set v = repeat('%s', %d) order by id limit %d" % ('bc'[turn % 2], ROW, rows))
                    begin = time.time()
                    c.query('commit')
                    commits.append((time.time() - begin) * 1e3)
                    purge(server)
                    stop.wait(2)

            os.sync()  # The run does not wait for what its preparation wrote.
            background = threading.Thread(target=update)
            load = subprocess.Popen(command(server, 8, args.seconds, extra=['--report-interval=1']) + ['run'], stdout=subprocess.PIPE, text=True)
            time.sleep(2)
            background.start()
            m = result(load.communicate()[0])
            stop.set()
            background.join()
            alone = alone or m['max']
            print('| %s%s | %d | %d | %.1f | %.0f | %.0f | %.0f | %.0f | %.2f |' % (
                KINDS[kind], ', no rename' * bool(extra), size, len(commits), max(commits, default=0), statistics.median(m['seconds']), min(m['seconds'][1:]), m['max'],
                alone, m['max'] / alone), flush=True)
        server.stop()


def purge(server):
    """Files that nobody reads go: large transactions fill disks."""
    c = Client(server.port)
    files = [row[0] for row in c.query('SHOW BINARY LOGS')]
    c.query("PURGE BINARY LOGS TO '%s'" % files[-1])
    c.close()


class Readers(threading.Thread):
    """Connections that take the stream and throw it away in the kernel, so that the readers' own cost stays small."""

    def __init__(self, server, count, position):
        super().__init__()
        self.clients, self.bytes, self.ended = [Client(server.port) for _ in range(count)], 0, False
        for i, c in enumerate(self.clients):
            c.dump(position, 1000 + i)

    def run(self):
        poll, buffer = select.epoll(), bytearray(1 << 20)
        sockets = {c.socket.fileno(): c.socket for c in self.clients}
        for fd, s in sockets.items():
            s.setblocking(False)
            poll.register(fd, select.EPOLLIN)
        while not self.ended:
            before = self.bytes
            for fd, _ in poll.poll(0.2):
                try:
                    self.bytes += sockets[fd].recv_into(buffer, 0, socket.MSG_TRUNC)
                except BlockingIOError:
                    pass
            if self.bytes - before < len(buffer) / 2:  # At the end of the stream few wake-ups will do; behind it nothing may hold the server up.
                time.sleep(0.005)

    def end(self):
        self.ended = True
        self.join()
        for c in self.clients:
            c.close()


def readers(args):
    """16 writers with readers at the log's end, then one that is a GiB behind."""
    print('| server | readers | TPS | to none | p99 ms | MB/s sent |\n|---|---|---|---|---|---|')
    for kind in kinds(args):
        server, alone = start(kind, args, disk=model(args)), None
        prepare(server)
        for count in map(int, args.readers.split(',')):
            all_ = Readers(server, count, server.sql('select @@global.gtid_binlog_pos')[1].strip())
            all_.start()
            before, begin = all_.bytes, time.time()
            m = measure(server, 16, args.seconds)
            rate = (all_.bytes - before) / (time.time() - begin) / 1e6
            all_.end()
            alone = alone or m['tps']
            print('| %s | %d | %.0f | %.2f | %.1f | %.1f |' % (KINDS[kind], count, m['tps'], m['tps'] / alone, m['p99'], rate), flush=True)
        lagging(server, kind, args)
        server.stop()


def lagging(server, kind, args):
    """A reader that is a GiB behind: how fast it gets the stream, idle and beside writers, and what they lose."""
    position = server.sql('select @@global.gtid_binlog_pos')[1].strip()
    server.sql('create table sbtest.big (id int primary key, v varchar(1100) not null)')
    server.sql("insert into sbtest.big select id, repeat('a', 1000) from sbtest.sbtest1")
    for turn in range(5):
        server.sql("update sbtest.big set v = repeat('%s', 1000)" % 'bc'[turn % 2])
    for beside in (False, True):
        alone = measure(server, 16, args.seconds)['tps'] if beside else None
        reader = Readers(server, 1, position)
        begin = time.time()
        load = subprocess.Popen(command(server, 16, args.seconds, extra=['--report-interval=1']) + ['run'], stdout=subprocess.PIPE, text=True) if beside else None
        reader.start()
        while reader.bytes < 1 << 30 and time.time() < begin + 120:
            time.sleep(0.01)
        rate = reader.bytes / (time.time() - begin) / 1e6
        m = result(load.communicate()[0]) if beside else None
        reader.end()
        print('%s, a reader 1 GiB behind: %.0f MB/s%s' % (KINDS[kind], rate, ' beside 16 writers, %.0f TPS of %.0f without it' % (m['tps'], alone) if beside else ' alone'), flush=True)


def semisync(args):
    """Semi-synchronous commits with a real replica of MariaDB 11.8."""
    points = ('none', 'AFTER_COMMIT', 'AFTER_SYNC')
    print('| primary | threads | %s |\n|---|---|%s' % (' | '.join('%s TPS | p99 ms' % p for p in points), '---|---|' * len(points)))
    for kind in kinds(args):
        server = start(kind, args, disk=model(args))
        prepare(server)
        replica = Replica('mariadb-11.8', ['--innodb-buffer-pool-size=512M', '--slave-parallel-threads=4'])
        position = server.sql('select @@global.gtid_binlog_pos')[1].strip()
        copy(server, replica)
        replica.sql("SET GLOBAL gtid_slave_pos = '%s'" % position)
        semisync_on(server, replica, 'AFTER_COMMIT')
        found = {}
        for point in points:
            server.sql('set global rpl_semi_sync_master_enabled = %s' % ('OFF' if point == 'none' else 'ON'))
            if point != 'none':
                server.sql('set global rpl_semi_sync_master_wait_point = ' + point)
            for threads in map(int, args.threads.split(',')):
                found[threads, point] = measure(server, threads, args.seconds)
        for threads in map(int, args.threads.split(',')):
            print('| %s | %d | %s |' % (KINDS[kind], threads, ' | '.join('%(tps).0f | %(p99).1f' % found[threads, p] for p in points)), flush=True)
        replica.check()
        replica.stop()
        server.stop()


def copy(server, replica):
    """The tables of sysbench, by a dump."""
    dump = subprocess.Popen(['mariadb-dump', '--no-defaults', '-h127.0.0.1', '-P%d' % server.port, '-uroot', '--databases', 'sbtest', '--single-transaction'],
                            stdout=subprocess.PIPE)
    subprocess.run(['mariadb', '--no-defaults', '-h127.0.0.1', '-P%d' % replica.server.port, '-uroot'], stdin=dump.stdout, check=True)
    dump.wait()
