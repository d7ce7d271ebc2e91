package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"bm/cli/app"
	"bm/cli/config"
	"bm/cli/output"
)

// usage says what was wrong with a command line, in words.
func usage(root, cmd *cobra.Command, err error) error {
	if _, ours := errors.AsType[*app.Error](err); ours {
		return err
	}
	if _, ours := errors.AsType[*output.NoFields](err); ours {
		return err
	}
	text := err.Error()
	if name, found := strings.CutPrefix(text, "unknown command "); found {
		name, _, _ = strings.Cut(name, " for ")
		if cmd != root && cmd.Runnable() { // what takes no arguments
			return app.Fail(app.Usage, "%s takes no argument %s.", cmd.CommandPath(), output.Clean(name)).Try("%s --help", cmd.CommandPath())
		}
		e := app.Fail(app.Usage, "There is no command %s.", output.Clean(name))
		if near := app.NearestCommand(root, strings.Trim(name, `"`)); near != "" {
			return e.Try("bm %s", near)
		}
		return e.Try("bm --help")
	}
	if told := arguments(cmd, text); told != nil {
		return told
	}
	if told := group(cmd, text); told != nil {
		return told
	}
	return app.Fail(app.Usage, "%s", output.Sentence(output.CleanText(text))).Try("%s --help", cmd.CommandPath())
}

// arguments says what a command wants where it got too few or too many: cobra
// counts them.
func arguments(cmd *cobra.Command, text string) *app.Error {
	most, got, counted := countOf(text)
	switch {
	case counted:
	case strings.HasPrefix(text, "invalid argument ") && len(cmd.ValidArgs) > 0:
		return app.Fail(app.Usage, "%s takes one of: %s.", cmd.CommandPath(), strings.Join(cmd.ValidArgs, ", ")).Try("%s --help", cmd.CommandPath())
	default:
		return nil
	}
	_, wants, _ := strings.Cut(cmd.Use, " ")
	// What is to be typed has no bar, which a shell would take for a pipe.
	line, wanted := strings.TrimSpace(cmd.CommandPath()+" "+strings.TrimSuffix(wants, "|-")), cmd.CommandPath()+" wants "+strings.Replace(wants, "|-", ", or - for the standard input", 1)
	if len(cmd.ValidArgs) > 0 {
		line, wanted = cmd.CommandPath()+" "+cmd.ValidArgs[0], cmd.CommandPath()+" wants one of: "+strings.Join(cmd.ValidArgs, ", ")
	}
	switch {
	case got > most:
		return app.Fail(app.Usage, "%s takes %s, not %d.", cmd.CommandPath(), output.Plural(most, "argument"), got).Try("%s", line)
	case got == 0:
		return app.Fail(app.Usage, "%s.", wanted).Try("%s", line)
	}
	return app.Fail(app.Usage, "%s, and got %s.", wanted, output.Plural(got, "argument")).Try("%s", line)
}

// countOf is how many arguments a command takes, and how many it got, by cobra's
// words on either.
func countOf(text string) (most, got int, counted bool) {
	var least int // is told by the command's own usage line
	switch {
	case scan(text, "requires at least %d arg(s), only received %d", &least, &got):
		return got + 1, got, true
	case scan(text, "accepts at most %d arg(s), received %d", &most, &got):
	case scan(text, "accepts between %d and %d arg(s), received %d", &least, &most, &got):
	case scan(text, "accepts %d arg(s), received %d", &most, &got):
	default:
		return 0, 0, false
	}
	return most, got, true
}

// tooMany reports whether a command refuses its arguments for their number.
func tooMany(err error) bool {
	if err == nil {
		return false
	}
	most, got, counted := countOf(err.Error())
	return counted && got > most
}

func scan(text, format string, into ...any) bool {
	n, err := fmt.Sscanf(text, format, into...)
	return err == nil && n == len(into)
}

// inGroup finds which flags exclude or need each other.
const inGroup = `\[([^\]]*)\] are set (none of the others can be|they must all be set); .*?\[([^\]]*)\]`

// group says which flags exclude or need each other.
func group(cmd *cobra.Command, text string) *app.Error {
	found := regexp.MustCompile(inGroup).FindStringSubmatch(text)
	if found == nil {
		return nil
	}
	names, says := found[3], "exclude each other"
	if found[2] != "none of the others can be" {
		names, says = found[1], "go together"
	}
	flags := strings.Fields(names)
	for i := range flags {
		flags[i] = "--" + flags[i]
	}
	return app.Fail(app.Usage, "%s %s.", strings.Join(flags, " and "), says).Try("%s --help", cmd.CommandPath())
}

// flagError says what was wrong with a flag, and which one was meant.
func flagError(cmd *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return badValue(cmd, e)
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		name, _ := pflag.UnquoteUsage(e.GetFlag())
		return app.Fail(app.Usage, "--%s wants a value: --%s %s.", e.GetFlag().Name, e.GetFlag().Name, strings.ToUpper(name)).Try("%s --help", cmd.CommandPath())
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return app.Fail(app.Usage, "%s", output.Sentence(output.CleanText(err.Error()))).Try("%s --help", cmd.CommandPath())
	}
	name := unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		e := app.Fail(app.Usage, "%s has no flag -%s.", cmd.CommandPath(), output.Clean(name))
		if len(letters) > 1 && strings.Contains(cmd.Use, " ") {
			return e.Try("%s -- %s   where that is no flag; %s --help lists those", cmd.CommandPath(), app.Typed("-"+letters), cmd.CommandPath())
		}
		return e.Try("%s --help", cmd.CommandPath())
	}
	e := app.Fail(app.Usage, "%s has no flag --%s.", cmd.CommandPath(), output.Clean(name))
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	// Some commands take without a flag what others take with one.
	_, wants, _ := strings.Cut(cmd.Use, " ")
	arguments := strings.FieldsFunc(wants, func(r rune) bool { return r < 'A' || r > 'Z' })
	if slices.Contains(arguments, strings.ToUpper(name)) {
		return e.Try("%s %s", cmd.CommandPath(), strings.NewReplacer("[", "", "]", "", "|-", "").Replace(wants))
	}
	if near := config.Nearest(name, known); near != "" {
		return e.Try("--%s", near)
	}
	return e.Try("%s --help", cmd.CommandPath())
}

// badValue says what a flag wants.
func badValue(cmd *cobra.Command, e *pflag.InvalidValueError) error {
	name := e.GetFlag().Name
	return app.Fail(app.Usage, "--%s %q: %s.", name, output.Clean(e.GetValue()), output.Clean(config.Wanted(e))).Try("%s --help", cmd.CommandPath())
}
