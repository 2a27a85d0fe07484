"""Two hosts (hosts.py) with names and remote commands: a, which has a container bridge's address too, and b."""
import os
import shutil
import subprocess
import sys
import tempfile

import hosts
from smddp_test import Unavailable


def become_root():
    """Plain users get a user namespace in which they may make others; runs this program again."""
    command = ["unshare", "-Ur"]
    if os.getuid() != 0 and subprocess.run([*command, "true"], capture_output=True).returncode == 0:
        os.execvp(command[0], [*command, sys.executable, "-B", *sys.argv])


class Hosts(hosts.Hosts):
    """rsh, ssh: remote commands that take a or b or their addresses; the second has options and a shell, as ssh does. close() ends both."""

    NAMES = ("a", "b")
    ADDRESSES = ("10.77.0.1", "10.77.0.2")

    def __init__(self):
        problem = hosts.why_not()
        if problem:
            raise Unavailable(problem)
        self.folder = tempfile.mkdtemp(prefix="smddp-namespaces-")
        super().__init__(len(self.NAMES))
        self.ip("a", "link add name docker0 type veth peer name docker1")
        self.ip("a", "addr add 172.17.0.1/16 dev docker0")
        self.ip("a", "link set docker0 up")
        self.ip("a", "link set docker1 up")
        for pid, aliases in zip(self.hosts, zip(self.NAMES, self.ADDRESSES)):
            for alias in aliases:
                with open(f"{self.folder}/{alias}", "w") as file:
                    file.write(str(pid))
        enter = f'pid=$(cat {self.folder}/$1) || exit 255\nshift\nexec nsenter -n -t "$pid" -- '
        self.rsh = self.script("rsh", f'{enter}"$@"\n')
        self.ssh = self.script("ssh", f'while [ "${{1#-}}" != "$1" ]; do shift; done\n{enter}sh -c "$*"\n')

    def script(self, name, text):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(file.name, 0o755)
        return file.name

    def command(self, name, *command):
        return [*self.wrap(self.NAMES.index(name)), "--", *command]

    def ip(self, name, line):
        self._in(self.hosts[self.NAMES.index(name)], "ip", *line.split())

    def close(self):
        super().close()
        shutil.rmtree(self.folder, ignore_errors=True)
