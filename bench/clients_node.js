// Smoke tests of mysql2 and mariadb for node: node clients_node.js PORT. Prints `name passed|failed reason` a line.
'use strict';
const port = Number(process.argv[2]);
const config = { host: '127.0.0.1', port, user: 'root', database: 'test_node' };
const tests = {};
const same = (a, b) => { if (JSON.stringify(a) !== JSON.stringify(b)) throw new Error(JSON.stringify(a) + ' != ' + JSON.stringify(b)); };

function common(kind, connect, rowsOf) {
  const test = (name, run) => { tests[kind + ' ' + name] = async () => { const c = await connect(); try { await run(c, async (...a) => rowsOf(await c.query(...a))); } finally { await c.end(); } }; };
  test('select', async (c, q) => same((await q("select 1 a, 'ä😀' b, null c"))[0], { a: 1, b: 'ä😀', c: null }));
  test('types', async (c, q) => {
    await q('create or replace table types (a tinyint, b int unsigned, c decimal(20,5), d double, e varchar(20), f blob, g json)');
    await q("insert into types values (-1, 4294967295, 12345.67891, 1.5, 'x', x'00ff', '[1]')");
    const r = (await q('select a, b, d, e, hex(f) f from types'))[0];
    same(r, { a: -1, b: 4294967295, d: 1.5, e: 'x', f: '00FF' });
  });
  test('transaction', async (c, q) => {
    await q('create or replace table trx (a int primary key)');
    await c.beginTransaction(); await q('insert into trx values (1)'); await c.rollback();
    await c.beginTransaction(); await q('insert into trx values (2)'); await c.commit();
    same((await q('select a from trx')).map(r => r.a), [2]);
  });
  test('parameters', async (c, q) => same((await q('select ? + ? s, ? t', [1, 2, "it's"]))[0].t, "it's"));
  test('errors', async (c, q) => { try { await q('select nothing_there'); } catch (e) { return same(e.errno, 1054); } throw new Error('no error'); });
  test('insert id', async (c, q) => {
    await q('create or replace table ids (a int auto_increment primary key, b int)');
    const r = await c.query('insert into ids (b) values (1), (2)'); const ok = Array.isArray(r) ? r[0] : r;
    same([Number(ok.insertId), ok.affectedRows], [1, 2]);
  });
  test('large', async (c, q) => same((await q("select length(repeat('x', 5000000)) n, repeat('y', 3000000) t"))[0].t.length, 3000000));
  test('change user', async (c) => c.changeUser({ user: 'root', database: 'test_node' }));
  test('ping', async (c) => c.ping());
}

async function main() {
  const mysql2 = require('mysql2/promise');
  const mariadb = require('mariadb');
  const admin = await mysql2.createConnection({ ...config, database: undefined });
  await admin.query('create database if not exists test_node');
  await admin.end();
  common('mysql2', () => mysql2.createConnection(config), r => r[0]);
  common('mariadb', () => mariadb.createConnection(config), r => r);
  tests['mysql2 prepared'] = async () => {
    const c = await mysql2.createConnection(config);
    const [rows] = await c.execute('select ? a, cast(? as date) d, ? n', [42, '2020-01-02', null]);
    await c.end();
    same([Number(rows[0].a), rows[0].n], [42, null]);
  };
  tests['mysql2 pool'] = async () => {
    const p = mysql2.createPool({ ...config, connectionLimit: 4 });
    const all = await Promise.all([...Array(20).keys()].map(i => p.query('select ' + i + ' n')));
    await p.end();
    same(all.map(r => r[0][0].n), [...Array(20).keys()]);
  };
  tests['mysql2 multiple statements'] = async () => {
    const c = await mysql2.createConnection({ ...config, multipleStatements: true });
    const [sets] = await c.query('select 1 a; select 2 b');
    await c.end();
    same(sets.map(s => Object.values(s[0])[0]), [1, 2]);
  };
  tests['mariadb batch'] = async () => {
    const c = await mariadb.createConnection(config);
    await c.query('create or replace table batch (a int, b varchar(10))');
    await c.batch('insert into batch values (?, ?)', [[1, 'x'], [2, 'y'], [3, null]]);
    const n = await c.query('select count(*) n, count(b) m from batch');
    await c.end();
    same([Number(n[0].n), Number(n[0].m)], [3, 2]);
  };
  tests['mariadb stream'] = async () => {
    const c = await mariadb.createConnection(config);
    let n = 0;
    for await (const row of c.queryStream('with recursive r as (select 1 n union all select n + 1 from r where n < 1000) select n from r')) n += row.n;
    await c.end();
    same(n, 500500);
  };
  tests['mariadb prepared'] = async () => {
    const c = await mariadb.createConnection(config);
    const p = await c.prepare('select ? a');
    const r = await p.execute(['x']);
    p.close(); await c.end();
    same(r[0].a, 'x');
  };
  for (const [name, run] of Object.entries(tests)) {
    try { await run(); console.log(name + '\tpassed'); } catch (e) { console.log(name + '\tfailed\t' + e.message.slice(0, 200)); }
  }
  process.exit(0);
}
main();
