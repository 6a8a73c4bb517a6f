"""Real MariaDB replicas of a server under test: start, follow, never an error, never ahead, equal at the end."""
import time
from client import Client, Gone, Refused
from servers import Server

# The primary was away, or its connection ended: a replica tries again by itself.
AWAY = {0, 2002, 2003, 2006, 2013, 2026, 1158, 1159, 1160, 1161}
REPLICA = ['--log-bin=replica', '--log-slave-updates=OFF', '--innodb-buffer-pool-size=256M', '--innodb-log-file-size=256M',
           '--innodb-flush-log-at-trx-commit=0', '--sync-binlog=0', '--relay-log-purge=ON', '--slave-net-timeout=60']


def state(text):
    """A GTID position as {domain: sequence number}."""
    return {int(g.split('-')[0]): int(g.split('-')[2]) for g in (text or '').replace('\n', '').split(',') if g}


class Replica:
    def __init__(self, version, options=(), name=None):
        self.name = name or version
        self.server = Server('mariadb', REPLICA + list(options), version=version)
        self.connection = Client(self.server.port)

    def follow(self, port, more=''):
        self.sql("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=%d, MASTER_USER='root', MASTER_SSL=0, MASTER_CONNECT_RETRY=1, "
                 "MASTER_HEARTBEAT_PERIOD=5, MASTER_USE_GTID=slave_pos%s" % (port, more))
        self.sql('START SLAVE')

    def sql(self, text):
        return self.connection.query(text)

    def status(self):
        return self.connection.record('SHOW SLAVE STATUS')

    def received(self):
        """What its relay log has, which is at least what it applied."""
        both = state(self.status().get('Gtid_IO_Pos', ''))
        for domain, number in state(self.connection.value('SELECT @@GLOBAL.gtid_slave_pos')).items():
            both[domain] = max(number, both.get(domain, 0))
        return both

    def check(self):
        s = self.status()
        if int(s['Last_SQL_Errno']) or int(s['Last_Errno']) or int(s['Last_IO_Errno']) not in AWAY:
            raise AssertionError('%s: %s %s %s %s' % (self.name, s['Last_SQL_Errno'], s['Last_SQL_Error'], s['Last_IO_Errno'], s['Last_IO_Error']))
        return s

    def catch_up(self, position, seconds=900):
        end = time.time() + seconds
        while self.connection.value("SELECT MASTER_GTID_WAIT('%s', 1)" % position) != '0':
            s = self.check()
            if time.time() > end:
                raise AssertionError('%s is at %s, not at %s: %s' % (self.name, s['Gtid_IO_Pos'], position, s['Slave_SQL_Running_State']))

    def apply_received(self, seconds=120):
        """With the primary away: waits until all that the relay log has is applied."""
        end, last = time.time() + seconds, None
        while time.time() < end:
            now = state(self.connection.value('SELECT @@GLOBAL.gtid_slave_pos'))
            if all(now.get(d, 0) >= n for d, n in state(self.status().get('Gtid_IO_Pos', '')).items()) and now == last:
                return
            last = now
            time.sleep(0.05)
        raise AssertionError('%s does not finish its relay log' % self.name)

    def stop(self):
        self.connection.close()
        self.server.stop()


def not_ahead(primary_position, replica):
    own, theirs = state(primary_position), replica.received()
    for domain, number in theirs.items():
        assert number <= own.get(domain, 0), '%s is at %s, the primary at %s' % (replica.name, theirs, own)


def tables(client, databases):
    names = client.query("SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA IN (%s) "
                         "ORDER BY 1, 2" % ', '.join("'%s'" % d for d in databases))
    return ['`%s`.`%s`' % n for n in names]


def checksums(client, databases):
    return {t: client.query('CHECKSUM TABLE ' + t)[0][1] for t in tables(client, databases)}


def same_tables(ours, theirs, who):
    wrong = sorted(t for t in set(ours) | set(theirs) if ours.get(t, 'missing') != theirs.get(t, 'missing'))
    assert not wrong, '%s differs: %s' % (who, ', '.join('%s %s/%s' % (t, ours.get(t, 'missing'), theirs.get(t, 'missing')) for t in wrong[:10]))
    return len(ours)


def attempt(client, sql, allowed=()):
    """Runs a statement that other sessions or this state of the schema may refuse; anything unknown is raised."""
    try:
        client.query(sql)
        return True
    except Refused as e:
        if e.code not in allowed:
            raise AssertionError('%s\n%s' % (e, sql[:300]))
        return False


__all__ = ['Client', 'Gone', 'Refused', 'Replica', 'state', 'not_ahead', 'checksums', 'same_tables', 'attempt']
