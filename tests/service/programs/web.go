// SPDX-License-Identifier: MIT
//
// A server of HTTP/1.1 that stalls: net/http flushes the headers before the body, and Nagle is on, which Go
// turns off by itself.  Argument: port.  It logs each request.
package main

import (
	"log"
	"net"
	"net/http"
	"os"
)

type withNagle struct{ net.Listener }

func (l withNagle) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		c.(*net.TCPConn).SetNoDelay(false)
	}
	return c, err
}

func answer(w http.ResponseWriter, r *http.Request) {
	log.Print(r.Method, " ", r.URL)
	w.Header().Set("Content-Length", "200")
	w.(http.Flusher).Flush()
	w.Write(make([]byte, 200))
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(withNagle{l}, http.HandlerFunc(answer)))
}
