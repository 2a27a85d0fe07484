#!/bin/sh
# place.sh VARIABLE CPU,CPU,… HOSTS PROGRAM ARGUMENT…: runs the program on the CPU of its rank, which the launcher put into VARIABLE, and
# on its host: HOSTS are process ids in whose network namespaces the ranks run, or - for here.
# The same for every library, so that none gains by its own idea of placement.
eval "rank=\${$1}"
count=$(echo "$2" | tr ',' '\n' | wc -l)
cpu=$(echo "$2" | cut -d, -f$((rank % count + 1)))
host=$(echo "$3" | cut -d, -f$((rank + 1)))
hosts=$3
shift 3
[ "$hosts" = - ] && exec taskset -c "$cpu" "$@"
# Some libraries look for devices in /sys, which shows those of the namespace that mounted it.
exec nsenter -t "$host" -n unshare -m sh -c 'mount -t sysfs sysfs /sys && exec "$@"' sh taskset -c "$cpu" "$@"
