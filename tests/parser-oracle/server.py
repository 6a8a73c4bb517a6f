"""The client side of the MariaDB protocol, as far as the oracle needs it."""

import socket
import struct


class ServerError(Exception):
    def __init__(self, packet):
        self.code = struct.unpack_from("<H", packet, 1)[0]
        text = packet[3:]
        if text[:1] == b"#":
            text = text[6:]
        self.text = text.decode("utf-8", "replace")
        super().__init__(f"{self.code} {self.text}")


class Connection:
    """One session as root over a Unix socket."""

    def __init__(self, path, collation=45, database="oracle"):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(path)
        self.file = self.sock.makefile("rb")
        self._packet()
        flags = 0x0200 | 0x8000 | 0x2000 | 0x0001 | 0x80000
        login = struct.pack("<IIB23x", flags, 1 << 24, collation) + b"root\0\0mysql_native_password\0"
        self._send(login, seq=1)
        self._ok()
        self.query(f"create database if not exists {database}")
        self.query(f"use {database}")

    def _packet(self):
        head = self.file.read(4)
        if len(head) < 4:
            raise ConnectionError("server went away")
        self.seq = head[3]
        return self.file.read(int.from_bytes(head[:3], "little"))

    def _send(self, body, seq=0):
        self.sock.sendall(len(body).to_bytes(3, "little") + bytes([seq]) + body)

    def _ok(self):
        packet = self._packet()
        if packet[0] == 0xFF:
            raise ServerError(packet)
        if packet[0] == 0xFE:
            self._send(b"", seq=self.seq + 1)
            return self._ok()
        return packet

    def prepare(self, sql):
        """None, or the error of parsing and preparing."""
        self._send(b"\x16" + sql)
        try:
            packet = self._ok()
        except ServerError as error:
            return error
        (stmt, columns, params) = struct.unpack_from("<IHH", packet, 1)
        for count in (params, columns):
            if count:
                for _ in range(count + 1):
                    self._packet()
        self._send(b"\x19" + struct.pack("<I", stmt))
        return None

    def query(self, sql):
        """Rows as lists of bytes or None; an empty list for statements without a result. A result's end tells `warnings`."""
        self._send(b"\x03" + (sql.encode() if isinstance(sql, str) else sql))
        packet = self._ok()
        if packet[0] == 0:
            return []
        for _ in range(packet[0] + 1):
            self._packet()
        rows = []
        while True:
            packet = self._packet()
            if packet[0] == 0xFF:
                raise ServerError(packet)
            if packet[0] == 0xFE and len(packet) < 9:
                self.warnings = int.from_bytes(packet[1:3], "little")
                return rows
            rows.append(_row(packet))


def _row(packet):
    values, pos = [], 0
    while pos < len(packet):
        first = packet[pos]
        pos += 1
        if first == 0xFB:
            values.append(None)
            continue
        if first < 0xFB:
            size = first
        else:
            width = {0xFC: 2, 0xFD: 3, 0xFE: 8}[first]
            size = int.from_bytes(packet[pos : pos + width], "little")
            pos += width
        values.append(packet[pos : pos + size])
        pos += size
    return values
