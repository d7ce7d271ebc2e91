package cli

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bm/cli/app"
	"bm/cli/output"
)

// call runs bm api against a server that answers as it is told to.
func call(t *testing.T, out io.Writer, answer http.HandlerFunc, args ...string) (code int, errs string) {
	t.Helper()
	server := httptest.NewServer(answer)
	defer server.Close()
	home := t.TempDir()
	env := map[string]string{"BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data", "BM_SERVER": server.URL, "BM_TOKEN": "bmk_x"}
	var stderr bytes.Buffer
	a := app.New("test", output.Fixed(strings.NewReader(""), out, &stderr, time.Now), func(key string) string { return env[key] })
	code = Run(t.Context(), a, append([]string{"api"}, args...))
	return code, stderr.String()
}

// An answer that breaks off is told as the connection that it was.
func TestAnAnswerThatBreaksOff(t *testing.T) {
	half := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"a":`)
	}
	for _, args := range [][]string{{"GET", "/x"}, {"GET", "/x", "--jq", ".a"}} {
		code, errs := call(t, io.Discard, half, args...)
		if code != exitOffline || !strings.Contains(errs, "Can't reach http://127.0.0.1:") || !strings.Contains(errs, ": the connection broke off.") {
			t.Errorf("%q: exit %d, %q", args, code, errs)
		}
	}
}

// What is too large to be held is not called malformed, nor cut without a word.
func TestAnAnswerThatIsTooLarge(t *testing.T) {
	large := func(w http.ResponseWriter, _ *http.Request) {
		part := bytes.Repeat([]byte(" "), 1<<20)
		_, _ = io.WriteString(w, "[")
		for range 64 {
			_, _ = w.Write(part)
		}
		_, _ = io.WriteString(w, "]")
	}
	code, errs := call(t, io.Discard, large, "GET", "/x", "--jq", "length")
	if code != exitFailed || !strings.Contains(errs, "larger than 64 MiB") || !strings.Contains(errs, "bm api GET /x > FILE") {
		t.Errorf("exit %d, %q", code, errs)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

// Headers that could not be printed are no success.
func TestHeadersThatCanNotBePrinted(t *testing.T) {
	code, errs := call(t, full{}, func(http.ResponseWriter, *http.Request) {}, "HEAD", "/x", "--include")
	if code != exitFailed || !strings.Contains(errs, "The result could not be printed: the disk is full.") {
		t.Errorf("exit %d, %q", code, errs)
	}
}

// A path that can't be one is the mistake of who typed it, not of a server.
func TestAPathThatIsNone(t *testing.T) {
	code, errs := call(t, io.Discard, func(http.ResponseWriter, *http.Request) { t.Error("it was asked for") }, "GET", "/%zz")
	if code != exitUsage || !strings.Contains(errs, `"/%zz" is no path`) || !strings.Contains(errs, "%25") {
		t.Errorf("exit %d, %q", code, errs)
	}
}
