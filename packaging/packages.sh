#!/bin/sh
# Builds what is installed: sh packaging/packages.sh wheel | pyz | tree | deb | rpm | sbom | recipes | lock. `make wheel` and so on call it.
# Everything goes to dist/ (or $OUT). $PYTHON is the Python that builds; uv must be beside it or on the path for all but the wheel.
# $PARTS narrows the Pythons and machines of the bundle: PARTS="--python 3.12 --machine x86_64".
set -eu
cd "$(dirname "$0")/.."
OUT=${OUT:-dist}
PYTHON=${PYTHON:-python3}
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd)
# Two builds of one commit give the same bytes: all dates are the commit's, or that which hatchling takes where there is none.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --pretty=%ct 2>/dev/null || echo 1580601600)}
export SOURCE_DATE_EPOCH
export LC_ALL=C.UTF-8 TZ=UTC
umask 022
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' advisor/__init__.py)

say() { printf 'packages: %s\n' "$*" >&2; }
dated() { date -u -d "@$SOURCE_DATE_EPOCH" "$1"; }

needs() {
    command -v "$1" >/dev/null 2>&1 || { say "$1 is needed; on Debian: apt-get install $2"; exit 2; }
}

wheel() { # the wheel is built from the sdist, as whoever gets the sdist would
    rm -f "$OUT"/hpc_advisor-*
    "$PYTHON" -m build --outdir "$OUT" . >"$OUT/build.log" 2>&1 || { tail -n 5 "$OUT/build.log" >&2; exit 2; }
    rm -f "$OUT/build.log"
    ls "$OUT"/hpc_advisor-*
}

bundle() {
    [ -n "$(ls "$OUT"/hpc_advisor-*.whl 2>/dev/null)" ] || wheel
    # shellcheck disable=SC2086 # several words
    "$PYTHON" packaging/bundle.py --wheel "$OUT"/hpc_advisor-*.whl -o "$OUT" ${PARTS:-}
}

tree() { # what both kinds of packages are made of
    [ -f "$OUT/bundle/bundle.json" ] || bundle
    tree=$OUT/advisor-$version
    rm -rf "$tree"
    mkdir -p "$tree/doc"
    cp -r "$OUT/bundle" packaging/completions packaging/etc packaging/debian "$tree"
    cp -r docs/man "$tree/man"
    "$PYTHON" -m docs reference
    cp -r docs/*.md docs/reference docs/examples docs/pictures docs/decisions README.md SECURITY.md "$tree/doc"
    cp LICENSE CHANGELOG.md packaging/advisor.spec packaging/compile.sh "$tree"
    sed -i '1s|.*|#!/usr/bin/python3 -I|' "$tree/bundle/__main__.py"
    find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

deb() {
    needs dpkg-buildpackage dpkg-dev
    needs dh debhelper
    tree
    sed "s|@VERSION@|$version|; s|@DATE@|$(dated '+%a, %d %b %Y %H:%M:%S +0000')|" packaging/debian/changelog >"$tree/debian/changelog"
    (cd "$tree" && dpkg-buildpackage -b -us -uc ${DEB_ARCH:+-a"$DEB_ARCH"} >"$OUT/deb.log" 2>&1) || { tail -n 15 "$OUT/deb.log" >&2; exit 2; }
    rm -rf "$tree" "$OUT/deb.log"
    ls "$OUT"/advisor_*.deb
}

rpm() {
    needs rpmbuild rpm
    tree
    top=$OUT/rpmbuild
    rm -rf "$top" "$tree/debian"
    mkdir -p "$top/SOURCES"
    (cd "$OUT" && tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "advisor-$version") |
        gzip -9n >"$top/SOURCES/advisor-$version.tar.gz"
    rpmbuild -bb --define "_topdir $top" --define "version $version" --define "changelog_date $(dated '+%a %b %d %Y')" \
        --target "${RPM_ARCH:-$(uname -m)}" "$tree/advisor.spec" >"$OUT/rpm.log" 2>&1 || { tail -n 15 "$OUT/rpm.log" >&2; exit 2; }
    cp "$top"/RPMS/*/advisor-*.rpm "$OUT"
    rm -rf "$top" "$tree" "$OUT/rpm.log"
    ls "$OUT"/advisor-*.rpm
}

sbom() { # of what the bundle holds
    [ -f "$OUT/bundle/bundle.json" ] || bundle
    "$PYTHON" packaging/sbom.py --bundle "$OUT/bundle" -o "$OUT/advisor.cdx.json"
}

recipes() { # for module trees and containers, which take advisor.pyz by its checksum
    [ -f "$OUT/advisor.pyz" ] || bundle
    sum=$(sha256sum "$OUT/advisor.pyz" | cut -d ' ' -f 1)
    rm -rf "$OUT/recipes"
    mkdir -p "$OUT/recipes"
    cp -r packaging/spack packaging/advisor.def "$OUT/recipes"
    cp packaging/easybuild/hpc-advisor.eb "$OUT/recipes/hpc-advisor-$version.eb"
    find "$OUT/recipes" -type f -exec sed -i "s/@VERSION@/$version/; s/@SHA256@/$sum/" {} +
    ls "$OUT/recipes"
}

lock() { # newest releases of all that pyproject.toml names and what they need, each with its hashes
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    : >"$folder/all.txt"
    backend | compile "$folder/all.txt" - --upgrade --extra plots --extra test --extra lint --extra package
    # Of all together, so that what is installed one after the other fits; each file holds what it adds to lock.txt and lock-plots.txt.
    compile packaging/lock.txt
    compile packaging/lock-plots.txt --extra plots
    backend | compile packaging/lock-build.txt -
    for extra in test lint package; do compile "packaging/lock-$extra.txt" --extra "$extra"; done
}

backend() { # what builds the project, and what that wants for an installation that stays in the checkout
    sed -n 's/^requires = \["\(.*\)"\]$/\1/p' pyproject.toml
    echo editables
}

compile() { # FILE OPTION...: uv keeps to the releases that the file names beforehand
    file=$1
    shift
    # shellcheck disable=SC2046 # several words
    case $file in
        packaging/lock-plots.txt) set -- "$@" $(without packaging/lock.txt) ;;
        packaging/lock-*) set -- "$@" $(without packaging/lock.txt packaging/lock-plots.txt) ;;
    esac
    [ "$file" = "$folder/all.txt" ] || cp "$folder/all.txt" "$file"
    uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes \
        --custom-compile-command 'make lock' -o "$file" "$@"
}

without() { # FILE...: the options that leave out what these name
    sed -n 's/^\([a-z0-9-]*\)==.*/--no-emit-package \1/p' "$@"
}

PATH=$(dirname "$(command -v "$PYTHON")"):$PATH
case ${1:-} in
    wheel | tree | deb | rpm | sbom | recipes | lock) "$1" ;;
    pyz) bundle ;;
    *) say "usage: sh packaging/packages.sh wheel | pyz | tree | deb | rpm | sbom | recipes | lock"; exit 2 ;;
esac
