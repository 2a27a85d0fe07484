"""Where a container forbids membarrier to one rank, or to all, all publish with fences of their own: results are right and nobody sleeps on."""
# ctest: TIMEOUT 120
import ctypes
import os
import sys

import smddp_test
from smddp_test import BENCH, SMDDPRUN

SYS_MEMBARRIER, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 324, 38, 22, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, EPERM = 0x7FFF0000, 0x00050001


class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("yes", ctypes.c_uint8), ("no", ctypes.c_uint8), ("value", ctypes.c_uint32)]


class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(Instruction))]


def forbid_membarrier():
    code = (Instruction * 4)((LOAD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, SYS_MEMBARRIER), (RETURN, 0, 0, EPERM), (RETURN, 0, 0, ALLOW))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(Program(4, code))) == 0, os.strerror(ctypes.get_errno())


class WithoutMembarrier(smddp_test.TestCase):
    def test_some_or_all(self):
        if os.uname().machine != "x86_64":
            self.skipTest("the filter knows system calls of x86-64 only")
        for forbidden in ("1", "0", "0,1,2"):
            with self.subTest(forbidden=forbidden):
                # Asleep at once, so that every operation has to wake somebody.
                result = smddp_test.run(SMDDPRUN, "-n", "3", "--no-prefix", sys.executable, "-B", os.path.abspath(__file__), "--rank", forbidden,
                                        BENCH, "all", "-b", "4", "-e", "256K", "-f", "64", "-n", "20", "-w", "0", "--timeout-ms", "20000", timeout=100,
                                        env=smddp_test.environment(SMDDP_SPIN_US="0", SMDDP_YIELD_US="0"))
                self.assert_status(result, 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rank"]:
        if os.environ["LOCAL_RANK"] in sys.argv[2].split(","):
            forbid_membarrier()
        os.execv(sys.argv[3], sys.argv[3:])
    smddp_test.main()
