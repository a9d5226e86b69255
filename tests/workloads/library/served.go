// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

// served: a server of HTTP, which prints its port. /sleep sleeps for 2 ms.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sleep" {
			time.Sleep(2 * time.Millisecond)
		}
		fmt.Fprintln(w, "ok")
	})
	http.Serve(listener, nil)
}
