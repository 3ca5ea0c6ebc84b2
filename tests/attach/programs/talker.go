// SPDX-License-Identifier: MIT
//
// As talker.c, in Go, which makes its system calls itself: talker PORT.  Nagle's algorithm is on by
// SetNoDelay(false).  "new" on its standard input goes on with a new connection.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

func connection(port string) *net.TCPConn {
	c, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		os.Exit(1)
	}
	tcp := c.(*net.TCPConn)
	tcp.SetNoDelay(false)
	return tcp
}

func main() {
	piece, answer := make([]byte, 100), make([]byte, 200)
	wanted := make(chan bool)
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			wanted <- true
		}
		os.Exit(0)
	}()
	c := connection(os.Args[1])
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		select {
		case <-wanted:
			c.Close()
			c = connection(os.Args[1])
		default:
		}
		begin := time.Now()
		c.Write(piece)
		c.Write(piece)
		if _, err := io.ReadFull(c, answer); err != nil {
			return
		}
		fmt.Println(time.Since(begin).Microseconds(), -1)
	}
}
