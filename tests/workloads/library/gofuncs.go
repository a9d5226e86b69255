// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

// gofuncs: Go functions of its own, each called a known number of times, by goroutines that go on
// in other threads during a call, whose stacks grow, that panic, and that end inside a call.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const usage = `Usage: gofuncs GOROUTINES [STAYING]
Call functions, whose names begin with main.go, a known number of times: in GOROUTINES goroutines,
in other threads at their end than at their beginning, on stacks that grow, ended by a panic, with
their goroutine, or with their process. STAYING calls (5) go on at the end.

Gates: ready, go; at inside all others have ended; leave.
`

const (
	leaves    = 1009 // of each goroutine
	moves     = 53   // the same
	grows     = 37
	bigFrames = 29
	panics    = 14
	exits     = 11
	dying     = 3 // of each child
	moveTime  = time.Millisecond
)

var (
	staying                      = 5
	caught, ended, moved, copied int64
	inside, outside              sync.WaitGroup
	leave                        = make(chan bool)
)

//go:noinline
func goLeaf(n int) int {
	return n*3 + 1
}

// Sleeps, yields and blocks in a system call, after each of which the thread may be another.
//
//go:noinline
func goMoves(i int) int {
	thread := syscall.Gettid()
	time.Sleep(moveTime)
	runtime.Gosched()
	pause := syscall.Timespec{Nsec: int64(moveTime) / 10}
	syscall.Nanosleep(&pause, nil)
	if syscall.Gettid() != thread {
		atomic.AddInt64(&moved, 1)
	}
	return i
}

//go:noinline
func deep(levels int) int {
	var frame [32]int
	frame[levels&31] = levels
	if levels == 0 {
		return 0
	}
	return deep(levels-1) + frame[levels&31] - levels
}

// Its stack is copied by the calls inside, and again when the collector makes it smaller.
//
//go:noinline
func goGrows(levels int) int {
	var here int
	before := uintptr(unsafe.Pointer(&here))
	below := deep(levels)
	if uintptr(unsafe.Pointer(&here)) != before {
		atomic.AddInt64(&copied, 1)
	}
	runtime.GC()
	return below
}

// Its frame is larger than the stack of a new goroutine: it begins again, on a larger one.
//
//go:noinline
func goBigFrame(n int) int64 {
	var frame [4096]int64
	frame[n] = int64(n)
	return frame[n/2]
}

//go:noinline
func goRecurses(levels int) int {
	if levels == 1 {
		return 1
	}
	return goRecurses(levels-1) + 1
}

//go:noinline
func goThrows(n int) int {
	if n >= 0 {
		panic("thrown")
	}
	return n
}

//go:noinline
func goThrowsMiddle(n int) int {
	return goThrows(n) + 1
}

func catch() {
	if recover() != nil {
		atomic.AddInt64(&caught, 1)
	}
}

//go:noinline
func goRecovers(n int) int {
	defer catch()
	return goThrowsMiddle(n)
}

// The same as goRecovers(), not traced.
func recovers(n int) {
	defer catch()
	goThrowsMiddle(n)
}

func after() {
	goLeaf(1)
	atomic.AddInt64(&ended, 1)
}

//go:noinline
func goExits(n int) int {
	defer after()
	if n >= 0 {
		runtime.Goexit()
	}
	return n
}

//go:noinline
func goStays(n int) int {
	inside.Done()
	<-leave
	return n
}

//go:noinline
func goNever(n int) {
	for {
		time.Sleep(time.Duration(n))
	}
}

func die(text string, err error) {
	if err != nil {
		text += ": " + err.Error()
	}
	fmt.Fprintln(os.Stderr, "gofuncs: "+text)
	os.Exit(1)
}

func gatePath(name string) string {
	directory := os.Getenv("WORKLOAD_GATES")
	if directory == "" {
		return ""
	}
	return directory + "/" + name
}

func reached(name string) {
	if path := gatePath(name); path != "" {
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			die(path, err)
		}
	}
}

func gate(name string) {
	path := gatePath(name)
	for end := time.Now().Add(4 * time.Minute); path != ""; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(end) {
			die(name+" did not appear within 4 minutes", nil)
		}
	}
}

// In n goroutines at the same time, until all have ended.
func inEach(n int, run func(i int)) {
	var all sync.WaitGroup
	all.Add(n)
	for i := 0; i < n; i++ {
		go func(i int) {
			defer all.Done()
			run(i)
		}(i)
	}
	all.Wait()
}

func stay(n int) {
	inside.Add(n)
	outside.Add(n)
	for i := 0; i < n; i++ {
		go func(i int) {
			goStays(i)
			outside.Done()
		}(i)
	}
	inside.Wait()
}

// A child whose goroutines are inside a call when it ends, or is replaced.
func runChild(name, how string) {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		die("/proc/self/exe", err)
	}
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		die("/dev/null", err)
	}
	child, err := syscall.ForkExec(self, []string{name, how}, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{null.Fd(), null.Fd(), 2},
	})
	if err != nil {
		die(self, err)
	}
	null.Close()
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(child, &status, 0, nil); err != nil || status != 0 {
		die("the child", err)
	}
}

func beChild(how string) {
	stay(dying)
	if how == "child-replaced" {
		self, _ := os.Readlink("/proc/self/exe")
		die(self, syscall.Exec(self, []string{os.Args[0], "--help"}, os.Environ()))
	}
	os.Exit(0)
}

// Times of calls, as goroutines that make them measure them.
type series struct {
	lock sync.Mutex
	ns   []int64
}

func (s *series) add(took time.Duration) {
	s.lock.Lock()
	s.ns = append(s.ns, took.Nanoseconds())
	s.lock.Unlock()
}

func (s *series) figures() string {
	sort.Slice(s.ns, func(i, j int) bool { return s.ns[i] < s.ns[j] })
	var sum int64
	for _, ns := range s.ns {
		sum += ns
	}
	var percentiles []string
	for _, p := range []struct {
		name     string
		perMille int
	}{{"50", 500}, {"90", 900}, {"99", 990}, {"99.9", 999}} {
		percentiles = append(percentiles,
			fmt.Sprintf(`"%s":%d`, p.name, s.ns[(len(s.ns)*p.perMille+999)/1000-1]))
	}
	return fmt.Sprintf(`,"sum":%d,"min":%d,"max":%d,"percentiles":{%s}`,
		sum, s.ns[0], s.ns[len(s.ns)-1], strings.Join(percentiles, ","))
}

func report(goroutines int, times *series) {
	counts := []struct {
		name string
		n    int
	}{
		{"goLeaf", goroutines*leaves + exits},
		{"goMoves", goroutines * moves},
		{"goGrows", grows},
		{"goBigFrame", bigFrames},
		{"goRecurses", 20 + 32 + 40},
		{"goRecovers", panics},
		{"goThrows", 2 * panics},
		{"goThrowsMiddle", 2 * panics},
		{"goExits", exits},
		{"goStays", staying + 2*dying},
	}
	var rows []string
	for _, c := range counts {
		row := fmt.Sprintf(`{"function":"%s","count":%d`, c.name, c.n)
		if c.name == "goMoves" {
			row += times.figures()
		}
		rows = append(rows, row+"}")
	}
	text := fmt.Sprintf(`{"workload":"gofuncs","pid":%d,"caught":%d,"ended":%d,"moved":%d,`+
		`"copied":%d,"go":"%s","calls":[%s]}`+"\n",
		os.Getpid(), caught, ended, moved, copied, runtime.Version(), strings.Join(rows, ","))
	path := os.Getenv("WORKLOAD_JSON")
	if path == "" {
		fmt.Print(text)
	} else if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		die(path, err)
	}
}

func run(goroutines int) *series {
	times := &series{}
	inEach(goroutines, func(int) {
		for i := 0; i < leaves; i++ {
			goLeaf(i)
		}
	})
	inEach(goroutines, func(int) {
		for i := 0; i < moves; i++ {
			start := time.Now()
			goMoves(i)
			times.add(time.Since(start))
		}
	})
	for i := 0; i < grows; i++ {
		inEach(1, func(int) { goGrows(4000) })
	}
	inEach(bigFrames, func(i int) { goBigFrame(i) })
	for _, levels := range []int{20, 32, 40} {
		goRecurses(levels)
	}
	for i := 0; i < panics; i++ {
		goRecovers(i)
	}
	// Nothing more is traced in these goroutines.
	inEach(panics, recovers)
	inEach(exits, func(i int) { goExits(i) })
	return times
}

func number(text string) (n int) {
	if read, err := fmt.Sscanf(text, "%d", &n); read != 1 || n < 1 {
		die(text+" is not a number from 1 on", err)
	}
	return n
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--help" {
		fmt.Print(usage)
		return
	}
	if len(os.Args) == 2 && strings.HasPrefix(os.Args[1], "child-") {
		beChild(os.Args[1])
	}
	if len(os.Args) != 2 && len(os.Args) != 3 {
		die("GOROUTINES is needed", nil)
	}
	goroutines := number(os.Args[1])
	if len(os.Args) == 3 {
		staying = number(os.Args[2])
	}
	if goroutines > 1000000 {
		goNever(1)
	}
	runtime.GOMAXPROCS(4)
	reached("ready")
	gate("go")
	times := run(goroutines)
	runChild(os.Args[0], "child-ends")
	runChild(os.Args[0], "child-replaced")
	stay(staying)
	report(goroutines, times)
	reached("inside")
	gate("leave")
	close(leave)
	outside.Wait()
}
