"""A Slurm of this machine alone: munged, slurmctld and slurmd, started by the test as root in a folder of its own, gone afterwards."""
import os
import shutil
import socket
import subprocess
import tempfile

import smddp_test
from smddp_test import Unavailable

CONFIGURATION = """\
ClusterName=smddp
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
MpiDefault=none
SlurmdParameters=config_overrides
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def find(program):
    path = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        raise Unavailable(f"there is no {program} (packages slurm-wlm and munge)")
    return path


class Cluster:
    """Raises Unavailable. close() ends all processes."""

    def __init__(self):
        self.processes = []
        self.folder = None
        if os.getuid() != 0:
            raise Unavailable("only root can start slurmd")
        programs = {name: find(name) for name in ("munged", "slurmctld", "slurmd", "srun", "sinfo", "scancel")}
        host = socket.gethostname().split(".")[0]
        try:
            socket.gethostbyname(host)
        except OSError as problem:
            raise Unavailable(f"the host's name {host} cannot be resolved, so Slurm cannot use it: {problem}")
        self.folder = tempfile.mkdtemp(prefix="smddp-slurm-")
        self.srun, self.scancel = programs["srun"], programs["scancel"]
        try:
            self.start(host, programs)
        except Unavailable:
            self.close()
            raise

    def start(self, host, programs):
        for name in ("munge", "state", "spool"):
            os.mkdir(f"{self.folder}/{name}", 0o755)
        with open(f"{self.folder}/munge/key", "wb") as key:
            os.fchmod(key.fileno(), 0o400)
            key.write(os.urandom(1024))
        controller, daemon = free_ports(2)
        self.configuration = f"{self.folder}/slurm.conf"
        with open(self.configuration, "w") as file:
            file.write(CONFIGURATION.format(host=host, folder=self.folder, controller=controller, daemon=daemon))
        munge = f"{self.folder}/munge"
        self.run_daemon("munged", programs["munged"], "--force", "--foreground", f"--key-file={munge}/key", f"--socket={munge}/socket",
                        f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        if not smddp_test.until(lambda: os.path.exists(f"{munge}/socket"), 10):
            raise Unavailable("munged does not start: " + self.log("munged"))
        self.run_daemon("slurmctld", programs["slurmctld"], "-D", "-f", self.configuration)
        self.run_daemon("slurmd", programs["slurmd"], "-D", "-f", self.configuration)
        idle = lambda: "idle" in subprocess.run([programs["sinfo"], "-h", "-o", "%t"], env=self.environment(), capture_output=True,
                                                text=True, timeout=30).stdout
        if not smddp_test.until(idle, 30, 0.2):
            raise Unavailable("Slurm does not start: " + " | ".join(self.log(name)[-300:] for name in ("slurmctld", "slurmd")))

    def run_daemon(self, name, *command):
        with open(f"{self.folder}/{name}.out", "wb") as log:
            self.processes.append(subprocess.Popen(command, env=self.environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def log(self, name):
        with open(f"{self.folder}/{name}.out", errors="replace") as file:
            return " ".join(file.read().split("\n")[-6:])

    def environment(self, **changes):
        return smddp_test.environment(SLURM_CONF=f"{self.folder}/slurm.conf", **changes)

    def close(self):
        if len(self.processes) == 3:
            subprocess.run([self.scancel, "-u", "root"], env=self.environment(), capture_output=True, timeout=30)
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = []
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)
