// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

// go-load: an HTTP server and its clients, in one process, whose stacks grow and shrink all the
// time, to be traced for long. It counts its requests, and checks each answer.
//
//	GO111MODULE=off CGO_ENABLED=0 go build tests/bench/go-load.go
//	user-func-latency ./go-load:main.handle ./go-load:main.request './go-load:net/http.*' -- env GOGC=30 ./go-load -d 600s
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type item struct {
	Name string
	List []int
	Sub  map[string]string
}

var handled, aborted, made, failed, wrong int64

func deepen(levels int) int {
	var frame [32]int
	frame[levels&31] = levels
	if levels == 0 {
		return 0
	}
	return deepen(levels-1) + frame[levels&31] - levels
}

// Each third request grows a new stack. Few are left by a panic, which the server recovers.
//
//go:noinline
func handle(w http.ResponseWriter, r *http.Request) {
	var it item
	n := atomic.AddInt64(&handled, 1)
	if err := json.NewDecoder(r.Body).Decode(&it); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if n%3 == 0 {
		done := make(chan int)
		go func() { done <- deepen(int(n % 3000)) }()
		<-done
	} else {
		deepen(int(n % 1500))
	}
	if n%997 == 0 {
		atomic.AddInt64(&aborted, 1)
		panic(http.ErrAbortHandler)
	}
	json.NewEncoder(w).Encode(it)
}

//go:noinline
func request(c *http.Client, url string, i int) error {
	sent := item{fmt.Sprint(i), []int{1, 2, i}, map[string]string{"a": strings.Repeat("x", i%2000)}}
	text, _ := json.Marshal(sent)
	r, err := c.Post(url, "application/json", strings.NewReader(string(text)))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	var got item
	if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
		return err
	}
	if got.Name != sent.Name || got.Sub["a"] != sent.Sub["a"] {
		atomic.AddInt64(&wrong, 1)
	}
	return nil
}

func main() {
	length := flag.Duration("d", time.Minute, "how long")
	clients := flag.Int("c", 32, "number of clients; every fourth makes a connection for each request")
	pause := flag.Duration("t", 10*time.Millisecond, "pause of a client after a request")
	flag.Parse()
	log.SetOutput(io.Discard)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go http.Serve(listener, http.HandlerFunc(handle))
	url := "http://" + listener.Addr().String()
	end := time.Now().Add(*length)
	var all sync.WaitGroup
	for k := 0; k < *clients; k++ {
		all.Add(1)
		go func(k int) {
			defer all.Done()
			c := &http.Client{Transport: &http.Transport{DisableKeepAlives: k%4 == 0}}
			for i := k; time.Now().Before(end); i += *clients {
				atomic.AddInt64(&made, 1)
				if request(c, url, i) != nil {
					atomic.AddInt64(&failed, 1)
				}
				time.Sleep(*pause)
			}
		}(k)
	}
	all.Wait()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	fmt.Fprintf(os.Stderr, "%d requests, %d handled, %d aborted, %d failed, %d wrong; %d collections; %s\n",
		made, handled, aborted, failed, wrong, memory.NumGC, runtime.Version())
}
