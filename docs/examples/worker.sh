#!/bin/sh
# A worker in a shell.
#
#   TENURE_URL=http://127.0.0.1:7878 sh worker.sh job
#
# `tenure work` leases, renews, and commits what came of it, also over a server that is killed and started again; for every item
# it runs this same file. The payload is on standard input, what is written to standard output is committed, and an exit code
# other than 0 is a failure that is tried again.
set -eu

# The work itself: yours goes here. It may run more than once; what it writes is committed once.
handle() {
    printf '{"hello":%s}\n' "$(cat)"
}

if [ -n "${TENURE_EXECUTION-}" ]; then
    handle
else
    exec tenure work "$@" -- sh "$0"
fi
