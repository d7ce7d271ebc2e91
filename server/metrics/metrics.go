package metrics

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// Metrics is the server's registry.
type Metrics struct {
	set *metrics.Set

	mu     sync.RWMutex
	series map[labels]*series
}

// labels tell one series of the requests from another.
type labels struct {
	route, method string
	status        int
}

// buckets are the upper bounds of the durations, in seconds.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}

// series is a histogram in Prometheus' own form.
type series struct {
	buckets []*metrics.Counter // each counts what is at most as long as its bound
	count   *metrics.Counter
	sum     *metrics.FloatCounter
}

// New makes an empty registry with the process's own numbers.
func New(version string) *Metrics {
	m := &Metrics{set: metrics.NewSet(), series: map[labels]*series{}}
	m.Gauge(fmt.Sprintf(`bm_build_info{version=%q}`, version), func() float64 { return 1 })
	return m
}

// Observe counts one answered request. The pattern is the route's, never the
// path: tokens and ids do not become labels.
func (m *Metrics) Observe(pattern, method string, status int, elapsed time.Duration) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete, http.MethodOptions:
	default:
		method = "other" // a label must not grow with what clients invent
	}
	s := m.of(labels{pattern, method, status})
	seconds := elapsed.Seconds()
	for i, bound := range buckets {
		if seconds <= bound {
			s.buckets[i].Inc()
		}
	}
	s.count.Inc()
	s.sum.Add(seconds)
}

// of is the series with these labels.
func (m *Metrics) of(l labels) *series {
	m.mu.RLock()
	s := m.series[l]
	m.mu.RUnlock()
	if s != nil {
		return s
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.series[l]; s != nil {
		return s
	}
	const name = "bm_request_duration_seconds"
	text := fmt.Sprintf(`method=%q,route=%q,status="%d"`, l.method, l.route, l.status)
	s = &series{
		count: m.set.NewCounter(name + "_count{" + text + "}"),
		sum:   m.set.NewFloatCounter(name + "_sum{" + text + "}"),
	}
	bucket := func(bound string) *metrics.Counter {
		return m.set.GetOrCreateCounter(name + "_bucket{" + text + `,le="` + bound + `"}`)
	}
	for _, bound := range buckets {
		s.buckets = append(s.buckets, bucket(strconv.FormatFloat(bound, 'g', -1, 64)))
	}
	m.set.NewGauge(name+"_bucket{"+text+`,le="+Inf"}`, func() float64 { return float64(s.count.Get()) })
	m.series[l] = s
	return s
}

// Gauge adds a number that is read when it is asked for.
func (m *Metrics) Gauge(name string, read func() float64) { m.set.NewGauge(name, read) }

// Handler serves the numbers.
func (m *Metrics) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		m.set.WritePrometheus(w)
		metrics.WriteProcessMetrics(w)
	})
}
