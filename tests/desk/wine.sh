# shellcheck shell=sh disable=SC2154
# Sourced by scripts that start Windows programs: sets up a Wine prefix in the folder $work, with the DLL that Wine 8 lacks.
x86_64-w64-mingw32-gcc -shared -O1 -o "$work/bcryptprimitives.dll" tests/desk/bcryptprimitives.c -ladvapi32
export WINEPREFIX="$work/wine" WINEPATH="$work" WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml="
wineboot -i >/dev/null 2>&1
