#!/bin/sh
# Starts a test program for arm64. A program in QEMU cannot start another arm64 program (that would need binfmt_misc for the
# whole machine). So a script replaces the program that it would start, $DESK_PROGRAM, and starts the original in QEMU.
set -eu
if [ "$(head -c 4 "$DESK_PROGRAM" | tail -c 3)" = ELF ]; then
    # An earlier run may have left a hard link to the same file, and mv would do nothing.
    rm -f "$DESK_PROGRAM.arm64"
    mv "$DESK_PROGRAM" "$DESK_PROGRAM.arm64"
    printf '#!/bin/sh\nexec qemu-aarch64-static "%s" "$@"\n' "$DESK_PROGRAM.arm64" >"$DESK_PROGRAM"
    chmod +x "$DESK_PROGRAM"
fi
exec qemu-aarch64-static "$@"
