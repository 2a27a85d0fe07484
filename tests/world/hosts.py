"""Several hosts on this machine: network namespaces on one bridge or several, held by processes of the test, so that nothing is left behind."""
import subprocess

NEEDS = ("unshare", "-n", "sh", "-c", "ip link add name a type veth peer name b && ip link add name c type bridge")


def why_not():
    """Why there can be no hosts here; None if there can."""
    result = subprocess.run(NEEDS, stdin=subprocess.DEVNULL, capture_output=True)
    return None if result.returncode == 0 else "network namespaces are not permitted here: " + result.stderr.decode().strip()


FIRST = "10.77.0.1"  # address of host 0, over its first cable


class Hosts:
    """Hosts 0 … count − 1, host h with the address 10.77.r.(h + 1) on its device vr, for each r below rails."""

    def __init__(self, count, rails=1):
        self.processes = []
        try:
            self.switch = self._hold()
            for rail in range(rails):
                self._in(self.switch, "ip", "link", "add", "name", f"bridge{rail}", "type", "bridge")
                self._in(self.switch, "ip", "link", "set", f"bridge{rail}", "up")
            self.hosts = []
            for host in range(count):
                pid = self._hold()
                self.hosts.append(pid)
                self._in(pid, "ip", "link", "set", "lo", "up")
                for rail in range(rails):
                    port, device = self.port(host, rail), f"v{rail}"
                    self._in(self.switch, "ip", "link", "add", "name", port, "type", "veth", "peer", "name", device, "netns", str(pid))
                    self._in(self.switch, "ip", "link", "set", port, "master", f"bridge{rail}", "up")
                    self._in(pid, "ip", "address", "add", f"10.77.{rail}.{host + 1}/24", "dev", device)
                    self._in(pid, "ip", "link", "set", device, "up")
        except BaseException:
            self.close()
            raise

    def _hold(self):
        process = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo ready; exec sleep 3600"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.processes.append(process)
        assert process.stdout.readline() == b"ready\n"
        return process.pid

    @staticmethod
    def port(host, rail):
        """The switch's end of a cable."""
        return f"port{host}.{rail}"

    @staticmethod
    def _in(pid, *command):
        subprocess.run(["nsenter", "-t", str(pid), "-n", *command], check=True, stdin=subprocess.DEVNULL)

    def wrap(self, host):
        """Words to put before a command that runs on the host."""
        return ("nsenter", "-t", str(self.hosts[host]), "-n")

    def cut(self, host, rail=0):
        """Pulls one of the host's cables out."""
        self._in(self.switch, "ip", "link", "set", self.port(host, rail), "down")

    def mend(self, host):
        self._in(self.switch, "ip", "link", "set", self.port(host, 0), "up")

    def sent_bytes(self, host, rail=0):
        """That have left the host over a cable so far."""
        with open(f"/proc/{self.hosts[host]}/net/dev") as file:
            line = next(line for line in file if line.split(":")[0].strip() == f"v{rail}")
        return int(line.split(":")[1].split()[8])

    def take_down(self, host, rail=0):
        """As its administrator may: ip link set down."""
        self._in(self.hosts[host], "ip", "link", "set", f"v{rail}", "down")

    def limit(self, host, rate, rail=0):
        """Both directions of a host's link, as tc writes rates: "1gbit"."""
        for pid, device in ((self.switch, self.port(host, rail)), (self.hosts[host], f"v{rail}")):
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
