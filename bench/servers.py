"""Starting and stopping the servers of a comparison: morsed and real MariaDBs.

Both get the same buffer pool, log size and durability. MariaDB is started by the program that the environment variable
PEER names (`PEER start mariadb-11.8 PORT DIR OPTIONS...`, `PEER stop DIR`). DISK names a shared object that is preloaded
into both and models a network disk: its settings are CLOUDDISK_SYNC_MS, CLOUDDISK_MBPS, CLOUDDISK_IOPS, and it counts syncs
and bytes into CLOUDDISK_STATS (eight little-endian u64).
"""
import atexit, contextlib, os, shutil, signal, socket, struct, subprocess, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
MORSED = os.environ.get('MORSED', os.path.join(HERE, '..', 'target', 'release', 'morsed'))
PEER = os.environ.get('PEER', '')
DISK = os.environ.get('DISK', '')
PEER_NAME = os.environ.get('PEER_NAME', 'mariadb-11.8')


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def disk_env(model, stats):
    """Environment of a server under a disk model: None, or a dict with sync_ms, mbps, iops."""
    env = {}
    if DISK:
        env['CLOUDDISK_STATS'] = stats
        for key, name in (('sync_ms', 'SYNC_MS'), ('mbps', 'MBPS'), ('iops', 'IOPS')):
            if model and key in model:
                env['CLOUDDISK_' + name] = str(model[key])
    return env


RUNNING = []


@atexit.register
def end_all():
    """A run that failed leaves its directories, not its servers."""
    for server in list(RUNNING):
        server.kill()


class Server:
    """One running server; `options` are MariaDB's own command line options, for both kinds."""

    def __init__(self, kind, options, model=None, directory=None, version=PEER_NAME):
        self.kind, self.options, self.model, self.version = kind, options, model, version
        self.dir = directory or tempfile.mkdtemp(prefix='bench-' + kind + '-')
        self.port = free_port()
        self.stats = os.path.join(self.dir, 'stats')
        self.start()

    def start(self):
        env = disk_env(self.model, self.stats)
        begin = time.time()
        if self.kind == 'morse':
            full = dict(os.environ, **env)
            if DISK:
                full['LD_PRELOAD'] = DISK
            self.log = open(os.path.join(self.dir, 'out'), 'ab')
            self.process = subprocess.Popen(
                [MORSED, '--datadir=' + os.path.join(self.dir, 'data'), '--port=%d' % self.port,
                 '--socket=' + os.path.join(self.dir, 'sock')] + self.options,
                env=full, stdout=self.log, stderr=self.log)
            self.pid = self.process.pid
        else:
            full = dict(os.environ, **env)
            if DISK:
                full['PEER_PRELOAD'] = DISK
            subprocess.run([PEER, 'start', self.version, str(self.port), self.dir, '--innodb-use-native-aio=0'] + self.options,
                           env=full, check=True, stdout=subprocess.DEVNULL)
            self.process = None
            self.pid = int(open(os.path.join(self.dir, 'pid')).read())
        RUNNING.append(self)
        self.wait()
        self.start_seconds = time.time() - begin

    def wait(self, seconds=300):
        end = time.time() + seconds
        while time.time() < end:
            if self.sql('select 1', check=False)[0] == 0:
                return
            if self.process and self.process.poll() is not None:
                raise SystemExit('%s did not start: see %s' % (self.kind, self.dir))
            time.sleep(0.01)
        raise SystemExit('%s does not answer' % self.kind)

    def sql(self, text, check=True, db=None):
        r = subprocess.run(['mariadb', '--no-defaults', '-h127.0.0.1', '-P%d' % self.port, '-uroot', '-N', '-B']
                           + ([db] if db else []) + ['-e', text], capture_output=True, text=True)
        if check and r.returncode:
            raise SystemExit('%s: %s\n%s' % (self.kind, text, r.stderr))
        return r.returncode, r.stdout

    def status(self, name, absent=None):
        """A counter's value; `absent` where the server has no such counter."""
        row = self.sql("show global status like '%s'" % name)[1].split('\n')[0]
        if not row and absent is not None:
            return absent
        return int(float(row.split('\t')[1]))

    def counters(self):
        if not os.path.exists(self.stats):
            return (0,) * 8
        return struct.unpack('<8Q', open(self.stats, 'rb').read(64))

    def rss_mib(self):
        for line in open('/proc/%d/status' % self.pid):
            if line.startswith('VmRSS'):
                return int(line.split()[1]) / 1024

    def context_switches(self):
        total = 0
        for task in os.listdir('/proc/%d/task' % self.pid):
            try:
                lines = open('/proc/%d/task/%s/status' % (self.pid, task)).readlines()
            except OSError:
                continue  # the thread has ended
            total += sum(int(line.split()[1]) for line in lines if 'ctxt_switches' in line)
        return total

    @contextlib.contextmanager
    def alone(self):
        """While this holds, no other server started here gets the processor or the disk: not even to clean its pages."""
        others = [server for server in RUNNING if server is not self]
        for server in others:
            os.kill(server.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for server in others:
                os.kill(server.pid, signal.SIGCONT)

    def kill(self):
        RUNNING.remove(self)
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        if self.process:
            self.process.wait()
        else:
            while os.path.exists('/proc/%d' % self.pid):
                time.sleep(0.01)

    def stop(self, remove=True):
        if self in RUNNING:
            RUNNING.remove(self)
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(120)
            except subprocess.TimeoutExpired:
                self.process.kill()
        else:
            subprocess.run([PEER, 'stop', self.dir], check=False)
        if remove:
            shutil.rmtree(self.dir, ignore_errors=True)
