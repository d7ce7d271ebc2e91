package browser

import (
	"path/filepath"
	"strings"
)

// listed is a profile as profiles.ini lists it.
type listed struct {
	name      string
	folder    string
	isDefault bool
}

// maxINI is how much of a list of profiles is read: a line of it takes a hundred
// bytes.
const maxINI = 1 << 20

// parseINI reads profiles.ini of a folder: a section for each profile, with its
// name and its path, mostly relative to the folder; and one for each installed
// Firefox, with the path of the profile that it opens. Lines that say nothing are
// left out, as Firefox leaves them out.
func parseINI(text []byte, folder string) []listed {
	var profiles []listed
	opened := map[string]bool{} // by the paths as they are written
	var written []string
	eachSection(string(text), func(name string, values map[string]string) {
		path := values["path"]
		switch {
		case strings.HasPrefix(name, "install"):
			opened[values["default"]] = true
		case strings.HasPrefix(name, "profile") && path != "":
			at := absolute(folder, path, values["isrelative"])
			if !filepath.IsAbs(at) {
				return // it would be looked for wherever bm is run
			}
			written = append(written, path)
			profiles = append(profiles, listed{name: values["name"], folder: at, isDefault: values["default"] == "1"})
		}
	})
	if len(opened) > 0 { // which overrules the mark of an older Firefox
		for i := range profiles {
			profiles[i].isDefault = opened[written[i]]
		}
	}
	return profiles
}

func absolute(folder, path, isRelative string) string {
	if isRelative == "0" {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, filepath.FromSlash(path))
}

// eachSection calls take with every section, its name and its keys in lower case.
func eachSection(text string, take func(name string, values map[string]string)) {
	name, values := "", map[string]string{}
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, ";"), strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			take(name, values)
			name, values = strings.ToLower(line[1:len(line)-1]), map[string]string{}
		default:
			if key, value, found := strings.Cut(line, "="); found {
				values[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
			}
		}
	}
	take(name, values)
}
