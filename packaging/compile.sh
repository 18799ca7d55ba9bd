#!/bin/sh
# After an installation: compiles the product for each Python here that it has parts for, since users could not keep what
# Python compiles and each start would take twice as long. `compile.sh remove` takes it away again.
set -eu
here=${ADVISOR_LIBRARY:-/usr/lib/advisor}
find "$here" -name __pycache__ -prune -exec rm -rf {} +
[ "${1:-}" != remove ] || exit 0
for parts in "$here"/cp3*; do
    version=3.$(basename "$parts" | sed 's/^cp3\([0-9]*\)-.*/\1/')
    if command -v "python$version" >/dev/null 2>&1; then
        # A release may have a file for newer Pythons only: what cannot be compiled stays as it is.
        "python$version" -m compileall -q "$here/common" "$parts" >/dev/null 2>&1 || :
    fi
done
