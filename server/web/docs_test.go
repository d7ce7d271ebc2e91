package web_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bm/server/access"
	"bm/server/api"
	"bm/server/op"
	"bm/server/web"
)

type thing struct {
	Name  string                 `json:"name" doc:"What it is called, <script>alert(1)</script>"`
	Color api.Optional[string]   `json:"color,omitzero" enum:"red,blue"`
	Tags  []string               `json:"tags,omitempty" minItems:"1" maxItems:"9"`
	At    api.Optional[api.Time] `json:"at,omitzero"`
	Part  part                   `json:"part"`
	Extra map[string]string      `json:"extra,omitempty"`
}

type part struct {
	Count int `json:"count" minimum:"1"`
}

// page is the documentation of a small API.
func page(t *testing.T) (http.Header, string, []op.Spec) {
	t.Helper()
	r := op.NewRouter(op.Deps{Title: "a <b>title</b>", Doc: "About it.\n\nAt length."})
	make1 := op.Spec{
		ID: "make-thing", Method: http.MethodPost, Path: "/workspaces/{workspaceId}/things", Summary: "Make a thing", Section: "Things & more",
		Doc: "With `code` in it.\n\nAnd a second paragraph.", Status: http.StatusCreated, Auth: op.JWTOrKey, Scope: op.Workspace,
		Permission: access.BookmarksWrite, Also: []access.Permission{access.FoldersRead}, Extension: true, Errors: []api.Code{api.CodePlanLimitExceeded},
	}
	op.Register(r, make1, func(context.Context, *op.Call, *struct {
		WorkspaceID string `path:"workspaceId"`
		Body        thing
	},
	) (op.Tagged[thing], error) {
		return op.Tagged[thing]{}, nil
	})
	list := make1
	list.ID, list.Method, list.Status, list.Extension, list.Errors = "list-things", http.MethodGet, http.StatusOK, false, nil
	op.Register(r, list, func(context.Context, *op.Call, *struct {
		op.Paging
		Sort string `query:"sort" enum:"a,b" doc:"The order"`
	},
	) (op.List[thing], error) {
		return op.List[thing]{}, nil
	})
	get := list
	get.ID, get.Path = "get-thing", "/workspaces/{workspaceId}/things/{id}"
	op.Register(r, get, func(context.Context, *op.Call, *struct {
		ID string `path:"id"`
	},
	) (op.Tagged[thing], error) {
		return op.Tagged[thing]{}, nil
	})
	open := op.Spec{ID: "look", Method: http.MethodDelete, Path: "/look", Summary: "Look", Section: "Open", Status: http.StatusNoContent, Auth: op.Public, Scope: op.Nothing, Permission: op.NoPermission}
	op.Register(r, open, func(context.Context, *op.Call, *struct{}) (op.None, error) { return op.None{}, nil })

	document, _, err := r.Document()
	if err != nil {
		t.Fatal(err)
	}
	handler, err := web.Docs(document, r.Specs(), []web.Limit{{What: "Requests of a key", Most: "7 a day"}})
	if err != nil {
		t.Fatal(err)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/docs", nil))
	return recorder.Header(), recorder.Body.String(), r.Specs()
}

func TestDocsShowEverything(t *testing.T) {
	_, text, specs := page(t)
	for _, spec := range specs {
		if !strings.Contains(text, `<article id="`+spec.ID+`"`) || strings.Count(text, `href="#`+spec.ID+`"`) < 2 {
			t.Errorf("%s is not shown, or not linked", spec.ID)
		}
	}
	flat := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, " ")), " ")
	for _, want := range []string{
		"POST /workspaces /{workspaceId} /things", "Make a thing. extension", "With code in it.", "And a second paragraph.",
		"Credential a signed-in user&#39;s token or an API key Permission bookmarks.write and folders.read", "Credential none",
		"workspaceId required path string", "sort query string The order one of a, b", "limit query integer How many at most; 50 where absent 1 to 200",
		"Idempotency-Key header", "Body: application/json , thing", "name required string What it is called",
		"color string one of red, blue; null clears it", "tags array of string 1 to 9 of them", "at date-time null clears it",
		"count required integer at least 1", "extra object of strings by name", "part required Part",
		"201 application/json", "array of Thing or { data : array of Thing , pagination : Pagination }", "204 No Content", "304 Not modified",
		"plan_limit_exceeded", "validation_error 400", "Title 8192 characters",
		"About it. Also as openapi.json", "Requests of a key 7 a day",
	} {
		if !strings.Contains(strings.ToLower(flat), strings.ToLower(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(flat)
	}
}

// Every link within the page leads somewhere, and no anchor is there twice.
func TestDocsLinks(t *testing.T) {
	_, text, _ := page(t)
	var anchors []string
	for _, m := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(text, -1) {
		if slices.Contains(anchors, m[1]) {
			t.Errorf("two elements have the id %s", m[1])
		}
		anchors = append(anchors, m[1])
	}
	elsewhere := []string{"login", "create-api-key"} // operations that this API does not have
	for _, m := range regexp.MustCompile(`href="([^"]+)"`).FindAllStringSubmatch(text, -1) {
		target, within := strings.CutPrefix(m[1], "#")
		switch {
		case within && !slices.Contains(anchors, target) && !slices.Contains(elsewhere, target):
			t.Errorf("#%s leads nowhere", target)
		case !within && m[1] != "/openapi.json" && m[1] != "/openapi.yaml":
			t.Errorf("the page leads to %s", m[1])
		}
	}
}

// The page runs nothing, loads nothing, and takes no text for markup.
func TestDocsAreHarmless(t *testing.T) {
	header, text, _ := page(t)
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	policy := header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %s", policy, want)
		}
	}
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(text)
	if style == nil {
		t.Fatal("the page has no style")
	}
	hash := sha256.Sum256([]byte(style[1]))
	if !strings.Contains(policy, "style-src 'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'") {
		t.Error("the policy does not allow the page's own style")
	}
	for _, never := range []string{"<script", "<b>title", "javascript:", "http://", "https://", " style=", " on", "url(", "@import", "ZgotmplZ"} {
		outside := text
		if never == " on" { // an attribute, not a word
			outside = strings.Join(regexp.MustCompile(`<[^>]*>`).FindAllString(text, -1), "")
		}
		if strings.Contains(outside, never) {
			t.Errorf("the page holds %q", never)
		}
	}
	if !strings.Contains(text, "&lt;script&gt;") {
		t.Error("the description of a field is not shown")
	}
}

func TestDocsNeedTheirDocument(t *testing.T) {
	if _, err := web.Docs([]byte("{"), nil, nil); err == nil {
		t.Error("a broken document makes a page")
	}
	if _, err := web.Docs([]byte("{}"), []op.Spec{{ID: "x", Method: "GET", Path: "/x"}}, nil); err == nil {
		t.Error("an operation that the document lacks is passed over")
	}
}
