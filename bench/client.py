"""A connection to a server: MariaDB's protocol as far as the harness needs it, without any package.

`query` returns the rows of one statement as tuples of text or None; an answer that is an error raises `Refused`, a connection that ends
raises `Gone`. Users have no password. `dump` asks for the binary log and leaves the stream on `socket`.
"""
import socket, struct

CAPABILITIES = 0x1 | 0x4 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x80000  # long password, long flag, database, 4.1, transactions, auth, plugins


class Gone(Exception):
    """The connection ended."""


class Refused(Exception):
    """The server's error packet."""

    def __init__(self, packet):
        self.code = struct.unpack_from('<H', packet, 1)[0]
        text = packet[9:] if packet[3:4] == b'#' else packet[3:]
        super().__init__('%d %s' % (self.code, text.decode('utf8', 'replace')))


def length(data, at):
    """A length-encoded integer (None: NULL) and the offset behind it."""
    first = data[at]
    if first < 0xfb:
        return first, at + 1
    if first == 0xfb:
        return None, at + 1
    size = {0xfc: 2, 0xfd: 3, 0xfe: 8}[first]
    return int.from_bytes(data[at + 1:at + 1 + size], 'little'), at + 1 + size


def name(definition):
    """A column's name: behind its catalog, database, table and the table's real name."""
    at = 0
    for _ in range(5):
        size, at = length(definition, at)
        text, at = definition[at:at + size], at + size
    return text.decode('utf8')


class Client:
    def __init__(self, port, database=None, timeout=600):
        try:
            self.socket = socket.create_connection(('127.0.0.1', port), timeout)
        except OSError as e:
            raise Gone(str(e))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.input = self.socket.makefile('rb', 65536)
        greeting = self.receive()
        if greeting[:1] == b'\xff':
            raise Refused(greeting)
        self.id = struct.unpack_from('<I', greeting, greeting.index(b'\0', 1) + 1)[0]
        flags = CAPABILITIES if database else CAPABILITIES & ~0x8
        login = struct.pack('<IIB23x', flags, 1 << 24, 45) + b'root\0' + b'\0'
        if database:
            login += database.encode() + b'\0'
        self.send(login + b'mysql_native_password\0', 1)
        answer = self.receive()
        if answer[:1] == b'\xfe':
            self.send(b'', 3)
            answer = self.receive()
        if answer[:1] == b'\xff':
            raise Refused(answer)

    def send(self, body, sequence=0):
        try:
            self.socket.sendall(struct.pack('<I', len(body))[:3] + bytes([sequence]) + body)
        except OSError as e:
            raise Gone(str(e))

    def take(self, count):
        try:
            data = self.input.read(count)
        except OSError as e:
            raise Gone(str(e))
        if len(data) < count:
            raise Gone('the server closed the connection')
        return data

    def receive(self):
        whole = b''
        while True:
            head = self.take(4)
            size = int.from_bytes(head[:3], 'little')
            whole += self.take(size)
            if size < 0xffffff:
                return whole

    def query(self, sql):
        self.send(b'\x03' + (sql if isinstance(sql, bytes) else sql.encode()))
        answer = self.receive()
        if answer[:1] == b'\xff':
            raise Refused(answer)
        if answer[:1] == b'\0':
            return []
        self.columns = [name(self.receive()) for _ in range(length(answer, 0)[0])]
        self.receive()
        rows = []
        while True:
            packet = self.receive()
            if packet[:1] == b'\xff':
                raise Refused(packet)
            if packet[:1] == b'\xfe' and len(packet) < 9:
                return rows
            row, at = [], 0
            while at < len(packet):
                size, at = length(packet, at)
                row.append(None if size is None else packet[at:at + size].decode('utf8', 'replace'))
                at += size or 0
            rows.append(tuple(row))

    def record(self, sql):
        """The first row by names of columns; empty when there is none."""
        rows = self.query(sql)
        return dict(zip(self.columns, rows[0])) if rows else {}

    def value(self, sql):
        return self.query(sql)[0][0]

    def dump(self, position, server_id):
        """The binary log from a GTID position on, as a MariaDB replica asks for it."""
        for sql in ("SET @master_binlog_checksum = 'CRC32'", 'SET @mariadb_slave_capability = 4', 'SET @slave_gtid_strict_mode = 0',
                    "SET @slave_connect_state = '%s'" % position, 'SET @master_heartbeat_period = 1000000000'):
            self.query(sql)
        self.send(b'\x12' + struct.pack('<IHI', 4, 0, server_id))

    def close(self):
        self.input.close()
        self.socket.close()
