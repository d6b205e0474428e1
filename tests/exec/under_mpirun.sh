#!/bin/sh
# under_mpirun.sh N PROGRAM [ARGUMENT]...: with the environment that users get.
set -e
here=$(dirname "$0")
. "$here/../../tools/env.sh"
n=$1
shift
exec mpirun -n "$n" "$@"
