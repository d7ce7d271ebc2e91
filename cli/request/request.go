package request

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
	"bm/server/api"
	"bm/server/api/client"
)

type options struct {
	app *app.App

	fields  []string
	input   string
	headers []string
	include bool
	jq      string
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete, http.MethodHead}

// New is the command.
func New(a *app.App) *cobra.Command {
	o := &options{app: a}
	cmd := &cobra.Command{
		Use:   "api METHOD PATH",
		Short: "Call the server's interface, signed in as you are",
		Long: `Call the server's interface, signed in as you are. {workspace} in the path is the
workspace in use. With GET fields go into the query, else into a JSON body: a
value that is JSON is sent as it is, anything else as text.

What the server answers where it fails is printed, too, unless --jq is given; what
that means goes to the standard error, and decides the exit code.`,
		Example: `  bm api GET /api/v1/me
  bm api GET /workspaces/{workspace}/bookmarks -f limit=5 --jq '.[].url'
  bm api POST /workspaces/{workspace}/folders -f name=Reading
  bm api POST /workspaces/{workspace}/bookmarks/bulk-delete --input ids.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && strings.HasPrefix(args[0], "/") {
				return app.Fail(app.Usage, "bm api wants a method before the path.").Try("bm api GET %s", app.Typed(args[0]))
			}
			return cobra.ExactArgs(2)(cmd, args)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return methods, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), o, args[0], args[1]) },
	}
	flags := cmd.Flags()
	flags.StringArrayVarP(&o.fields, "field", "f", nil, "send this `name=value`; may be repeated")
	flags.StringVar(&o.input, "input", "", "a `file` with the body; - is the standard input")
	flags.StringArrayVarP(&o.headers, "header", "H", nil, "send this `Name: value`; may be repeated")
	flags.BoolVarP(&o.include, "include", "i", false, "print the status and the headers, too")
	flags.StringVarP(&o.jq, "jq", "q", "", "run a jq `program` over the answer")
	cmd.MarkFlagsMutuallyExclusive("field", "input")
	return cmd
}

func run(ctx context.Context, o *options, method, path string) error {
	if given := method; !slices.Contains(methods, strings.ToUpper(method)) {
		e := app.Fail(app.Usage, "%q is no method: one of %s is wanted.", output.Clean(given), strings.Join(methods, ", "))
		if strings.HasPrefix(given, "/") {
			return e.Try("bm api GET %s", app.Typed(given))
		}
		return e.Try("bm api GET %s", app.Typed(path))
	}
	method = strings.ToUpper(method)
	if o.jq != "" {
		if err := output.CheckJQ(o.jq); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return app.Fail(app.Usage, "%q is no path: it begins with one slash, and the server's address stands elsewhere.", output.Clean(path)).
			Try("bm api %s /api/v1/me", method)
	}
	if _, err := url.Parse(path); err != nil {
		return app.Fail(app.Usage, "%q is no path.", output.Clean(path)).Try("%%25 where a %% is meant").Because(err)
	}
	path, err := o.place(ctx, path)
	if err != nil {
		return err
	}
	header, err := o.header()
	if err != nil {
		return err
	}
	body, path, err := o.body(method, path, header)
	if err != nil {
		return err
	}
	caller, err := o.app.Client(ctx)
	if err != nil {
		return err
	}
	response, err := caller.Raw(ctx, method, path, header, body)
	if err != nil {
		if unshown := o.showFailure(ctx, err, response); unshown != nil {
			return unshown
		}
	}
	if e, ok := errors.AsType[*api.Error](err); ok && e.Code == api.CodeNotFound {
		about, _, _ := strings.Cut(path, "?")
		return app.Fail(app.NotFound, "%s %s: %s.", method, output.Clean(about), output.Clean(e.Message)).
			Try("bm api GET /openapi.json   describes what there is").Because(err)
	}
	if err != nil {
		return err
	}
	defer response.Body.Close()
	response.Body = &answer{response.Body, caller.Server()}
	err = o.show(ctx, response)
	if errors.Is(err, errTooLarge) {
		return app.Fail(app.Failed, "The answer is larger than %d MiB, which is too much to be held.", maxShown>>20).
			Try("bm api %s %s > FILE", method, app.Typed(path)).Because(err)
	}
	return err
}

// answer is what a server answers; that it breaks off is the connection's fault.
type answer struct {
	io.ReadCloser
	server string
}

func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
		err = &client.Unreachable{Server: a.server, Err: err}
	}
	return n, err
}

// showFailure prints what a server answered where it failed, so that a script can
// read its code and details. A jq program is meant for a success. What did not
// come from a bm server was not kept: then the message says all that is known.
func (o *options) showFailure(ctx context.Context, failed error, response *http.Response) error {
	if o.jq != "" {
		return nil
	}
	if response != nil {
		if err := o.head(response); err != nil {
			return err
		}
	}
	e, whole := failed.(*api.Error) //nolint:errorlint // one that is wrapped stands for an answer of another form
	if !whole {
		return nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e.Envelope()); err != nil {
		return fmt.Errorf("show the answer: %w", err)
	}
	return o.print(ctx, &text)
}

// place puts the id of the workspace in use into the path.
func (o *options) place(ctx context.Context, path string) (string, error) {
	if !strings.Contains(path, "{workspace}") {
		return path, nil
	}
	_, replica, err := o.app.Replica(ctx)
	if err != nil {
		return "", err
	}
	if replica.RemoteID == "" {
		c, err := o.app.Config()
		if err != nil {
			return "", err
		}
		if id := c.Get(config.Workspace); api.ValidID(id) {
			return strings.ReplaceAll(path, "{workspace}", id), nil
		}
		return "", app.Fail(app.SignIn, "There is no workspace on a server yet.").Try("bm auth login")
	}
	return strings.ReplaceAll(path, "{workspace}", replica.RemoteID), nil
}

// inName is what the name of a header may hold, by RFC 9110.
const inName = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

func (o *options) header() (http.Header, error) {
	header := http.Header{"Accept": {"*/*"}}
	for _, h := range o.headers {
		name, value, found := strings.Cut(h, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !found || name == "" || strings.Trim(name, inName) != "":
			return nil, app.Fail(app.Usage, "--header %q: \"Name: value\" is wanted.", output.Clean(h))
		case strings.ContainsFunc(value, func(r rune) bool { return unicode.IsControl(r) && r != '\t' }):
			return nil, app.Fail(app.Usage, "--header %q: \"Name: value\" is wanted, on one line.", output.Clean(h))
		case strings.EqualFold(name, "Authorization"):
			return nil, app.Fail(app.Usage, "--header Authorization: the key that is sent is the profile's own.").Try("BM_TOKEN, or --profile, for another")
		}
		header.Set(name, value)
	}
	return header, nil
}

// body is what is sent, and the path with what goes into the query.
func (o *options) body(method, path string, header http.Header) (io.Reader, string, error) {
	setType := func() {
		if header.Get("Content-Type") == "" {
			header.Set("Content-Type", "application/json")
		}
	}
	if o.input != "" {
		setType()
		if o.input == "-" {
			return o.app.IO.In, path, nil
		}
		text, err := os.ReadFile(o.input)
		if errors.Is(err, os.ErrNotExist) {
			return nil, "", app.NoFile(o.input, err)
		}
		if err != nil {
			return nil, "", fmt.Errorf("read the body: %w", err)
		}
		return bytes.NewReader(text), path, nil
	}
	if len(o.fields) == 0 {
		return nil, path, nil
	}
	query, fields := url.Values{}, map[string]json.RawMessage{}
	for _, field := range o.fields {
		name, value, found := strings.Cut(field, "=")
		if !found || name == "" {
			return nil, "", app.Fail(app.Usage, "--field %q: name=value is wanted.", output.Clean(field))
		}
		query.Add(name, value)
		raw := json.RawMessage(value)
		if !json.Valid(raw) {
			text, err := json.Marshal(value)
			if err != nil {
				return nil, "", err
			}
			raw = text
		}
		fields[name] = raw
	}
	if method == http.MethodGet || method == http.MethodHead || method == http.MethodDelete {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		return nil, path + separator + query.Encode(), nil
	}
	for name, values := range query {
		if len(values) > 1 {
			return nil, "", app.Fail(app.Usage, "--field %s is given twice, and a body has room for one.", output.Clean(name)).
				Try(`--field '%s=["…","…"]'   if it is a list`, output.Clean(name))
		}
	}
	setType()
	text, err := json.Marshal(fields)
	return bytes.NewReader(text), path, err
}

// maxShown bounds an answer that has to be held to be shown.
const maxShown = 64 << 20

var errTooLarge = errors.New("the answer is too large to be shown")

func (o *options) show(ctx context.Context, response *http.Response) error {
	if err := o.head(response); err != nil {
		return err
	}
	return o.print(ctx, response.Body)
}

// head prints the status and the headers where they are asked for.
func (o *options) head(response *http.Response) error {
	if !o.include {
		return nil
	}
	var head strings.Builder
	fmt.Fprintf(&head, "%s %s\n", response.Proto, output.Clean(response.Status))
	for _, name := range slices.Sorted(maps.Keys(response.Header)) {
		fmt.Fprintf(&head, "%s: %s\n", output.Clean(name), output.Clean(strings.Join(response.Header[name], ", ")))
	}
	_, err := io.WriteString(o.app.IO.Out, head.String()+"\n")
	return err
}

func (o *options) print(ctx context.Context, body io.Reader) error {
	s := o.app.IO
	if o.jq == "" && !s.OutTTY {
		_, err := io.Copy(s.Out, body)
		return err
	}
	text, err := io.ReadAll(io.LimitReader(body, maxShown+1))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if len(text) > maxShown {
		return errTooLarge
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	if o.jq != "" {
		return output.JQ(ctx, s.Out, s, o.jq, text)
	}
	var indented bytes.Buffer
	if json.Indent(&indented, text, "", "  ") == nil {
		text = indented.Bytes()
	}
	_, err = fmt.Fprintln(s.Out, strings.TrimRight(output.CleanText(string(text)), "\n"))
	return err
}
