package metrics_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bm/server/metrics"
)

func TestMetrics(t *testing.T) {
	m := metrics.New("1.2.3")
	m.Gauge("bm_things", func() float64 { return 7 })
	for range 3 {
		m.Observe("GET /workspaces/{workspaceId}", "GET", 200, 3*time.Millisecond)
	}
	// A label must not grow with what clients invent.
	for _, method := range []string{"BREW", "X1", "X2", strings.Repeat("X", 1000)} {
		m.Observe("unmatched", method, 404, time.Millisecond)
	}
	recorder := httptest.NewRecorder()
	m.Handler().ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	text := recorder.Body.String()
	for _, want := range []string{
		`bm_build_info{version="1.2.3"} 1`,
		`bm_things 7`,
		`bm_request_duration_seconds_count{method="GET",route="GET /workspaces/{workspaceId}",status="200"} 3`,
		`bm_request_duration_seconds_bucket{method="GET",route="GET /workspaces/{workspaceId}",status="200",le="0.005"} 3`,
		`bm_request_duration_seconds_bucket{method="GET",route="GET /workspaces/{workspaceId}",status="200",le="0.0025"} 0`,
		`bm_request_duration_seconds_count{method="other",route="unmatched",status="404"} 4`,
		"go_goroutines", "process_resident_memory_bytes",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(text, "BREW") {
		t.Error("a client's word became a label")
	}
}
