"""Ports of a job: nobody else gets them, also when many jobs start at once; rank 0's program can use MASTER_PORT."""
# ctest: TIMEOUT 300
import socket
import subprocess
import sys

import smddp_test
from smddp_test import SMDDPRUN, smddprun, start

SHOW = "echo $SMDDP_BOOTSTRAP_PORT $MASTER_PORT; read wait"

# Rank 0 accepts on the inherited listener, the others connect; then rank 0 serves on MASTER_PORT as a store would.
MEET = """
import os, socket, time
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address = os.environ["MASTER_ADDR"]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
assert address == os.environ["SMDDP_BOOTSTRAP_ADDRESS"]
if rank == 0:
  listener = socket.socket(fileno=int(os.environ["SMDDP_BOOTSTRAP_FD"]))
  peers = [listener.accept()[0] for _ in range(size - 1)]
  store = socket.socket(family)
  store.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
  store.bind(("", int(os.environ["MASTER_PORT"])))
  store.listen()
  for peer in peers: peer.sendall(os.environ["SMDDP_JOB_ID"].encode())
  for peer in peers: store.accept()[0].sendall(b"stored")
else:
  peer = socket.create_connection((address, int(os.environ["SMDDP_BOOTSTRAP_PORT"])))
  assert peer.recv(100).decode() == os.environ["SMDDP_JOB_ID"]
  assert socket.create_connection((address, int(os.environ["MASTER_PORT"]))).recv(10) == b"stored"
print("met")
"""

def namespaces_work():
    return subprocess.run(["unshare", "-Urn", "true"], capture_output=True).returncode == 0


class Ports(smddp_test.TestCase):
    def test_eight_launchers_at_once(self):
        for _ in range(3):
            jobs = [start(SMDDPRUN, "-n", "1", "--no-prefix", "sh", "-c", SHOW, stdin=subprocess.PIPE) for _ in range(8)]
            ports = [port for job in jobs for port in job.stdout.readline().split()]
            self.assertEqual(len(ports), 16)
            self.assertEqual(len(set(ports)), 16, ports)
            for job in jobs:
                job.communicate(b"\n", timeout=20)
                self.assertEqual(job.returncode, 0)

    def test_ranks_meet(self):
        jobs = [start(SMDDPRUN, "-n", "4", sys.executable, "-S", "-c", MEET) for _ in range(8)]
        for job in jobs:
            out, err = job.communicate(timeout=60)
            self.assertEqual((job.returncode, out.count(b"met")), (0, 4), err)

    def test_reserved_port_is_kept(self):
        job = start(SMDDPRUN, "-n", "1", "--no-prefix", "sh", "-c", SHOW, stdin=subprocess.PIPE)
        _, port = map(int, job.stdout.readline().split())
        with socket.socket() as other, self.assertRaises(OSError):
            other.bind(("127.0.0.1", port))
        job.communicate(b"\n", timeout=20)
        with socket.socket() as other:
            other.bind(("127.0.0.1", port))

    def test_restarts(self):
        for _ in range(20):
            self.assert_status(smddprun("-n", "2", sys.executable, "-S", "-c", MEET), 0)

    def test_without_ipv4_loopback(self):
        self.in_namespace("ip link set lo up; ip addr del 127.0.0.1/8 dev lo", "::1")

    def test_loopback_only(self):
        self.in_namespace("ip link set lo up", "127.0.0.1")

    def in_namespace(self, setup, address):
        if not namespaces_work():
            self.skipTest("no user and network namespaces here")
        result = smddp_test.run("unshare", "-Urn", "sh", "-c", setup + '; exec "$@"', "sh", SMDDPRUN, "-n", "3", sys.executable, "-S", "-c",
                                MEET + "\nprint(address)")
        self.assert_status(result, 0)
        self.assertEqual(result.stdout.count(b"] " + address.encode()), 3, result.stdout)

    def test_loopback_down(self):
        if not namespaces_work():
            self.skipTest("no user and network namespaces here")
        result = smddp_test.run("unshare", "-Urn", SMDDPRUN, "-n", "2", "sh", "-c", "echo started")
        self.assert_status(result, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), [b"[0] started", b"[1] started"])
        self.assert_says(result, "no loopback interface is up")


if __name__ == "__main__":
    smddp_test.main()
