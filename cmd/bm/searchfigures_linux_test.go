package main_test

import (
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"bm/server/api/exchange/exchangetest"
)

// BenchmarkSearch measures `bm search`, the whole program, for the first 50 of
// what words of every kind find, in replicas of a hundred thousand and of a
// million; and beside them an empty program, and one that lists as many. All of
// them by turns, so that what else the machine does meanwhile befalls all alike.
func BenchmarkSearch(b *testing.B) {
	for _, rows := range []int{100_000, 1_000_000} {
		if testing.Short() {
			rows /= 100
		}
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			w := newWorld(b)
			m := w.machine("a")
			m.run("import", w.generated(rows))
			empty := build(b, w.dir, "empty", "package main\n\nfunc main() {}\n")
			commands := []struct {
				name string
				args []string
			}{
				{"empty", []string{empty}},
				{"version", []string{w.program, "version"}},
				{"ls", []string{w.program, "ls", "-n", "50"}},
				{"rare", []string{w.program, "search", "-n", "50", exchangetest.RareWord}},
				{"middling", []string{w.program, "search", "-n", "50", exchangetest.MiddlingWord}},
				{"common", []string{w.program, "search", "-n", "50", exchangetest.CommonWord}},
				{"prefix", []string{w.program, "search", "-n", "50", exchangetest.CommonWord[:2]}},
				{"chinese", []string{w.program, "search", "-n", "50", exchangetest.ChineseText}},
			}
			for b.Loop() {
				took := make([][]time.Duration, len(commands))
				for range 31 {
					for i := range commands {
						cmd := exec.Command(commands[i].args[0], commands[i].args[1:]...)
						cmd.Env = m.env
						took[i] = append(took[i], timed(func() {
							if err := cmd.Run(); err != nil {
								b.Fatalf("%v: %v", commands[i].args, err)
							}
						}))
					}
				}
				for i := range commands {
					slices.Sort(took[i])
					b.ReportMetric(float64(took[i][len(took[i])/2].Microseconds())/1000, commands[i].name+"-p50-ms")
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
