#!/bin/sh
# Makes the two small fonts that plots embed. Run it again when the texts of plots in strings.json get new characters.
# Needs fonttools (pip install fonttools) and the full fonts (Debian: fonts-noto-core, fonts-noto-cjk):
#   sh subset.sh NotoSans-Regular.ttf NotoSansCJK-Regular.ttc
set -eu
sans=$1 cjk=$2
cd "$(dirname "$0")"
# The names kept are copyright, licence and where the licence is.
subset() { pyftsubset "$@" --no-hinting --layout-features= --name-IDs=0,13,14; }

# ASCII, Latin-1, Latin Extended-A, Greek, Cyrillic, punctuation.
subset "$sans" --output-file=NotoSans.ttf --unicodes=U+0020-007E,U+00A0-017F,U+0218-021B,U+0370-03FF,\
U+0400-045F,U+0490-0491,U+2010-2015,U+2018-201E,U+2020-2022,U+2026,U+2030,U+2032-2033,U+2039-203A,U+20AC,\
U+2116,U+2122,U+FFFD

# What the texts of plots in strings.json hold, full-width punctuation, and the arrows and signs that the other font lacks.
# In the collection number 2 is Simplified Chinese.
subset "$cjk" --font-number=2 --output-file=NotoSansCJKsc.otf --text="$(grep '"plot\.' ../../strings.json)" \
    --unicodes=U+2190-2193,U+2194,U+2212,U+221E,U+2248,U+2260,U+2264-2265,U+3001-3002,U+FF08-FF09,U+FF0C,U+FF1A
