"""Two hosts that are network namespaces of this machine, joined by a pair of veth: a (10.77.0.1, and a container bridge's address) and b
(10.77.0.2). Nothing of them is outside of their own namespaces, and they end with the processes that hold them."""
import os
import shutil
import subprocess
import sys
import tempfile


class Unavailable(Exception):
    """No namespaces here; the text says why."""


def become_root():
    """Plain users get a user namespace in which they may make others; runs this program again."""
    command = ["unshare", "-Ur"]
    if os.getuid() != 0 and subprocess.run([*command, "true"], capture_output=True).returncode == 0:
        os.execvp(command[0], [*command, sys.executable, "-B", *sys.argv])


class Hosts:
    """rsh, ssh: remote commands that take a or b or their addresses; the second has options and a shell, as ssh does. close() ends both."""

    NAMES = ("a", "b")
    ADDRESSES = ("10.77.0.1", "10.77.0.2")

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="smddp-namespaces-")
        self.holders = {}
        try:
            for name in self.NAMES:
                self.hold(name)
            self.join()
        except Unavailable:
            self.close()
            raise
        enter = f'pid=$(cat {self.folder}/$1) || exit 255\nshift\nexec nsenter -n -t "$pid" -- '
        self.rsh = self.script("rsh", f'{enter}"$@"\n')
        self.ssh = self.script("ssh", f'while [ "${{1#-}}" != "$1" ]; do shift; done\n{enter}sh -c "$*"\n')

    def script(self, name, text):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(file.name, 0o755)
        return file.name

    def hold(self, name):
        holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo ready; exec sleep 1000"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.holders[name] = holder
        if holder.stdout.readline() != b"ready\n":
            raise Unavailable("the kernel forbids network namespaces: " + holder.stderr.read().decode().strip())
        for alias in (name, self.ADDRESSES[self.NAMES.index(name)]):
            with open(f"{self.folder}/{alias}", "w") as file:
                file.write(str(holder.pid))

    def command(self, name, *command):
        return ["nsenter", "-n", "-t", str(self.holders[name].pid), "--", *command]

    def ip(self, name, line):
        done = subprocess.run(self.command(name, "ip", *line.split()), capture_output=True, text=True)
        if done.returncode:
            raise Unavailable(f"ip {line}: {done.stderr.strip()}")

    def join(self):
        self.ip("a", "link add docker0 type veth peer name docker1")
        self.ip("a", "addr add 172.17.0.1/16 dev docker0")
        self.ip("a", "link set docker0 up")
        self.ip("a", "link set docker1 up")
        self.ip("a", f"link add v0 type veth peer name v0 netns {self.holders['b'].pid}")
        for name, address in zip(self.NAMES, self.ADDRESSES):
            self.ip(name, "link set lo up")
            self.ip(name, f"addr add {address}/24 dev v0")
            self.ip(name, "link set v0 up")

    def close(self):
        for holder in self.holders.values():
            holder.kill()
            holder.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)
