"""The contestants between hosts: each rank in a network namespace of its own, all over TCP and the same veth devices. Open MPI is not
among them: ranks of one mpirun find its daemon by an address that other namespaces do not reach."""
import pathlib
import shutil
import sys

import contestants as cast

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(cast.ROOT / "tests" / "world"))
import hosts  # noqa: E402

DEVICE, FIRST = "v0", "10.77.0.1"  # of tests/world/hosts.py
PORT = 29481


def open_hosts(count):
    problem = hosts.why_not()
    if problem:
        raise cast.Unavailable(problem)
    return hosts.Hosts(count)


def prepare_iperf(machine):
    if not shutil.which("iperf3"):
        raise cast.Unavailable("no iperf3: Debian's package iperf3 has it")
    return ""


def iperf_command(machine, ranks, collective, sizes):
    pids = ",".join(map(str, machine.hosts[:2]))
    return [sys.executable, str(HERE / "iperf_bench.py"), pids, FIRST, ",".join(map(str, sizes))], {}


# smddprun starts the ranks here; its own socket would be in the wrong namespace, so rank 0 listens by itself.
def smddp_command(memory, provider):
    def command(machine, ranks, collective, sizes):
        here = ["env", "SMDDP_BOOTSTRAP_FD=-1", f"SMDDP_BOOTSTRAP_ADDRESS={FIRST}", f"SMDDP_BOOTSTRAP_PORT={PORT}"]
        return [str(machine.build / "bin" / "smddprun"), "--no-prefix", "-n", str(ranks), *cast.placed(machine, "LOCAL_RANK"), *here,
                str(machine.cache / "bench_smddp"), collective, ",".join(map(str, sizes)), memory], \
            {"SMDDP_OFI_PROVIDER": provider} if provider else {}
    return command


def all_contestants():
    return [
        cast.Contestant("floor", "iperf3", "floor", "iperf3 --bidir: bytes over the slower direction's rate", prepare_iperf, iperf_command, ("allreduce",)),
        cast.Contestant("mpich", "MPICH", "peer", f"UCX_TLS=tcp UCX_NET_DEVICES={DEVICE} MPIR_CVAR_NOLOCAL=1", cast.prepare_mpi("mpich", "mpich"),
                        cast.mpi_command("mpich", [], "PMI_RANK", {"UCX_TLS": "tcp", "UCX_NET_DEVICES": DEVICE, "MPIR_CVAR_NOLOCAL": "1"})),
        cast.Contestant("impi", "Intel MPI", "peer", f"I_MPI_FABRICS=ofi I_MPI_COLL_INTRANODE=pt2pt FI_PROVIDER=tcp FI_TCP_IFACE={DEVICE} I_MPI_PIN=0",
                        cast.prepare_mpi("impi", "impi_rt"),
                        cast.mpi_command("impi", [], "PMI_RANK", {"I_MPI_ROOT": "{folder}", "FI_PROVIDER_PATH": "{folder}/lib", "I_MPI_FABRICS": "ofi", "I_MPI_COLL_INTRANODE": "pt2pt",
                                                                  "FI_PROVIDER": "tcp", "FI_TCP_IFACE": DEVICE, "I_MPI_PIN": "0"})),
        cast.Contestant("gloo", "gloo", "peer", f"GLOO_SOCKET_IFNAME={DEVICE}, torch.distributed, one torch thread", cast.prepare_gloo,
                        lambda machine, ranks, collective, sizes: (cast.gloo_command(machine, ranks, collective, sizes)[0],
                                                                   {"GLOO_SOCKET_IFNAME": DEVICE, "SMDDP_BENCH_HOSTS": machine.host_list()})),
        cast.Contestant("smddp", "SMDDP", "smddp", "smddprun, the provider that it chooses", cast.prepare_smddp, smddp_command("private", "")),
        cast.Contestant("smddp_net", "SMDDP net", "smddp", "SMDDP_OFI_PROVIDER=net", cast.prepare_smddp, smddp_command("private", "net")),
    ]
