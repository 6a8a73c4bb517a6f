#!/usr/bin/env python3
"""The binary log and replication beside real MariaDB servers. Checks, which need no quiet machine:

  replication.py replicas [--flush 1,0,2] [--kills 30] [--seconds 120]   replicas 10.11, 11.8, 11.8 in parallel: 16 writers, DDL, kill -9
  replication.py semisync_kill [--rounds 50]                            kill -9 during AFTER_SYNC: nothing acknowledged is missing
  replication.py pitr [--seconds 600] [--rate 200]                      morse-binlog's text applied; classic files read by mariadb-binlog

Figures, which do; --model SYNC_MS,MBPS,IOPS is the disk both servers get (needs DISK), --seconds one run's length:

  replication.py profiles [--threads 1,8,32,64]     commits with flush_log 1, 2 and 0: one log, own FILE, MariaDB FILE
  replication.py nine [--model 0,6,6750]            nine settings of sync_binlog and flush_log under a bandwidth cap
  replication.py images                             log bytes a transaction for each binlog_row_image; an UPDATE of 100,000 rows
  replication.py large [--sizes 32,128,512,2048]    background transactions of so many MB beside 8 writers
  replication.py readers [--readers 0,1,10,50]      16 writers with so many connected readers; a reader that is 1 GiB behind
  replication.py semisync [--threads 1,16,64]       AFTER_COMMIT and AFTER_SYNC with a real replica

--only names the servers to run (morse,file,mariadb). Environment: see servers.py. Prints Markdown.
"""
import argparse
import fidelity, figures

CHECKS, FIGURES = ('replicas', 'semisync_kill', 'pitr'), ('profiles', 'nine', 'images', 'large', 'readers', 'semisync')
SECONDS = dict(replicas=120, pitr=600, large=40)
MODELS = dict(profiles='3,170,5000', nine='0,6,6750')
THREADS = dict(profiles='1,8,32,64', semisync='1,16,64')


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('what', choices=CHECKS + FIGURES)
    p.add_argument('--flush', default='1,0,2')
    p.add_argument('--kills', type=int, default=30)
    p.add_argument('--rounds', type=int, default=50)
    p.add_argument('--seconds', type=int)
    p.add_argument('--rate', type=int, default=200, help='transactions a second of pitr at most: 22 KB of log each')
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--model')
    p.add_argument('--threads')
    p.add_argument('--sizes', default='32,128,512,2048')
    p.add_argument('--readers', default='0,1,10,50')
    p.add_argument('--only', default='morse,file,mariadb')
    p.add_argument('--option', action='append', default=[], help='one more option of morsed')
    args = p.parse_args()
    args.seconds = args.seconds or SECONDS.get(args.what, 6)
    args.model = args.model or MODELS.get(args.what)
    args.threads = args.threads or THREADS.get(args.what)
    getattr(fidelity if args.what in CHECKS else figures, args.what)(args)


main()
