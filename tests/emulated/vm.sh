#!/bin/bash
# Runs a command on an emulated server (servers.py lists them), which sees this host's files. What it writes is lost,
# except under /run/vm, which is $VM_OUT here. Ends with the command's status, or with 125 if there is none.
#   vm.sh [-n ID | -c COUNT] [-v] SERVER COMMAND...
# -n ID     as guest nID, 10.9.0.ID on the link that VM_LINK (a port) names, with ssh
# -c COUNT  on n1 of so many guests
# -v        the guest's console to stderr
# The first run of a server boots it and keeps a snapshot, from which later runs start. Needs root and Debian 12.
# VM_CACHE   where kernel, initramfs and snapshots are kept (~/.cache/advisor-vm)
# VM_TIMEOUT seconds that qemu may take (600);  QEMU: another qemu (else $VM_CACHE/qemu, else the host's)
set -eu
here=$(dirname "$(readlink -f "$0")")
cache=${VM_CACHE:-$HOME/.cache/advisor-vm}
# The module tree of the guests' kernel, which is unpacked here and not installed.
kernel_root=$cache/k

main() {
    local id="" count=1 verbose="" option
    while getopts c:n:v option; do
        case $option in c) count=$OPTARG ;; n) id=$OPTARG ;; v) verbose=1 ;; *) exit 2 ;; esac
    done
    shift $((OPTIND - 1))
    if [ $# -lt 2 ]; then sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; fi
    machine=$1; shift
    [ "$count" = 1 ] || id=1
    prepare_run
    exec 9>"$cache/lock"; flock 9
    prepare_kernel
    prepare_initramfs
    prepare_keys
    prepare_machine
    [ -e "$snapshot" ] || take_snapshot
    exec 9>&-
    for ((i = 2; i <= count; i++)); do start_other "$i"; done
    write_guest_script "$id" "$count" "$@"
    run_guest "$id"
    [ -z "$verbose" ] || cat "$run/console" >&2
    [ -e "$out/.status" ] || die "the guest ended without a status"
    exit "$(cat "$out/.status")"
}

prepare_run() {
    pid=; others=()
    export VM_LINK=${VM_LINK:-$((9000 + $$ % 1000))}
    mkdir -p "$cache/$machine"
    folder=$cache/$machine
    run=$(mktemp -d "$cache/run.XXXXXX")
    out=${VM_OUT:-$run/out}
    mkdir -p "$out"
    trap clean_up EXIT
    trap 'exit 143' TERM INT
    mkfifo "$run/monitor.in" "$run/go.in"
    ln -s /dev/null "$run/monitor.out"
    ln -s /dev/null "$run/go.out"
}

# shellcheck disable=SC2317  # the trap calls it
clean_up() {
    local each
    for each in $pid "${others[@]}"; do kill "$each" 2>/dev/null || true; done
    rm -rf "$run"
}

die() {
    grep -hv "TCG doesn't support" "$run/errors" >&2 || true
    tail -20 "$run/console" >&2 || true
    echo "vm.sh: $machine: $*" >&2
    exit 125
}

# Debian's kernel. A bare vmlinux boots 4 s sooner than vmlinuz, which qemu would have to unpack instruction by instruction.
prepare_kernel() {
    [ ! -e "$cache/vmlinux" ] || return 0
    local package
    package=$(apt-cache depends linux-image-amd64 | awk '/Depends: linux-image/ {print $2; exit}')
    [ -n "$package" ] || { echo "vm.sh: apt knows no linux-image-amd64: run apt-get update" >&2; exit 125; }
    (
        cd "$cache"
        apt-get -o APT::Sandbox::User=root download -qq "$package"
        dpkg-deb -x "$package"_*.deb "$kernel_root"
        rm "$package"_*.deb
        depmod -b "$kernel_root" "${package#linux-image-}"
        unpack_kernel <"$kernel_root/boot/vmlinuz-${package#linux-image-}" >vmlinux.new
        mv vmlinux.new vmlinux
    )
}

unpack_kernel() {
    python3 -c '
import lzma, sys
data = sys.stdin.buffer.read()
sys.stdout.buffer.write(lzma.LZMADecompressor().decompress(data[data.find(b"\xfd7zXZ\0"):]))'
}

