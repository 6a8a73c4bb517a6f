"""Reads a server's binary log with python-mysql-replication and prints each event that it understands, one a line.

  stream.py PORT start|GTID     from the first file on, or behind a GTID position; ends at the log's end
"""
import sys
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.event import MariadbAnnotateRowsEvent, MariadbGtidEvent, QueryEvent, XidEvent
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

port, position = int(sys.argv[1]), sys.argv[2]
behind = {} if position == 'start' else {'auto_position': position}
reader = BinLogStreamReader(
    connection_settings={'host': '127.0.0.1', 'port': port, 'user': 'root', 'passwd': ''}, server_id=901, blocking=False, is_mariadb=True,
    annotate_rows_event=True, verify_checksum=True, enable_logging=False, **(behind or {'log_file': sys.argv[3], 'log_pos': 4, 'resume_stream': True}))


def shown(values):
    return ' '.join('%s=%s' % (name, ','.join(sorted(v)) if isinstance(v, set) else v) for name, v in values.items())


for event in reader:
    if isinstance(event, MariadbGtidEvent):
        print('gtid', event.gtid)
    elif isinstance(event, QueryEvent):
        print('query', event.query.decode() if isinstance(event.query, bytes) else event.query)
    elif isinstance(event, XidEvent):
        print('xid')
    elif isinstance(event, MariadbAnnotateRowsEvent):
        print('annotate', event.sql_statement.decode())
    elif isinstance(event, (WriteRowsEvent, DeleteRowsEvent)):
        for row in event.rows:
            print('write' if isinstance(event, WriteRowsEvent) else 'delete', event.table, shown(row['values']))
    elif isinstance(event, UpdateRowsEvent):
        for row in event.rows:
            print('update', event.table, shown(row['before_values']), '->', shown(row['after_values']))
reader.close()
