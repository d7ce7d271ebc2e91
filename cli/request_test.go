package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bm/cli/app"
	"bm/cli/output"
	"bm/server/api"
)

// call runs bm api against a server that answers as it is told to.
func call(t *testing.T, out io.Writer, answer http.HandlerFunc, args ...string) (code int, errs string) {
	t.Helper()
	return ask(t, t.Context(), out, answer, append([]string{"api"}, args...)...)
}

// ask runs a command against a server that answers as it is told to.
func ask(t *testing.T, ctx context.Context, out io.Writer, answer http.HandlerFunc, args ...string) (code int, errs string) { //nolint:revive // the test comes first
	t.Helper()
	server := httptest.NewServer(answer)
	defer server.Close()
	home := t.TempDir()
	env := map[string]string{"BM_CONFIG_DIR": home + "/config", "BM_DATA_DIR": home + "/data", "BM_SERVER": server.URL, "BM_TOKEN": "bmk_x"}
	var stderr bytes.Buffer
	a := app.New("test", output.Fixed(strings.NewReader(""), out, &stderr, time.Now), func(key string) string { return env[key] })
	code = Run(ctx, a, args)
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

// The headers of a failure are worth as much as those of a success.
func TestTheHeadersOfAFailure(t *testing.T) {
	for name, test := range map[string]struct {
		method string
		body   string
		shown  string
	}{
		"as a bm server answers": {"GET", `{"error":{"code":"rate_limited","message":"too many requests"}}`, `{"error":{"code":"rate_limited","message":"too many requests"`},
		"as another one does":    {"GET", "<html>slow down</html>", ""},
		"without a body":         {"HEAD", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			code, errs := call(t, &out, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Ratelimit-Limit", "600")
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, test.body)
			}, test.method, "/x", "--include")
			head, body, parted := strings.Cut(out.String(), "\n\n")
			if code != exitFailed || !parted || !strings.HasPrefix(head, "HTTP/1.1 429 Too Many Requests\n") || !strings.Contains(head, "\nX-Ratelimit-Limit: 600") {
				t.Errorf("exit %d, %q, %q", code, out.String(), errs)
			}
			if !strings.HasPrefix(body, test.shown) || test.shown == "" && body != "" {
				t.Errorf("behind them: %q", body)
			}
		})
	}
}

// A path that can't be one is the mistake of who typed it, not of a server.
func TestAPathThatIsNone(t *testing.T) {
	code, errs := call(t, io.Discard, func(http.ResponseWriter, *http.Request) { t.Error("it was asked for") }, "GET", "/%zz")
	if code != exitUsage || !strings.Contains(errs, `"/%zz" is no path`) || !strings.Contains(errs, "%25") {
		t.Errorf("exit %d, %q", code, errs)
	}
}

// A key is not accepted where the server says so, and not whenever it says
// something else.
func TestWhatIsSaidOfAKey(t *testing.T) {
	for _, test := range []struct {
		failure *api.Error
		code    int
		state   string
	}{
		{api.Errorf(api.CodeUnauthorized, "the key is not accepted"), exitSignIn, "the key is not accepted"},
		{api.Errorf(api.CodeRateLimited, "too many requests"), exitFailed, "not known"},
		{api.Errorf(api.CodeInternal, "something is wrong"), exitFailed, "not known"},
	} {
		var out bytes.Buffer
		code, errs := ask(t, t.Context(), &out, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.failure.Code.Status())
			if err := json.NewEncoder(w).Encode(test.failure.Envelope()); err != nil {
				t.Error(err)
			}
		}, "auth", "status", "--json", "state", "--jq", ".state")
		if code != test.code || out.String() != test.state+"\n" || strings.Contains(errs, "wait 0s") {
			t.Errorf("%s: exit %d, %q, %q", test.failure.Code, code, out.String(), errs)
		}
	}
}

// Who is signed in need not do so anew for what is no matter of the key.
func TestWhatTheDoctorSaysOfAnAccount(t *testing.T) {
	for code, next := range map[api.Code]string{
		api.CodeUnauthorized: "another key in BM_TOKEN; or unset it, and bm auth login", api.CodeRateLimited: "", api.CodeUnavailable: "",
	} {
		var out bytes.Buffer
		ask(t, t.Context(), &out, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			answer := any(api.ServerInfo{Name: "bm", Version: "1"})
			if r.URL.Path != "/.well-known/bm" {
				failure := api.Errorf(code, "as it is")
				w.WriteHeader(failure.Code.Status())
				answer = failure.Envelope()
			}
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		}, "doctor", "--json", "check,detail,next", "--jq", `.[] | select(.check == "account") | .next, .detail`)
		told, detail, _ := strings.Cut(out.String(), "\n")
		if told != next || detail == "\n" || strings.Contains(detail, string(code)) {
			t.Errorf("%s: %q, try %q", code, detail, told)
		}
	}
}

// Who does not wait for a server has not learned what is wrong with it.
func TestAnInterruptedLook(t *testing.T) {
	for _, line := range []string{"auth status", "doctor"} {
		ctx, interrupt := context.WithCancel(t.Context())
		var out bytes.Buffer
		code, errs := ask(t, ctx, &out, func(_ http.ResponseWriter, r *http.Request) {
			interrupt()
			<-r.Context().Done()
		}, strings.Fields(line)...)
		if code != exitInterrupted || out.Len() > 0 {
			t.Errorf("%s: exit %d, %q, %q", line, code, out.String(), errs)
		}
	}
}
