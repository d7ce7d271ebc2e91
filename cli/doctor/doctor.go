package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"bm/cli/app"
	"bm/cli/output"
	"bm/server/api"
)

// finding is what one check found.
type finding struct {
	Check  string
	State  string // ok, note, trouble
	Detail string
	Next   string
}

// The states of a finding.
const (
	ok      = "ok"
	note    = "note"
	trouble = "trouble"
)

// New is the command.
func New(a *app.App) *cobra.Command {
	type field = output.Field[finding]
	format := &output.Format[finding]{Fields: []field{
		{Name: "check", Get: func(f finding) any { return f.Check }},
		{Name: "state", Get: func(f finding) any { return f.State }},
		{Name: "detail", Get: func(f finding) any { return f.Detail }},
		{Name: "next", Get: func(f finding) any { return f.Next }},
	}}
	repair := false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong, and say what to do",
		Long: `Look at the folders, the settings, the local copy, the keyring, the server and the
daemon, and say of each what is wrong and what to do. Nothing is changed, but that
others can't read any more what they could.

--repair mends a damaged local copy: a copy of the file is kept aside, what no
server has is saved from it, and the rest comes back with the next sync.`,
		Example: `  bm doctor
  bm doctor --repair
  bm doctor --json check,state --jq '.[] | select(.state == "trouble") | .check'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if repair {
				if err := mend(cmd.Context(), a); err != nil {
					return err
				}
			}
			return run(cmd.Context(), a, format)
		},
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "mend a damaged local copy")
	format.Bind(cmd)
	return cmd
}

// mend mends the local copy where it is damaged.
func mend(ctx context.Context, a *app.App) error {
	did, err := a.Repair(ctx)
	if err != nil {
		return err
	}
	if did.Aside == "" {
		fmt.Fprintln(a.IO.Err, "The local copy is sound.")
		return nil
	}
	fmt.Fprintf(a.IO.Err, "A copy of the damaged file is kept as %s. Saved from it: %s.\n", output.Clean(did.Aside), output.Plural(did.Rows, "unsent edit"))
	if did.Incomplete {
		fmt.Fprintln(a.IO.Err, "Some of it could not be read: there may have been more. Keep the file.")
	}
	a.Edited(ctx)
	return nil
}

func run(ctx context.Context, a *app.App, format *output.Format[finding]) error {
	wanted, err := format.Wanted()
	if err != nil {
		return err
	}
	findings := examine(ctx, a)
	if err := ctx.Err(); err != nil {
		return err // what did not answer may be well
	}
	if wanted {
		err = format.List(a.IO.Out, a.IO, findings)
	} else {
		err = show(a.IO, findings)
	}
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.State == trouble {
			return &app.Error{Kind: app.Failed, Message: "There is trouble.", Quiet: true}
		}
	}
	return nil
}

func show(s *output.Streams, findings []finding) error {
	styles := map[string]output.Style{ok: output.Good, note: output.Warning, trouble: output.Bad}
	for _, f := range findings {
		if !s.OutTTY {
			if _, err := fmt.Fprintf(s.Out, "%s\t%s\t%s\t%s\n", f.Check, f.State, output.Clean(f.Detail), output.Clean(f.Next)); err != nil {
				return err
			}
			continue
		}
		line := fmt.Sprintf("%s  %-10s %s", s.Styled(styles[f.State], fmt.Sprintf("%-7s", f.State)), f.Check, output.Clean(f.Detail))
		if f.Next != "" {
			line += "\n         " + s.Styled(output.Faint, "try: ") + output.Clean(f.Next)
		}
		if _, err := fmt.Fprintln(s.Out, line); err != nil {
			return err
		}
	}
	return nil
}

// examine runs every check that makes sense after those before it.
func examine(ctx context.Context, a *app.App) []finding {
	c, err := a.Config()
	if err != nil {
		return []finding{{"settings", trouble, said(err), cmp.Or(next(err), "mend or remove the file")}}
	}
	findings := []finding{{"settings", ok, c.Folders.File() + ", profile " + c.ProfileName(), ""}}
	findings = append(findings, environment(os.Environ())...)
	findings = append(findings, closed(c)...)
	findings = append(findings, folders(c)...)
	findings = append(findings, replica(ctx, a, c)...)
	findings = append(findings, keyring(a, c))
	findings = append(findings, server(ctx, a, c)...)
	findings = append(findings, daemon(ctx, a, c, findings))
	return append(findings, installed(a)...)
}

// said is what went wrong, in words.
func said(err error) string {
	if e, ok := errors.AsType[*app.Error](err); ok {
		return e.Message
	}
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Message
	}
	if app.DiskFull(err) {
		return "the disk is full"
	}
	return app.Plain(err)
}

// next is what an error says to type next.
func next(err error) string {
	if e, ok := errors.AsType[*app.Error](err); ok {
		return e.Next
	}
	return ""
}
