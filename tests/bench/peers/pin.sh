#!/bin/sh
# pin.sh VARIABLE CPU,CPU,… PROGRAM ARGUMENT…: runs the program on the CPU of its rank, which the launcher put into VARIABLE.
# The same for every library, so that none gains by its own idea of placement.
eval "rank=\${$1}"
count=$(echo "$2" | tr ',' '\n' | wc -l)
cpu=$(echo "$2" | cut -d, -f$((rank % count + 1)))
shift 2
exec taskset -c "$cpu" "$@"