# busybox, the modules that reach the host's files, and init.
prepare_initramfs() {
    [ ! "$cache/initramfs.cpio" -nt "$here/init" ] || return 0
    local tree=$cache/initramfs version module file
    version=$(basename "$kernel_root"/lib/modules/*)
    rm -rf "$tree"
    mkdir -p "$tree"/{bin,m,proc,sys,dev,ro,rw,root}
    cp "$(command -v busybox)" "$tree/bin/busybox"
    install -m 755 "$here/init" "$tree/init"
    for module in virtio_pci 9pnet_virtio 9p overlay virtio_console; do
        modprobe -d "$kernel_root" -S "$version" --show-depends $module | awk '{print $2}'
    done | awk '!seen[$0]++' | while read -r file; do
        cp "$file" "$tree/m/"
        echo "/m/${file##*/}"
    done >"$tree/mods"
    (cd "$tree" && find . | busybox cpio -o -H newc 2>/dev/null) >"$cache/initramfs.new"
    mv "$cache/initramfs.new" "$cache/initramfs.cpio"
}

# Keys for ssh between guests; nothing else ever accepts them.
prepare_keys() {
    [ ! -e "$cache/key" ] && command -v dropbearkey >/dev/null || return 0
    ssh-keygen -q -t ed25519 -N "" -f "$cache/key"
    dropbearkey -t ed25519 -f "$cache/hostkey" >/dev/null 2>&1
}

