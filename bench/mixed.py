"""Workloads of many kinds for the checks of the binary log: DDL beside sysbench, and everything mixed."""
import random, threading, time
from client import Client, Gone
from followers import attempt

# Deadlock, lock wait timeout, no such table, table exists, duplicate key, column exists, cannot drop, unknown column, duplicate key name,
# definition changed: what sessions that change the same tables do to each other.
CROSSING = {1205, 1213, 1146, 1050, 1062, 1060, 1091, 1054, 1061, 1412, 1020, 1136}


def definitions(port, stop, seed):
    """Creates, fills, alters, truncates, renames and drops tables of the database `ddl` until told to stop or the server goes."""
    r = random.Random(seed)
    try:
        c = Client(port)
        attempt(c, 'CREATE DATABASE IF NOT EXISTS ddl')
        attempt(c, 'SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 5')
        while not stop.is_set():
            t = 'ddl.t%d' % r.randrange(6)
            other = 'ddl.t%d' % r.randrange(6)
            n = r.randrange(1000)
            for sql in r.choice([
                ['CREATE TABLE IF NOT EXISTS %s (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(100))' % t],
                ['CREATE TABLE IF NOT EXISTS %s (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(100))' % t,
                 "INSERT INTO %s (a, b) VALUES (%d, 'x'), (%d, REPEAT('y', 50)), (%d, NULL)" % (t, n, n + 1, n + 2)],
                ['ALTER TABLE %s ADD COLUMN c%d INT DEFAULT %d' % (t, n % 4, n)],
                ['ALTER TABLE %s DROP COLUMN c%d' % (t, n % 4)],
                ['CREATE INDEX a%d ON %s (a)' % (n % 3, t)],
                ['DROP INDEX a%d ON %s' % (n % 3, t)],
                ['TRUNCATE TABLE %s' % t],
                ['DROP TABLE IF EXISTS %s' % t],
                ['RENAME TABLE %s TO %s' % (t, other)],
                ['DROP TABLE IF EXISTS ddl.copy', 'CREATE TABLE ddl.copy AS SELECT * FROM %s' % t],
                ['CREATE TABLE IF NOT EXISTS ddl.like_it LIKE %s' % t, 'DROP TABLE ddl.like_it'],
                ['UPDATE %s SET a = a + 1, b = CONCAT(id, a) WHERE id %% 2 = 0' % t],
                ['DELETE FROM %s WHERE id %% 3 = 0' % t],
                ['FLUSH BINARY LOGS'] if n < 300 else ['SELECT 1'],
            ]):
                if not attempt(c, sql, CROSSING):
                    break
            time.sleep(0.02)
    except Gone:
        pass


TYPES = ('CREATE TABLE {0} (id INT PRIMARY KEY AUTO_INCREMENT, i TINYINT, u BIGINT UNSIGNED, d DECIMAL(20,6), f DOUBLE, g FLOAT, v VARCHAR(200), '
         'c CHAR(20), vb VARBINARY(300), t TEXT, l LONGBLOB, dt DATE, tm TIME(3), dm DATETIME(6), ts TIMESTAMP(3) NULL, y YEAR, b BIT(13), '
         "e ENUM('x','y','z'), s SET('a','b','c'), m MEDIUMINT, KEY (v), KEY (u, e)) CHARACTER SET utf8mb4")


def text(r, most):
    return ''.join(r.choice("abc xyz'\\\u20ac\u00e9\n\"%") for _ in range(r.randrange(most)))


def quoted(value):
    return "'" + value.replace('\\', '\\\\').replace("'", "\\'").replace('\n', '\\n') + "'"


def row(r):
    """Values of a row of TYPES without its id."""
    return ', '.join([
        str(r.randrange(-128, 128)), str(r.randrange(1 << 64)), '%.6f' % r.uniform(-1e12, 1e12), repr(r.uniform(-1e300, 1e300)), repr(round(r.uniform(-100, 100), 2)),
        quoted(text(r, 150)), quoted(text(r, 15).strip()), "X'%s'" % r.randbytes(r.randrange(200)).hex(), quoted(text(r, 400)),
        r.choice(['NULL', "REPEAT('%s', %d)" % (r.choice('abc'), r.randrange(60000)), "X'%s'" % r.randbytes(r.randrange(3000)).hex()]),
        "'20%02d-%02d-%02d'" % (r.randrange(70), r.randrange(1, 13), r.randrange(1, 29)),
        "'%s%d:%02d:%02d.%03d'" % (r.choice(['', '-']), r.randrange(800), r.randrange(60), r.randrange(60), r.randrange(1000)),
        "'20%02d-%02d-%02d %02d:%02d:%02d.%06d'" % (r.randrange(70), r.randrange(1, 13), r.randrange(1, 29), r.randrange(24), r.randrange(60), r.randrange(60), r.randrange(10**6)),
        r.choice(['NULL', "'20%02d-%02d-%02d 12:%02d:%02d.%03d'" % (r.randrange(30), r.randrange(1, 13), r.randrange(1, 29), r.randrange(60), r.randrange(60), r.randrange(1000))]),
        str(r.randrange(1970, 2100)), str(r.randrange(1 << 13)), r.choice(["'x'", "'y'", "'z'", 'NULL']), r.choice(["''", "'a'", "'b,c'", "'a,b,c'"]),
        str(r.randrange(-1 << 23, 1 << 23))])


