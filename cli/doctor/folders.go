package doctor

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"bm/cli/app"
	"bm/cli/config"
)

// environment tells of variables that nothing heeds, such as those with a typo.
func environment(environ []string) []finding {
	unheeded := config.Unheeded(environ)
	var findings []finding
	for _, name := range slices.Sorted(maps.Keys(unheeded)) {
		next := "bm man   lists the variables"
		if near := unheeded[name]; near != "" {
			next = near + "   if that was meant"
		}
		findings = append(findings, finding{"variables", note, name + " is set, and nothing heeds it", next})
	}
	return findings
}

// closed tells what others could read of what is the user's own. The settings
// were looked at when they were read.
func closed(c *config.Config) []finding {
	mended, exposed := c.Mended, c.Exposed
	for _, path := range []string{c.Folders.Data, c.Folders.State, c.Folders.ProfileData(c.ProfileName()), c.Folders.Replica(c.ProfileName()), filepath.Join(c.Folders.Config, "keys.json")} {
		did, err := config.CloseToOthers(path)
		if open, ok := errors.AsType[*config.Exposed](err); ok {
			exposed = append(exposed, open)
		}
		if did {
			mended = append(mended, path)
		}
	}
	var findings []finding
	for _, path := range mended {
		findings = append(findings, finding{"privacy", note, "others could read " + path + ": it is closed to them now", ""})
	}
	for _, open := range exposed {
		findings = append(findings, finding{"privacy", trouble, open.Error(), "make it yours: ls -ld " + open.Path})
	}
	return findings
}

// folders sees whether a file can be written where bm keeps its own. It makes none
// of them: that is for who keeps something.
func folders(c *config.Config) []finding {
	var findings []finding
	for _, f := range []struct{ name, dir string }{{"config", c.Folders.Config}, {"data", c.Folders.Data}, {"state", c.Folders.State}} {
		found := finding{f.name, ok, f.dir, ""}
		there := existing(f.dir)
		err := writable(there)
		switch {
		case err == nil && there != f.dir:
			found.Detail += ", which is made when it is needed"
		case err == nil:
		case there != f.dir:
			found.State, found.Detail, found.Next = trouble, f.dir+" can't be made: "+cause(err), "make it yours: ls -ld "+app.Typed(there)
		default:
			found.State, found.Detail, found.Next = trouble, f.dir+" can't be written to: "+cause(err), "df -h "+app.Typed(f.dir)+"; ls -ld "+app.Typed(f.dir)
		}
		findings = append(findings, found)
	}
	return findings
}

// cause is why something failed, without what was being done.
func cause(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}

// existing is a path, or what there is of it.
func existing(path string) string {
	for {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
			return path
		}
		path = filepath.Dir(path)
	}
}

func writable(dir string) error {
	file, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	_, err = file.WriteString("x")
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}