# qemu's command line ($base), the server's tables, and the name of a snapshot that fits them ($snapshot).
prepare_machine() {
    local major version khz
    local -a args
    if [ -z "${QEMU:-}" ]; then QEMU=$cache/qemu; [ -x "$QEMU" ] || QEMU=qemu-system-x86_64; fi
    version=$("$QEMU" --version | head -1); major=${version#*version }; major=${major%%.*}
    PYTHONPATH=$here/../.. python3 -m tests.emulated.machine "$machine" "$folder" "$major" >"$run/args"
    mapfile -t args <"$run/args"
    cat "$folder/acpi.cpio" "$cache/initramfs.cpio" >"$run/initrd"
    cmp -s "$run/initrd" "$folder/initrd" || mv "$run/initrd" "$folder/initrd"
    # The guest counts the host's TSC; measured by itself on a busy host, its rate may be far off.
    khz=$(awk '/bogomips/ {print int($3 * 500); exit}' /proc/cpuinfo)
    snapshot=$folder/snapshot-$({ echo "$version $khz"; cat "$0" "$run/args" "$folder/initrd" "$folder"/smbios*; } | sha256sum | cut -c1-12)
    # shellcheck disable=SC2054  # the commas are qemu's
    # One TCG thread: 64 of them fight over a few cores, and a boot takes seven times as long.
    base=(timeout "${VM_TIMEOUT:-600}" "$QEMU" -accel tcg,thread=single -nodefaults -no-user-config -nographic -no-reboot "${args[@]}"
        -kernel "$cache/vmlinux" -initrd "$folder/initrd"
        -append "console=ttyS0 quiet panic=-1 mitigations=off nowatchdog no_timer_check tsc=reliable tsc_early_khz=$khz lpj=$((khz * 4)) rcupdate.rcu_cpu_stall_suppress=1"
        -fsdev local,id=r,path=/,security_model=none,readonly=on,multidevs=remap
        -device virtio-9p-pci,bus=pcie.0,fsdev=r,mount_tag=hostroot
        -fsdev local,id=d,path="$out",security_model=none,multidevs=remap
        -device virtio-9p-pci,bus=pcie.0,fsdev=d,mount_tag=vmdir
        -device virtio-serial-pci,bus=pcie.0 -device virtserialport,chardev=out -device virtserialport,chardev=err
        -chardev file,id=con,path="$run/console" -serial chardev:con
        -chardev pipe,id=go,path="$run/go" -serial chardev:go -monitor chardev:mon)
}

take_snapshot() {
    echo "vm.sh: $machine: booting once for a snapshot" >&2
    rm -f "$folder"/snapshot-*
    exec 3<>"$run/monitor.in"
    "${base[@]}" -chardev pipe,id=mon,path="$run/monitor" -chardev null,id=out -chardev null,id=err \
        -netdev hubport,id=n0,hubid=0 >/dev/null 2>"$run/errors" 9>&- &
    pid=$!
    until grep -aqs "vm: ready" "$run/console"; do kill -0 $pid 2>/dev/null || die "did not boot"; sleep 0.1; done
    printf '%s\n' "migrate_set_parameter max-bandwidth 4G" "migrate \"exec:cat >$snapshot.new\"" quit >&3
    wait $pid || die "no snapshot"
    pid=
    exec 3>&-
    mv "$snapshot.new" "$snapshot"
}

start_other() {
    VM_OUT="" "$0" -n "$1" "$machine" sleep infinity &
    others+=($!)
}

# shellcheck disable=SC2016  # the guest is to expand them
# The script that the guest runs: environment, clock, link, the command, its status, and off.
write_guest_script() {
    local id=$1 count=$2 path
    shift 2
    # The interpreter's own folder goes first: pyenv's shims take 6 s a start in the guest.
    path=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
    rm -f "$out/.status"
    {
        export -p | grep -E ' (HOME|LANG|LC_[A-Z]*|PYTHON[A-Z]*|VIRTUAL_ENV|VM_CACHE)=' || true
        echo "export PATH=$path VM_ID=$id; date -s @$(date +%s) >/dev/null; hostname n${id:-0}; ip link set lo up"
        [ -z "$id" ] || guest_link "$id" "$count" "$path"
        printf 'cd %q 2>/dev/null || cd /\n' "$PWD"
        # By way of pipes: the ports take at most 32 KiB at a time, and not every program looks how much was taken.
        # A process left behind may hold them open: they get five seconds.
        echo 'mkfifo /run/out /run/err; cat /run/out >/dev/vport?p1 & cats=$!; cat /run/err >/dev/vport?p2 & cats="$cats $!"'
        printf '( %s) >/run/out 2>/run/err </dev/null\n' "$(printf '%q ' "$@")"
        echo 'echo $? >/run/vm/.status; (sleep 5; kill $cats) 2>/dev/null & wait $cats'
        echo 'echo o >/proc/sysrq-trigger; sleep 9'
    } >"$out/.guest"
}

guest_link() {
    cat <<G
modprobe virtio_net
device=\$(grep -l 52:54:00:09:00:00 /sys/class/net/*/address | cut -d/ -f5)
ip link set \$device address 52:54:00:09:00:$(printf %02x "$1")
ip addr add 10.9.0.$1/24 dev \$device
ip link set \$device up
for i in \$(seq 64); do echo 10.9.0.\$i n\$i; done >>/etc/hosts
echo 'export PATH=$3' >/root/.bashrc
mkdir -p /root/.ssh
cp $cache/key /root/.ssh/id_ed25519
cat $cache/key.pub >>/root/.ssh/authorized_keys
chmod 600 /root/.ssh/*
printf '%s\n' 'StrictHostKeyChecking no' 'UserKnownHostsFile /dev/null' 'LogLevel ERROR' >>/etc/ssh/ssh_config
dropbear -s -r $cache/hostkey
for i in \$(seq 2 $2); do until (: <>/dev/tcp/n\$i/22) 2>/dev/null; do sleep 0.1; done; done
G
}

run_guest() {
    local net=hubport,id=n0,hubid=0
    [ -z "$1" ] || net=socket,id=n0,mcast=239.9.0.1:$VM_LINK,localaddr=127.0.0.1
    exec 3<>"$run/go.in"
    printf '\n\n\n\ngo %s\n' "$(readlink -f "$kernel_root/lib/modules")" >&3
    "${base[@]}" -incoming "exec:cat $snapshot" -chardev null,id=mon -netdev "$net" \
        -add-fd fd=4,set=1 -chardev file,id=out,path=/dev/fdset/1,append=on \
        -add-fd fd=5,set=2 -chardev file,id=err,path=/dev/fdset/2,append=on 4>&1 5>&2 >/dev/null 2>"$run/errors" </dev/null &
    pid=$!
    wait $pid || true
    pid=
}

main "$@"
