#!/bin/sh
# stages.sh COMPILED PARALLEL FINAL: makes the targets in three lists and prints how long each took. The targets in PARALLEL need
# no compiler: they are made during the first list, and their output is printed afterwards. FINAL follows, one after another.
# Stops at the first failure.
set -u
cd "$(dirname "$0")/.."
work=$(mktemp -d)
background=
# Ctrl-C does not reach the background job.
trap '[ -z "$background" ] || kill $background 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

stages() {
    for stage; do
        begin=$(date +%s)
        ended=ok
        "${MAKE:-make}" --no-print-directory "$stage" || ended=FAILED
        printf '%-12s %5d s  %s\n' "$stage" $(($(date +%s) - begin)) $ended >>"$work/times"
        [ $ended = ok ] || return 1
    done
}

code=0
# shellcheck disable=SC2086
stages $2 >"$work/parallel" 2>&1 &
background=$!
# shellcheck disable=SC2086
stages $1 || code=1
wait $background || code=1
background=
cat "$work/parallel"
# shellcheck disable=SC2086
[ $code = 1 ] || stages $3 || code=1
cat "$work/times"
exit $code
