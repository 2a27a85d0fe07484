"""What TCP carries between two hosts, each way at the same time: iperf_bench.py HOST,HOST ADDRESS SIZES, by iperf3 --bidir. Prints, for each size
from 1 MiB on, the time in which a rank can send and receive as much: no allreduce on two ranks is faster."""
import json
import subprocess
import sys
import time

SECONDS = 2


def received(result):
    return min(result["end"][part]["bits_per_second"] for part in ("sum_received", "sum_received_bidir_reverse")) / 8


def main():
    server_host, client_host = sys.argv[1].split(",")
    address, sizes = sys.argv[2], [int(size) for size in sys.argv[3].split(",")]
    server = subprocess.Popen(["nsenter", "-t", server_host, "-n", "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.3)
        client = ["nsenter", "-t", client_host, "-n", "iperf3", "-c", address, "--bidir", "-t", str(SECONDS), "-J"]
        rate = received(json.loads(subprocess.run(client, stdout=subprocess.PIPE, check=True, timeout=SECONDS + 20).stdout))
        server.wait(10)
    finally:
        server.kill()
    for size in sizes:
        if size >= 1 << 20:
            print(json.dumps({"bytes": size, "kind": "iperf3", "ranks": 2, "median_us": size / rate * 1e6, "min_us": size / rate * 1e6}))


if __name__ == "__main__":
    main()
