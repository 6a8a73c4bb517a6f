// Reads a server's binary log with zongji (the package that the third argument names) and prints the rows, one a line.
//   stream.mjs PORT FILE PACKAGE     from the file's start on; ends behind a row of the table `last`
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import path from 'node:path';

const [port, filename, name] = process.argv.slice(2);
const require = createRequire(path.join(process.cwd(), 'x.js'));
const file = path.join(process.cwd(), 'node_modules', name);
const main = JSON.parse(require('node:fs').readFileSync(path.join(file, 'package.json'))).main || 'index.js';
const loaded = await import(pathToFileURL(path.join(file, main)));
const ZongJi = loaded.default || loaded;
const zongji = new ZongJi({ host: '127.0.0.1', port: Number(port), user: 'root', password: '', dateStrings: true });

const shown = (row) => Object.entries(row).map(([k, v]) => `${k}=${Buffer.isBuffer(v) ? v.toString('latin1') : v}`).join(' ');

zongji.on('binlog', (event) => {
  const kind = event.getEventName();
  if (!/rows/.test(kind)) return;
  const table = event.tableMap[event.tableId].tableName;
  for (const row of event.rows) {
    console.log(kind, table, row.before ? `${shown(row.before)} -> ${shown(row.after)}` : shown(row));
  }
  if (table === 'last') {
    zongji.stop();
    process.exit(0);
  }
});
zongji.on('error', (error) => {
  console.error(error);
  process.exit(1);
});
zongji.start({ serverId: 902, filename, position: 4, includeEvents: ['tablemap', 'writerows', 'updaterows', 'deleterows', 'rotate'] });
