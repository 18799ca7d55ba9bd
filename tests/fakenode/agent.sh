#!/bin/sh
# In place of ssh: every "host" is this machine. Its name, topology and CPUs come from the file $FAKENODE_HOSTS/NAME.
while :; do
    case $1 in
        -l | -p | -o | -i) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
host=$1
shift
# shellcheck source=/dev/null
. "$FAKENODE_HOSTS/$host"
exec /bin/sh -c "$*"
