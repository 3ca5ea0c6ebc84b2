# SPDX-License-Identifier: MIT
# A client in bash alone: /dev/tcp/HOST/PORT is bash's own.  For each question a line of greeting and
# one of its own, and a line is read.
exec 3<>"/dev/tcp/127.0.0.1/$1"
for ((i = 0; i < $2; i++)); do
    printf 'question %d\n' "$i" >&3
    printf 'how many\n' >&3
    read -r answer <&3
    printf '%s\n' "$answer"
done
