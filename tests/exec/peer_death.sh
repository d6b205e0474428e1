#!/bin/sh
# peer_death.sh UNDER_MPIRUN PROGRAM TRANSPORT: one of four actors is killed in the middle of a
# step; exactly one survivor says so, and what everybody was doing.
output=$("$1" 4 "$2" --gtest_also_run_disabled_tests \
  --gtest_filter="Transports/OverMpi.DISABLED_AnActorDies/$3" 2>&1)
status=$?
fail() {
  printf '%s\n%s\nexit status %s\n' "$1" "$output" "$status"
  exit 1
}
[ "$status" -ne 0 ] || fail 'the run should have failed'
[ "$(printf '%s\n' "$output" | grep -c 'died; the actors were')" = 1 ] || fail 'not one message'
for line in 'actor 1 died' 'actor 0 waits at' 'actor 1 at 1B2' 'actor 2 ' 'actor 3 '; do
  printf '%s\n' "$output" | grep -q "$line" || fail "no line with '$line'"
done