COLUMNS = 'i, u, d, f, g, v, c, vb, t, l, dt, tm, dm, ts, y, b, e, s, m'


def change(r, w):
    """One statement that changes rows; `w` is the session."""
    t, k = 'mix.t%d' % r.randrange(3), r.randrange(1, 400)
    return r.choice([
        lambda: 'INSERT INTO %s (%s) VALUES (%s)' % (t, COLUMNS, row(r)),
        lambda: 'INSERT INTO %s (%s) VALUES %s' % (t, COLUMNS, ', '.join('(%s)' % row(r) for _ in range(r.randrange(1, 6)))),
        lambda: 'REPLACE INTO %s (id, %s) VALUES (%d, %s)' % (t, COLUMNS, k, row(r)),
        lambda: 'INSERT INTO %s (id, %s) VALUES (%d, %s) ON DUPLICATE KEY UPDATE i = 5, l = REPEAT(c, 100)' % (t, COLUMNS, k, row(r)),
        lambda: 'UPDATE %s SET v = %s, d = d + 1.5, e = NULL WHERE id = %d' % (t, quoted(text(r, 100)), k),
        lambda: "UPDATE %s SET l = REPEAT('z', %d) WHERE id BETWEEN %d AND %d" % (t, r.randrange(100000), k, k + 2),
        lambda: 'UPDATE %s SET t = CONCAT(v, id), b = id %% 8192 WHERE id BETWEEN %d AND %d' % (t, k, k + 20),
        lambda: 'UPDATE %s SET id = id + 100000 WHERE id = %d' % (t, k),
        lambda: 'DELETE FROM %s WHERE id BETWEEN %d AND %d' % (t, k, k + 3),
        lambda: 'DELETE FROM %s WHERE id > 100000 LIMIT 5' % t,
        lambda: 'UPDATE mix.t0 a JOIN mix.t1 b ON a.id = b.id SET a.i = 1, b.v = a.v WHERE a.id BETWEEN %d AND %d' % (k, k + 5),
        lambda: 'DELETE a, b FROM mix.t1 a JOIN mix.t2 b ON a.id = b.id WHERE a.id = %d' % k,
        lambda: 'INSERT INTO mix.nokey SELECT id, v FROM %s WHERE id BETWEEN %d AND %d' % (t, k, k + 3),
        lambda: "UPDATE mix.nokey SET b = 'changed' WHERE a = %d" % k,
        lambda: 'DELETE FROM mix.nokey WHERE a < %d LIMIT 20' % k,
        lambda: "INSERT INTO mix.stamped (a, b) VALUES (%d, '%d')" % (r.randrange(10**6), w),
        lambda: 'UPDATE mix.stamped SET a = a + 1 WHERE id %% 17 = %d' % r.randrange(17),
        lambda: 'INSERT INTO mix.parent (name) VALUES (%s)' % quoted(text(r, 20)),
        lambda: 'INSERT IGNORE INTO mix.child (parent) SELECT id FROM mix.parent ORDER BY id DESC LIMIT 3',
        lambda: 'DELETE FROM mix.parent WHERE id %% 50 = %d LIMIT 2' % r.randrange(50),
    ])()


def define(r, w, n):
    """Statements that change definitions; tables of one session's own, so that others do not stand in their way for long."""
    t = 'mix.own%d' % w
    return r.choice([
        ['CREATE OR REPLACE TABLE %s (id INT PRIMARY KEY, a VARCHAR(30) DEFAULT \'d\')' % t, 'INSERT INTO %s (id) VALUES (%d), (%d)' % (t, n, n + 1)],
        ['CREATE OR REPLACE TABLE %s AS SELECT id, v, l FROM mix.t%d WHERE id < 50' % (t, r.randrange(3))],
        ['ALTER TABLE %s ADD COLUMN x%d INT DEFAULT %d' % (t, n % 5, n), 'UPDATE %s SET x%d = id' % (t, n % 5)],
        ['ALTER TABLE %s DROP COLUMN x%d' % (t, n % 5)],
        ['ALTER TABLE %s ADD COLUMN x%d VARCHAR(20) NOT NULL DEFAULT \'first\' FIRST' % (t, n % 5)],
        ['TRUNCATE TABLE %s' % t], ['DROP TABLE IF EXISTS %s' % t],
        ['CREATE OR REPLACE VIEW mix.view%d AS SELECT id FROM mix.t0' % w],
        ['ALTER TABLE mix.stamped ADD COLUMN y%d BIGINT DEFAULT 7' % (n % 3)], ['ALTER TABLE mix.stamped DROP COLUMN y%d' % (n % 3)],
        ['CREATE DATABASE IF NOT EXISTS mix_tmp', 'CREATE TABLE IF NOT EXISTS mix_tmp.x%d (a INT)' % w, 'INSERT INTO mix_tmp.x%d VALUES (1)' % w],
        ['FLUSH BINARY LOGS'],
        ['ANALYZE TABLE mix.t0'],
        ['CREATE TEMPORARY TABLE mix.temp (a INT)', 'INSERT INTO mix.temp VALUES (1), (2)', 'INSERT INTO mix.nokey SELECT a, \'temp\' FROM mix.temp',
         'DROP TEMPORARY TABLE mix.temp'],
    ])


