# SPDX-License-Identifier: MIT
# A line protocol in bash, as run by tcpserver: for each line a status line and the answer itself.
while read -r line; do
    printf '200 %d\n' "${#line}"
    printf 'you said %s\n' "$line"
done
