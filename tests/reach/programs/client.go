// SPDX-License-Identifier: MIT

// A client in Go that asks for Nagle's algorithm: ADDRESS PORT EXCHANGES.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
}

func main() {
	connection, err := net.Dial("tcp", net.JoinHostPort(os.Args[1], os.Args[2]))
	check(err)
	check(connection.(*net.TCPConn).SetNoDelay(false))
	count, err := strconv.Atoi(os.Args[3])
	check(err)
	var times []string
	reply := make([]byte, 200)
	for i := 0; i < count; i++ {
		begin := time.Now()
		_, err = connection.Write(make([]byte, 200))
		check(err)
		_, err = connection.Write(make([]byte, 100))
		check(err)
		_, err = io.ReadFull(connection, reply)
		check(err)
		times = append(times, strconv.FormatInt(time.Since(begin).Microseconds(), 10))
	}
	fmt.Printf("{\"us\": [%s]}\n", strings.Join(times, ", "))
}
