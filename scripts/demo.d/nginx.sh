# SPDX-License-Identifier: MIT
#
# Sourced by scripts/demo: an nginx of our own, on a free port of loopback, all its files in one folder.
# shellcheck shell=bash

NGINX_PID=

free_port() {
    "$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

answers_on() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# start_nginx FOLDER: sets PORT and NGINX_PID.
start_nginx() {
    local folder=$1 attempt arguments
    # As root, nginx's worker is another user; it must be able to reach the sockets below.
    chmod 711 "$folder"
    for attempt in 1 2 3 4 5; do
        PORT=$(free_port)
        sed -e "s|@PREFIX@|$folder|g" -e "s|@PORT@|$PORT|g" \
            "$ROOT/scripts/demo.d/nginx.conf.in" >"$folder/nginx.conf"
        arguments=(-p "$folder" -c "$folder/nginx.conf")
        # Without -e (nginx 1.19.5) it first opens the log folder of the system's own nginx.
        if [[ $(nginx -h 2>&1) == *"-e filename"* ]]; then
            arguments+=(-e "$folder/error.log")
        fi
        nginx "${arguments[@]}" >"$folder/nginx.out" 2>&1 &
        NGINX_PID=$!
        if wait_for_nginx; then
            return 0
        fi
        # Another program took the port in between, or nginx fails: the last attempt prints its error.
        rm -f -- "$folder/answer.sock"
    done
    cat "$folder/nginx.out" >&2
    die "nginx does not start (attempt $attempt)"
}

wait_for_nginx() {
    local tries
    for ((tries = 0; tries < 50; tries++)); do
        kill -0 "$NGINX_PID" 2>/dev/null || { wait "$NGINX_PID" || true; NGINX_PID=; return 1; }
        answers_on "$PORT" && return 0
        sleep 0.1
    done
    stop_nginx
    return 1
}

stop_nginx() {
    [[ -n $NGINX_PID ]] || return 0
    kill "$NGINX_PID" 2>/dev/null || true
    wait "$NGINX_PID" 2>/dev/null || true
    NGINX_PID=
}
