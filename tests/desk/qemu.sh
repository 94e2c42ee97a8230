#!/bin/sh
# Starts a test's program for arm64. One under QEMU can start no other of arm64 (that wants binfmt_misc, which is the whole
# machine's): a script takes the name of the program that it would start, $DESK_PROGRAM, and starts that under QEMU.
set -eu
if [ "$(head -c 4 "$DESK_PROGRAM" | tail -c 3)" = ELF ]; then
    # Of one before it a name of the same file may be there, and mv would do nothing.
    rm -f "$DESK_PROGRAM.arm64"
    mv "$DESK_PROGRAM" "$DESK_PROGRAM.arm64"
    printf '#!/bin/sh\nexec qemu-aarch64-static "%s" "$@"\n' "$DESK_PROGRAM.arm64" >"$DESK_PROGRAM"
    chmod +x "$DESK_PROGRAM"
fi
exec qemu-aarch64-static "$@"
