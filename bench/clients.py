#!/usr/bin/env python3
"""The test suites of clients, run against morsed and a real MariaDB: what passes there and what of it passes here.

    PEER=... bench/clients.py [--work DIR] [--only SUITE,...] [--json FILE]

The suites come from the package registries when this runs (PyPI, npm; the tests of PyMySQL, which PyPI does not have, from Debian's
source package; mysqlclient is built and needs Debian's libmariadb-dev and pkg-config, PHP's checks php-cli and php-mysql) and are
unpacked under DIR, `target/clients` by default. PEER names the program that starts a real MariaDB, PEER_NAME which one (see servers.py); MORSED names the server. Each suite writes `{test: outcome}`; a test counts if it passed on the real server, and all that
passes there and not here is listed by name.
"""
import argparse, json, os, re, subprocess, sys, xml.etree.ElementTree as xml

os.environ.setdefault('PEER_NAME', 'mariadb-10.11')
from servers import HERE, Server

DJANGO_APPS = ('backends migrations queries transactions schema aggregation aggregation_regress expressions '
               'expressions_case expressions_window lookup indexes introspection inspectdb constraints').split()

DJANGO_SETTINGS = '''
import os
NAME = os.environ['CLIENTS_NAME']
def database(name):
    return {'ENGINE': 'django.db.backends.mysql', 'NAME': name, 'USER': 'root', 'HOST': '127.0.0.1',
            'PORT': os.environ['CLIENTS_PORT'], 'TEST': {'CHARSET': 'utf8mb4'}}
DATABASES = {'default': database('django_' + NAME), 'other': database('django_other_' + NAME)}
SECRET_KEY = 'tests'
PASSWORD_HASHERS = ['django.contrib.auth.hashers.MD5PasswordHasher']
DEFAULT_AUTO_FIELD = 'django.db.models.AutoField'
USE_TZ = False
TEST_RUNNER = 'clients_runner.Runner'
'''

DJANGO_RUNNER = '''
import json, os, unittest
from django.test.runner import DiscoverRunner
OUTCOMES = {}
class Result(unittest.TextTestResult):
    def _note(self, test, outcome):
        if OUTCOMES.get(test.id()) not in ('failed', 'error'):
            OUTCOMES[test.id()] = outcome
    def addSuccess(self, test):
        self._note(test, 'passed'); super().addSuccess(test)
    def addFailure(self, test, err):
        self._note(test, 'failed'); super().addFailure(test, err)
    def addError(self, test, err):
        self._note(test, 'error'); super().addError(test, err)
    def addSkip(self, test, reason):
        self._note(test, 'skipped'); super().addSkip(test, reason)
    def addExpectedFailure(self, test, err):
        self._note(test, 'passed'); super().addExpectedFailure(test, err)
    def addSubTest(self, test, subtest, err):
        if err is not None:
            OUTCOMES[test.id()] = 'failed'
        super().addSubTest(test, subtest, err)
class Runner(DiscoverRunner):
    def get_resultclass(self):
        return Result
    def run_suite(self, suite, **kwargs):
        try:
            return super().run_suite(suite, **kwargs)
        finally:
            json.dump(OUTCOMES, open(os.environ['CLIENTS_OUT'], 'w'))
'''


def debian_archive():
    """The archive this machine installs Debian's packages from."""
    for folder, _, names in os.walk('/etc/apt'):
        for name in names:
            if name.endswith(('.list', '.sources')):
                found = re.search(r'^(?:URIs:|deb)\s+(?:\[.*?\]\s*)?(\S+/debian/?)(?:\s|$)', open(os.path.join(folder, name)).read(), re.M)
                if found:
                    return found.group(1)
    raise SystemExit('no Debian archive in /etc/apt')


