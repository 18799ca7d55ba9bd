#!/bin/sh
# netns.sh FOLDER HOST... -- COMMAND...: run a command beside hosts that have these names and networks of their own.
# To be run in new namespaces of network, names, mounts and processes: with the command all of it is gone, /etc/hosts untouched.
# FOLDER/HOST is what agent.sh reads: it goes on in the host's network, under its name.
set -e
folder=$1
shift
hostname adv-head
ip link set lo up
ip link add adv0 type bridge
ip addr add 10.77.0.1/24 dev adv0
ip link set adv0 up
printf '127.0.0.1 localhost\n10.77.0.1 adv-head\n' > "$folder/names"
number=10
while [ "$1" != -- ]; do
    number=$((number + 1))
    net=$folder/$1.net
    : > "$net"
    unshare --net="$net" true
    ip link add "v$number" type veth peer name eth0 netns "$net"
    ip link set "v$number" master adv0 up
    nsenter --net="$net" sh -ec "ip addr add 10.77.0.$number/24 dev eth0; ip link set eth0 up; ip link set lo up"
    echo "10.77.0.$number $1" >> "$folder/names"
    echo "exec nsenter --net='$net' unshare --uts /bin/sh -c \"hostname $1; \$*\"" > "$folder/$1"
    shift
done
shift
mount --bind "$folder/names" /etc/hosts
"$@"