def create(c):
    for sql in ['CREATE DATABASE mix CHARACTER SET utf8mb4'] + [TYPES.format('mix.t%d' % i) for i in range(3)] + [
            'CREATE TABLE mix.nokey (a INT, b VARCHAR(200), KEY (a)) CHARACTER SET utf8mb4',
            'CREATE TABLE mix.stamped (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(40), c TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)',
            'CREATE TABLE mix.parent (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(60)) CHARACTER SET utf8mb4',
            'CREATE TABLE mix.child (id INT PRIMARY KEY AUTO_INCREMENT, parent INT, UNIQUE (parent), '
            'FOREIGN KEY (parent) REFERENCES mix.parent (id) ON DELETE CASCADE)']:
        attempt(c, sql)


class Gate:
    """Transactions run beside each other; one that asks for it runs alone."""

    def __init__(self):
        self.changed, self.running, self.waiting, self.taken = threading.Condition(), 0, 0, False

    def __call__(self, alone):
        return self.Pass(self, alone)

    class Pass:
        def __init__(self, gate, alone):
            self.gate, self.alone = gate, alone

        def __enter__(self):
            g = self.gate
            with g.changed:
                g.waiting += self.alone
                g.changed.wait_for(lambda: not g.taken and (not g.running if self.alone else not g.waiting))
                g.waiting -= self.alone
                g.taken = self.alone
                g.running += not self.alone

        def __exit__(self, *_):
            g = self.gate
            with g.changed:
                g.taken = False
                g.running -= not self.alone
                g.changed.notify_all()


def branch(c, r, w, n):
    """An XA branch. What replays the log in one session can run nothing between PREPARE and COMMIT: this one is alone."""
    name = "'x%d', 'b%d'" % (n, w)
    attempt(c, 'XA START ' + name)
    fine = all([attempt(c, change(r, w), CROSSING) for _ in range(r.randrange(1, 4))])
    attempt(c, 'XA END ' + name, {1402, 1613, 1614, 1397})
    if not fine:
        attempt(c, 'XA ROLLBACK ' + name, {1397, 1402, 1613, 1614})
    elif r.random() < 0.3:
        attempt(c, 'XA COMMIT %s ONE PHASE' % name)
    else:
        attempt(c, 'XA PREPARE ' + name)
        attempt(c, r.choice(['XA COMMIT ', 'XA COMMIT ', 'XA ROLLBACK ']) + name)


def transaction(c, r, w):
    """Several statements with savepoints."""
    attempt(c, 'BEGIN')
    for i in range(r.randrange(1, 8)):
        save = r.random() < 0.2
        if save:
            attempt(c, 'SAVEPOINT s%d' % i)
        if not attempt(c, change(r, w), CROSSING):
            return attempt(c, 'ROLLBACK')
        if save and r.random() < 0.6:
            attempt(c, 'ROLLBACK TO s%d' % i)
    attempt(c, 'ROLLBACK' if r.random() < 0.15 else 'COMMIT')


def session(port, gate, stop, seed, w, failed, counts, pace):
    """One session of the mixed workload until told to stop, of at most one transaction in `pace` seconds."""
    r, n, begin = random.Random(seed * 1000 + w), 0, time.time()
    try:
        c = Client(port, 'mix')
        # Row locks and metadata locks together can make a circle that no server sees.
        attempt(c, 'SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 5')
        while not stop.is_set():
            n += 1
            if n % 200 == 0:
                attempt(c, 'SET binlog_row_image = ' + r.choice(['FULL', 'MINIMAL', 'NOBLOB']))
            kind = r.random()
            with gate(kind < 0.02):
                if kind < 0.02:
                    branch(c, r, w, n)
                elif kind < 0.07:
                    for sql in define(r, w, n):
                        if not attempt(c, sql, CROSSING | {1235}):  # What is not built yet is left out.
                            break
                elif kind < 0.5:
                    attempt(c, change(r, w), CROSSING)
                else:
                    transaction(c, r, w)
            counts[w] = n
            stop.wait(max(0, begin + n * pace - time.time()))
    except Gone:
        pass
    except BaseException as e:
        failed.append(e)
        stop.set()


def run(port, seconds, sessions=6, seed=1, rate=1000):
    """The whole workload, of at most `rate` transactions a second; the transactions done."""
    create(Client(port))
    gate, stop, failed, counts = Gate(), threading.Event(), [], [0] * sessions
    threads = [threading.Thread(target=session, args=(port, gate, stop, seed, w, failed, counts, sessions / rate)) for w in range(sessions)]
    for t in threads:
        t.start()
    stop.wait(seconds)
    stop.set()
    for t in threads:
        t.join()
    if failed:
        raise failed[0]
    return sum(counts)
