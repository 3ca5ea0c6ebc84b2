# SPDX-License-Identifier: MIT
#
# Sourced, in a mount namespace of its own: $root is this machine's own root under an overlay in the memory of
# $folder; inside COMMAND... runs there.  All of it ends with the namespace.
# shellcheck shell=bash disable=SC2154

mount -t tmpfs tmpfs "$folder"
mkdir "$folder"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
root=$folder/root
for part in proc sys dev; do
    mount --rbind "/$part" "$root/$part"
done
mkdir "$folder/tmp"
mount --bind "$folder/tmp" "$root/tmp"
chmod 1777 "$root/tmp"

inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        chroot "$root" "$@"
}
