"""A deterministic generator of TPC-H-shaped rows: the schema's columns, sizes and value sets; the distributions are plain uniform.

Not dbgen: texts are words drawn from a short list, and every value comes from one seeded generator per table, so two runs
write the same bytes whatever is loaded first. `write(directory, scale)` makes one tab-separated file a table.
"""
import datetime, os, random

REGIONS = ['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST']
NATIONS = [('ALGERIA', 0), ('ARGENTINA', 1), ('BRAZIL', 1), ('CANADA', 1), ('EGYPT', 4), ('ETHIOPIA', 0), ('FRANCE', 3), ('GERMANY', 3),
           ('INDIA', 2), ('INDONESIA', 2), ('IRAN', 4), ('IRAQ', 4), ('JAPAN', 2), ('JORDAN', 4), ('KENYA', 0), ('MOROCCO', 0),
           ('MOZAMBIQUE', 0), ('PERU', 1), ('CHINA', 2), ('ROMANIA', 3), ('SAUDI ARABIA', 4), ('VIETNAM', 2), ('RUSSIA', 3),
           ('UNITED KINGDOM', 3), ('UNITED STATES', 1)]
SEGMENTS = ['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'MACHINERY', 'HOUSEHOLD']
PRIORITIES = ['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW']
MODES = ['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB']
INSTRUCTIONS = ['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN']
TYPES = [['STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO'], ['ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED'],
         ['TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER']]
CONTAINERS = [['SM', 'LG', 'MED', 'JUMBO', 'WRAP'], ['CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM']]
COLOURS = ('almond azure beige black blue brown coral cream cyan forest gold green grey indian ivory khaki lime linen magenta maroon navy '
           'olive orange pink plum purple red rose salmon sky snow steel tan tomato violet white yellow').split()
WORDS = ('carefully quickly slyly final special pending regular express ironic bold even silent deposits requests packages accounts '
         'instructions theodolites foxes pinto beans customer complaints among the above against sleep haggle nag wake').split()
FIRST = datetime.date(1992, 1, 1)

SCHEMA = """
create table region (r_regionkey int primary key, r_name char(25) not null, r_comment varchar(152));
create table nation (n_nationkey int primary key, n_name char(25) not null, n_regionkey int not null, n_comment varchar(152), key (n_regionkey));
create table supplier (s_suppkey int primary key, s_name char(25) not null, s_address varchar(40) not null, s_nationkey int not null,
  s_phone char(15) not null, s_acctbal decimal(15,2) not null, s_comment varchar(101) not null, key (s_nationkey));
create table part (p_partkey int primary key, p_name varchar(55) not null, p_mfgr char(25) not null, p_brand char(10) not null,
  p_type varchar(25) not null, p_size int not null, p_container char(10) not null, p_retailprice decimal(15,2) not null, p_comment varchar(23) not null);
create table partsupp (ps_partkey int not null, ps_suppkey int not null, ps_availqty int not null, ps_supplycost decimal(15,2) not null,
  ps_comment varchar(199) not null, primary key (ps_partkey, ps_suppkey), key (ps_suppkey));
create table customer (c_custkey int primary key, c_name varchar(25) not null, c_address varchar(40) not null, c_nationkey int not null,
  c_phone char(15) not null, c_acctbal decimal(15,2) not null, c_mktsegment char(10) not null, c_comment varchar(117) not null, key (c_nationkey));
create table orders (o_orderkey int primary key, o_custkey int not null, o_orderstatus char(1) not null, o_totalprice decimal(15,2) not null,
  o_orderdate date not null, o_orderpriority char(15) not null, o_clerk char(15) not null, o_shippriority int not null,
  o_comment varchar(79) not null, key (o_custkey), key (o_orderdate));
create table lineitem (l_orderkey int not null, l_partkey int not null, l_suppkey int not null, l_linenumber int not null,
  l_quantity decimal(15,2) not null, l_extendedprice decimal(15,2) not null, l_discount decimal(15,2) not null, l_tax decimal(15,2) not null,
  l_returnflag char(1) not null, l_linestatus char(1) not null, l_shipdate date not null, l_commitdate date not null, l_receiptdate date not null,
  l_shipinstruct char(25) not null, l_shipmode char(10) not null, l_comment varchar(44) not null, primary key (l_orderkey, l_linenumber),
  key (l_partkey, l_suppkey), key (l_suppkey), key (l_shipdate));
"""
TABLES = ['region', 'nation', 'supplier', 'part', 'partsupp', 'customer', 'orders', 'lineitem']


def words(rng, low, high, limit):
    return ' '.join(rng.choice(WORDS) for _ in range(rng.randint(low, high)))[:limit]


def phone(rng, nation):
    return '%d-%03d-%03d-%04d' % (nation + 10, rng.randint(100, 999), rng.randint(100, 999), rng.randint(1000, 9999))


def money(cents):
    return '%s%d.%02d' % ('-' if cents < 0 else '', abs(cents) // 100, abs(cents) % 100)


def price(part):
    return 90000 + (part // 10) % 20001 + 100 * (part % 1000)


def supplier_of(part, i, suppliers):
    """The i-th of the four suppliers of a part."""
    return (part + i * (suppliers // 4 + (part - 1) // suppliers)) % suppliers + 1


def suppliers(scale):
    rng = random.Random(1)
    for key in range(1, int(10000 * scale) + 1):
        nation = rng.randrange(25)
        comment = words(rng, 6, 12, 90)
        if key % 1000 == 7:
            comment = 'the Customer slyly Complaints ' + comment[:60]
        yield key, 'Supplier#%09d' % key, words(rng, 2, 4, 40), nation, phone(rng, nation), money(rng.randint(-99999, 999999)), comment


def parts(scale):
    rng = random.Random(2)
    for key in range(1, int(200000 * scale) + 1):
        maker = rng.randint(1, 5)
        yield (key, ' '.join(rng.sample(COLOURS, 5))[:55], 'Manufacturer#%d' % maker, 'Brand#%d%d' % (maker, rng.randint(1, 5)),
               ' '.join(rng.choice(t) for t in TYPES), rng.randint(1, 50), ' '.join(rng.choice(c) for c in CONTAINERS),
               money(price(key)), words(rng, 1, 3, 23))


def partsupps(scale):
    rng = random.Random(3)
    for part in range(1, int(200000 * scale) + 1):
        for i in range(4):
            yield part, supplier_of(part, i, int(10000 * scale)), rng.randint(1, 9999), money(rng.randint(100, 100000)), words(rng, 8, 20, 199)


def customers(scale):
    rng = random.Random(4)
    for key in range(1, int(150000 * scale) + 1):
        nation = rng.randrange(25)
        yield (key, 'Customer#%09d' % key, words(rng, 2, 4, 40), nation, phone(rng, nation), money(rng.randint(-99999, 999999)),
               rng.choice(SEGMENTS), words(rng, 6, 14, 117))


def orders(scale):
    """Orders and their lines: ('orders', row) and ('lineitem', row)."""
    rng = random.Random(5)
    customers_n, parts_n, suppliers_n = int(150000 * scale), int(200000 * scale), int(10000 * scale)
    today = datetime.date(1995, 6, 17)
    for n in range(int(1500000 * scale)):
        key = n // 8 * 32 + n % 8 + 1
        customer = rng.randint(1, customers_n)
        while customer % 3 == 0:
            customer = rng.randint(1, customers_n)
        day = FIRST + datetime.timedelta(rng.randrange(2406 - 151))
        total, states, lines = 0, set(), []
        for line in range(1, rng.randint(1, 7) + 1):
            part = rng.randint(1, parts_n)
            quantity, discount, tax = rng.randint(1, 50), rng.randint(0, 10), rng.randint(0, 8)
            extended = quantity * price(part)
            ship = day + datetime.timedelta(rng.randint(1, 121))
            commit, receipt = day + datetime.timedelta(rng.randint(30, 90)), ship + datetime.timedelta(rng.randint(1, 30))
            flag = rng.choice('RA') if receipt <= today else 'N'
            state = 'O' if ship > today else 'F'
            states.add(state)
            total += extended * (100 + tax) * (100 - discount) // 10000
            lines.append(('lineitem', (key, part, supplier_of(part, rng.randrange(4), suppliers_n), line, '%d.00' % quantity, money(extended),
                                       '0.%02d' % discount, '0.%02d' % tax, flag, state, ship, commit, receipt, rng.choice(INSTRUCTIONS),
                                       rng.choice(MODES), words(rng, 2, 6, 44))))
        comment = words(rng, 4, 10, 79)
        yield 'orders', (key, customer, states.pop() if len(states) == 1 else 'P', money(total), day, rng.choice(PRIORITIES),
                         'Clerk#%09d' % rng.randint(1, max(1, int(1000 * scale))), 0, comment)
        yield from lines


def write(directory, scale):
    os.makedirs(directory, exist_ok=True)
    files = {name: open(os.path.join(directory, name + '.tsv'), 'w') for name in TABLES}

    def put(name, row):
        files[name].write('\t'.join(map(str, row)) + '\n')

    for i, name in enumerate(REGIONS):
        put('region', (i, name, 'region ' + name.lower()))
    for i, (name, region) in enumerate(NATIONS):
        put('nation', (i, name, region, 'nation ' + name.lower()))
    for name, rows in (('supplier', suppliers), ('part', parts), ('partsupp', partsupps), ('customer', customers)):
        for row in rows(scale):
            put(name, row)
    for name, row in orders(scale):
        put(name, row)
    for f in files.values():
        f.close()
