#!/bin/sh
# stages.sh COMPILED BESIDE THEN: makes the targets of three lists, and prints how long each took. BESIDE are those that need no
# compiler: they are made while the first list is, and what they print is kept until it is done. THEN follow the others, one after
# another. The first that fails ends it.
set -u
cd "$(dirname "$0")/.."
work=$(mktemp -d)
ready=
# Ctrl-C does not reach what runs beside.
trap '[ -z "$ready" ] || kill $ready 2>/dev/null; rm -rf "$work"' EXIT
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
stages $2 >"$work/beside" 2>&1 &
ready=$!
# shellcheck disable=SC2086
stages $1 || code=1
wait $ready || code=1
ready=
cat "$work/beside"
# shellcheck disable=SC2086
[ $code = 1 ] || stages $3 || code=1
cat "$work/times"
exit $code
