#!/bin/bash
# To be sourced. hca_build, on the host: ibparent.ko for the guests' kernel. hca NAME [NETDEV], in a guest: a soft RDMA
# device NAME (mlx5_0, say) over NETDEV, put under its PCI device, where a real adapter is.
hca_here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
hca_cache=${VM_CACHE:-$HOME/.cache/advisor-vm}

# Unpacks the headers of the guests' kernel beside it, with their paths bent to where they lie now.
hca_headers() {
    local version=$1 tree=$hca_cache/headers package
    [ ! -e "$tree/usr/src/linux-headers-$version/.config" ] || return 0
    (
        mkdir -p "$tree" && cd "$tree" || exit
        for package in "linux-headers-$version" "linux-headers-${version%-amd64}-common" "linux-kbuild-${version%.*}"; do
            apt-get -o APT::Sandbox::User=root download -qq "$package" || exit
            dpkg-deb -x "$package"_*.deb . || exit
            rm "$package"_*.deb
        done
        sed -i "s|/usr/src/|$tree/usr/src/|g" "usr/src/linux-headers-$version/Makefile"
    )
}

hca_build() {
    local version
    version=$(basename "$hca_cache"/k/lib/modules/*)
    hca_headers "$version" || return
    mkdir -p "$hca_cache/ibparent"
    cp "$hca_here"/ibparent/{ibparent.c,Makefile} "$hca_cache/ibparent/"
    make -s -C "$hca_cache/headers/usr/src/linux-headers-$version" M="$hca_cache/ibparent" modules
}

hca() {
    local device=${2:-eth0}
    modprobe -a rdma_rxe ib_uverbs rdma_ucm virtio_net || return
    ip link set "$device" up
    rdma link add "$1" type rxe netdev "$device" || return
    insmod "$hca_cache/ibparent/ibparent.ko" netdev="$device" || return
    rmmod ibparent
}
