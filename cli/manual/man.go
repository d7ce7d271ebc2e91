package manual

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
)

func newMan(a *app.App, root *cobra.Command) *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "man [COMMAND…]",
		Short: "Print a command's man page, or write all of them",
		Example: `  bm man | man -l -
  bm man folder add | man -l -
  bm man --dir ~/.local/share/man/man1`,
		RunE: func(_ *cobra.Command, args []string) error {
			if dir != "" {
				return writePages(a, root, dir)
			}
			target, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(root, target, args, rest, "man")
			}
			_, err = a.IO.Out.Write(page(target))
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write all pages into a `folder`")
	return cmd
}

func writePages(a *app.App, root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the man pages: %w", err)
	}
	written := 0
	var walk func(*cobra.Command) error
	walk = func(cmd *cobra.Command) error {
		if !cmd.IsAvailableCommand() && cmd != root {
			return nil
		}
		if err := writePage(filepath.Join(dir, pageName(cmd)+".1"), page(cmd)); err != nil {
			return fmt.Errorf("write a man page: %w", err)
		}
		written++
		for _, sub := range cmd.Commands() {
			if err := walk(sub); err != nil {
				return err
			}
		}
		return nil
	}
	err := walk(root)
	switch {
	case err != nil && app.DiskFull(err):
		return app.Fail(app.Failed, "The disk is full: %s written into %s so far.", output.Plural(written, "man page"), output.Clean(dir)).
			Try("df -h, free some space, and the same command again").Because(err)
	case err != nil:
		return err
	}
	fmt.Fprintf(a.IO.Err, "Wrote %s.\n", output.Plural(written, "man page"))
	return nil
}

// writePage writes a page, and leaves no half of one.
func writePage(path string, text []byte) error {
	half := path + ".new"
	err := os.WriteFile(half, text, 0o644)
	if err == nil {
		err = os.Rename(half, path)
	}
	if err != nil {
		_ = os.Remove(half) // it may not be there
	}
	return err
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page is a command's man page, in roff.
func page(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"bm\" \"bm\"\n.SH NAME\n%s \\- %s\n", quote(strings.ToUpper(pageName(cmd))), escape(pageName(cmd)), escape(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", escape(cmd.UseLine()))
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n")
	paragraphs(&b, text)
	flagSection(&b, "OPTIONS", cmd.NonInheritedFlags())
	flagSection(&b, "OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n")
		for line := range strings.Lines(cmd.Example) {
			b.WriteString(textLine(strings.TrimPrefix(strings.TrimRight(line, "\n"), "  ")) + "\n")
		}
		b.WriteString(".fi\n")
	}
	if codes := cmd.Annotations[ExitCodes]; codes != "" {
		verbatim(&b, "EXIT STATUS", codes)
		environment(&b)
	}
	related(&b, cmd)
	return b.Bytes()
}

// ExitCodes is the annotation of the root command that lists them, a line each.
const ExitCodes = "exit codes"

// verbatim is a section whose lines stay what they are.
func verbatim(w io.Writer, title, text string) {
	fmt.Fprintf(w, ".SH %s\n.nf\n", title)
	for line := range strings.Lines(text) {
		fmt.Fprintln(w, textLine(strings.TrimRight(line, "\n")))
	}
	fmt.Fprintln(w, ".fi")
}

// environment lists the variables that bm heeds.
func environment(w io.Writer) {
	fmt.Fprintln(w, ".SH ENVIRONMENT")
	for _, s := range config.Settings {
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", escape(s.Env), textLine(s.About))
	}
	for _, v := range config.Variables {
		fmt.Fprintf(w, ".TP\n.B %s\n%s\n", escape(v.Name), textLine(v.About))
	}
}

// paragraphs keeps what is indented as it is and fills the rest.
func paragraphs(w io.Writer, text string) {
	for _, paragraph := range strings.Split(text, "\n\n") {
		if strings.HasPrefix(paragraph, "  ") {
			fmt.Fprintln(w, ".PP\n.nf")
			for line := range strings.Lines(paragraph) {
				fmt.Fprintln(w, textLine(strings.TrimRight(line, "\n")))
			}
			fmt.Fprintln(w, ".fi")
			continue
		}
		fmt.Fprintln(w, ".PP")
		for line := range strings.Lines(paragraph) {
			fmt.Fprintln(w, textLine(strings.TrimSpace(line)))
		}
	}
}

func flagSection(w io.Writer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(w, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name, about := pflag.UnquoteUsage(f)
		flag := "\\fB" + escape("--"+f.Name) + "\\fR"
		if f.Shorthand != "" {
			flag = "\\fB" + escape("-"+f.Shorthand) + "\\fR, " + flag
		}
		if name != "" {
			flag += " \\fI" + escape(name) + "\\fR"
		}
		if !slices.Contains([]string{"", "0", "false", "[]"}, f.DefValue) { // which the help does not tell either
			about += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(w, ".TP\n%s\n%s\n", flag, textLine(about))
	})
}

func related(w io.Writer, cmd *cobra.Command) {
	var pages []string
	if cmd.HasParent() {
		pages = append(pages, pageName(cmd.Parent()))
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			pages = append(pages, pageName(sub))
		}
	}
	if len(pages) == 0 {
		return
	}
	fmt.Fprintln(w, ".SH SEE ALSO")
	for i, name := range pages {
		end := ","
		if i == len(pages)-1 {
			end = ""
		}
		fmt.Fprintf(w, ".BR %s (1)%s\n", escape(name), end)
	}
}

// escape keeps backslashes and dashes what they are.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
}

// textLine is a line of text that can't be taken for a request.
func textLine(text string) string {
	text = escape(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}

func quote(text string) string { return `"` + strings.ReplaceAll(text, `"`, "") + `"` }
