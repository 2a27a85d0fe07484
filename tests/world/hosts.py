"""Several hosts on this machine: network namespaces on one bridge, held by processes of the test, so that nothing is left behind."""
import subprocess

NEEDS = ("unshare", "-n", "sh", "-c", "ip link add name a type veth peer name b && ip link add name c type bridge")


def why_not():
    """Why there can be no hosts here; None if there can."""
    result = subprocess.run(NEEDS, stdin=subprocess.DEVNULL, capture_output=True)
    return None if result.returncode == 0 else "network namespaces are not permitted here: " + result.stderr.decode().strip()


class Hosts:
    """Hosts 0 … count − 1, host h with the address 10.77.0.(h + 1) on its device v0."""

    def __init__(self, count):
        self.processes = []
        try:
            self.switch = self._hold()
            self._in(self.switch, "ip", "link", "add", "name", "bridge", "type", "bridge")
            self._in(self.switch, "ip", "link", "set", "bridge", "up")
            self.hosts = []
            for host in range(count):
                pid = self._hold()
                self.hosts.append(pid)
                self._in(self.switch, "ip", "link", "add", "name", f"port{host}", "type", "veth", "peer", "name", "v0", "netns", str(pid))
                self._in(self.switch, "ip", "link", "set", f"port{host}", "master", "bridge", "up")
                self._in(pid, "ip", "address", "add", f"10.77.0.{host + 1}/24", "dev", "v0")
                self._in(pid, "ip", "link", "set", "v0", "up")
                self._in(pid, "ip", "link", "set", "lo", "up")
        except BaseException:
            self.close()
            raise

    def _hold(self):
        process = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo ready; exec sleep 3600"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.processes.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process.pid

    @staticmethod
    def _in(pid, *command):
        subprocess.run(["nsenter", "-t", str(pid), "-n", *command], check=True, stdin=subprocess.DEVNULL)

    def wrap(self, host):
        """Words to put before a command that runs on the host."""
        return ("nsenter", "-t", str(self.hosts[host]), "-n")

    def cut(self, host):
        """Pulls the host's cable out."""
        self._in(self.switch, "ip", "link", "set", f"port{host}", "down")

    def mend(self, host):
        self._in(self.switch, "ip", "link", "set", f"port{host}", "up")

    def sent_bytes(self, host):
        """That have left the host over its cable so far."""
        with open(f"/proc/{self.hosts[host]}/net/dev") as file:
            line = next(line for line in file if line.split(":")[0].strip() == "v0")
        return int(line.split(":")[1].split()[8])

    def limit(self, host, rate):
        """Both directions of a host's link, as tc writes rates: "1gbit"."""
        for pid, device in ((self.switch, f"port{host}"), (self.hosts[host], "v0")):
            self._in(pid, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst", "256kb", "latency", "50ms")

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