class Suites:
    def __init__(self, work):
        self.work = os.path.abspath(work)
        self.python = os.path.join(self.work, 'venv', 'bin', 'python')
        os.makedirs(self.work, exist_ok=True)

    def run(self, command, log, cwd=None, seconds=1800, env=None):
        with open(log, 'wb') as out:
            try:
                return subprocess.run(command, cwd=cwd, stdout=out, stderr=subprocess.STDOUT, timeout=seconds,
                                      env=dict(os.environ, **(env or {}))).returncode
            except subprocess.TimeoutExpired:
                return -1

    def pip(self, *arguments):
        subprocess.run([self.python, '-m', 'pip', '-q', '--disable-pip-version-check', *arguments], check=True, cwd=self.work)

    def source(self, package):
        """The unpacked sdist of a package, from PyPI when it is not there yet."""
        sdist = os.path.join(self.work, 'sdist')
        os.makedirs(sdist, exist_ok=True)
        find = lambda: [d for d in os.listdir(self.work) if re.match(package + r'-\d', d, re.I)]
        if not find():
            self.pip('download', '--no-deps', '--no-binary', package, '-d', sdist, package)
            for name in os.listdir(sdist):
                if re.match(package + r'-\d.*\.tar\.gz$', name, re.I):
                    subprocess.run(['tar', 'xzf', os.path.join(sdist, name)], check=True, cwd=self.work)
        return os.path.join(self.work, find()[0])

    def install(self):
        # Written last: an install that failed half way is made anew.
        done = os.path.join(self.work, 'installed')
        if not os.path.exists(done):
            subprocess.run([sys.executable, '-m', 'venv', os.path.join(self.work, 'venv')], check=True)
            self.pip('install', 'pytest', 'pymysql', 'mysqlclient', 'sqlalchemy', 'django', 'cryptography')
            self.pip('install', '-r', os.path.join(self.source('django'), 'tests', 'requirements', 'py3.txt'))
            open(done, 'w').close()

    def pytest(self, server, name, cwd, arguments, env=None):
        report = os.path.join(self.work, name + '-' + server.kind + '.xml')
        if os.path.exists(report):
            os.remove(report)
        self.run([self.python, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', '--junitxml=' + report, *arguments],
                 os.path.join(self.work, name + '-' + server.kind + '.log'), cwd=cwd, env=env)
        outcomes = {}
        if not os.path.exists(report):
            return outcomes
        for case in xml.parse(report).getroot().iter('testcase'):
            kinds = {child.tag for child in case}
            outcome = 'failed' if kinds & {'failure', 'error'} else 'skipped' if 'skipped' in kinds else 'passed'
            # SQLAlchemy puts the server's version into the names.
            name = re.sub(r'_(?:mariadb|mysql)\+\w+?(?:_\d+)+(?=\.)', '', case.get('classname') + '.' + case.get('name'))
            outcomes[name] = outcome
        return outcomes

    def pymysql(self, server):
        """The tests of PyMySQL are in its repository, which Debian's source package holds."""
        find = lambda: [d for d in os.listdir(self.work) if d.lower().startswith('pymysql-debian')]
        if not find():
            lists = os.path.join(self.work, 'sources.list')
            with open(lists, 'w') as out:
                out.write('deb-src %s trixie main\n' % debian_archive())
            options = ['-o', 'Dir::Etc::sourcelist=' + lists, '-o', 'Dir::Etc::sourceparts=-', '-o', 'Dir::State::lists=' + os.path.join(self.work, 'lists')]
            os.makedirs(os.path.join(self.work, 'lists', 'partial'), exist_ok=True)
            subprocess.run(['apt-get', '-q', *options, 'update'], check=True)
            # Of its files only the original archive is used, so the others may fail.
            subprocess.run(['apt-get', '-q', *options, 'source', '--download-only', 'python-pymysql'], cwd=self.work)
            archive = next(n for n in os.listdir(self.work) if re.match(r'python-pymysql_.*\.orig\.tar', n))
            root = os.path.join(self.work, 'pymysql-debian')
            os.makedirs(root)
            subprocess.run(['tar', 'xf', archive, '-C', root, '--strip-components=1'], check=True, cwd=self.work)
        root = os.path.join(self.work, find()[0])
        server.sql('create database if not exists test1; create database if not exists test2')
        base = {'host': '127.0.0.1', 'port': server.port, 'user': 'root', 'password': '', 'use_unicode': True, 'local_infile': True}
        databases = [dict(base, database=name) for name in ('test1', 'test2')]
        json.dump(databases, open(os.path.join(root, 'pymysql', 'tests', 'databases.json'), 'w'))
        return self.pytest(server, 'pymysql', root, ['pymysql/tests'], {'PYTHONPATH': root})

    def mysqlclient(self, server):
        root = self.source('mysqlclient')
        server.sql('create database if not exists test')
        config = os.path.join(root, 'tests', server.kind + '.cnf')
        with open(config, 'w') as out:
            out.write('[MySQLdb-tests]\nhost = 127.0.0.1\nport = %d\nuser = root\ndatabase = test\n'
                      'default-character-set = utf8mb4\n' % server.port)
        return self.pytest(server, 'mysqlclient', root, ['tests'], {'TESTDB': config})

    def sqlalchemy(self, server):
        root = self.source('sqlalchemy')
        server.sql('create database if not exists test; create database if not exists test_schema; '
                   'create database if not exists test_schema_2')
        url = 'mariadb+mysqldb://root@127.0.0.1:%d/test' % server.port
        return self.pytest(server, 'sqlalchemy', root, ['test/dialect/test_suite.py', 'test/dialect/mysql', '--maxfail=100000', '--dburi', url])

    def django(self, server):
        root = os.path.join(self.source('django'), 'tests')
        for name, text in (('clients_settings.py', DJANGO_SETTINGS), ('clients_runner.py', DJANGO_RUNNER)):
            open(os.path.join(root, name), 'w').write(text)
        out = os.path.join(self.work, 'django-%s.json' % server.kind)
        if os.path.exists(out):
            os.remove(out)
        self.run([self.python, 'runtests.py', '--settings=clients_settings', '--parallel=1', '--noinput', *DJANGO_APPS],
                 os.path.join(self.work, 'django-%s.log' % server.kind), cwd=root, seconds=3600,
                 env={'CLIENTS_OUT': out, 'CLIENTS_PORT': str(server.port), 'CLIENTS_NAME': server.kind,
                      'PYTHONPATH': root})
        return json.load(open(out)) if os.path.exists(out) else {}


    def lines(self, server, name, command, env=None):
        """Suites of our own: `name, outcome` a line."""
        log = os.path.join(self.work, name + '-' + server.kind + '.log')
        self.run(command, log, env=env)
        rows = [line.split('\t') for line in open(log, encoding='utf-8', errors='replace') if '\t' in line]
        return {row[0]: row[1].strip() for row in rows}

    def node(self, server):
        root = os.path.join(self.work, 'node')
        if not os.path.exists(os.path.join(root, 'node_modules', 'mysql2')):
            os.makedirs(root, exist_ok=True)
            subprocess.run(['npm', 'install', '--silent', '--prefix', root, 'mysql2', 'mariadb'], check=True)
        return self.lines(server, 'node', ['node', os.path.join(HERE, 'clients_node.js'), str(server.port)],
                          {'NODE_PATH': os.path.join(root, 'node_modules')})

    def php(self, server):
        return self.lines(server, 'php', ['php', os.path.join(HERE, 'clients_php.php'), str(server.port)])


def compare(name, there, here):
    passed = [test for test, outcome in there.items() if outcome == 'passed']
    missed = sorted(test for test in passed if here.get(test) != 'passed')
    share = 100.0 * (len(passed) - len(missed)) / len(passed) if passed else 0.0
    print('%-12s passed there %5d, of these passed here %5d: %.2f %%' % (name, len(passed), len(passed) - len(missed), share))
    for test in missed:
        print('   %-8s %s' % (here.get(test, 'not run'), test))
    sys.stdout.flush()
    return {'there': len(passed), 'here': len(passed) - len(missed), 'missed': missed}


class Running:
    """A server that is running already: its kind and port are all that the suites need."""

    def __init__(self, kind, port):
        self.kind, self.port = kind, port

    sql = Server.sql

    def stop(self):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--work', default=os.path.join(HERE, '..', 'target', 'clients'))
    parser.add_argument('--only', default='pymysql,mysqlclient,sqlalchemy,django,node,php')
    parser.add_argument('--json', help='where the figures go')
    parser.add_argument('--here', type=int, help='port of a morsed that runs already')
    parser.add_argument('--there', type=int, help='port of a MariaDB that runs already')
    parser.add_argument('--again', action='store_true', help='only on morsed, beside what the last run on MariaDB gave')
    options = parser.parse_args()
    suites = Suites(options.work)
    suites.install()
    there = (Running('mariadb', options.there) if options.there or options.again
             else Server('mariadb', ['--local-infile=1']))
    here = Running('morse', options.here) if options.here else Server('morse', ['--local-infile=1'])
    figures = {}
    try:
        for name in options.only.split(','):
            run = getattr(suites, name)
            kept = os.path.join(suites.work, name + '-there.json')
            if not options.again:
                json.dump(run(there), open(kept, 'w'))
            figures[name] = compare(name, json.load(open(kept)), run(here))
    finally:
        there.stop()
        here.stop()
    if options.json:
        json.dump(figures, open(options.json, 'w'), indent=1)


if __name__ == '__main__':
    main()
