package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Folders are the places where bm keeps things, none of which need exist yet.
type Folders struct {
	Config  string // config.toml, profiles/
	Data    string // a folder per profile, with its replica
	State   string // logs
	Runtime string // the daemon's socket
}

// maxSocketPath is what fits into a socket's address on every system that bm
// runs on; macOS has the least.
const maxSocketPath = 103

// FindFolders follows BM_CONFIG_DIR and BM_DATA_DIR, then the XDG variables,
// then the system's habit.
func FindFolders(getenv func(string) string) (Folders, error) {
	home, homeErr := os.UserHomeDir()
	if v := getenv("HOME"); v != "" {
		home, homeErr = v, nil
	}
	if homeErr == nil && !filepath.IsAbs(home) {
		// It would be another folder wherever a command is typed.
		homeErr = fmt.Errorf("HOME is %q, which is no absolute path", home)
	}
	under := func(variable string, fallback ...string) (string, error) {
		if dir := getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, "bm"), nil
		}
		if homeErr != nil {
			return "", fmt.Errorf("find the home folder (set HOME, or BM_CONFIG_DIR and BM_DATA_DIR): %w", homeErr)
		}
		return filepath.Join(append([]string{home}, fallback...)...), nil
	}
	configDir := []string{".config", "bm"}
	dataDir := []string{".local", "share", "bm"}
	stateDir := []string{".local", "state", "bm"}
	switch runtime.GOOS {
	case "darwin":
		configDir = []string{"Library", "Application Support", "bm"}
		dataDir = configDir
		stateDir = []string{"Library", "Logs", "bm"}
	case "windows":
		configDir = []string{"AppData", "Roaming", "bm"}
		dataDir = []string{"AppData", "Local", "bm"}
		stateDir = []string{"AppData", "Local", "bm", "state"}
	}
	var f Folders
	var errs [3]error
	f.Config, errs[0] = under("XDG_CONFIG_HOME", configDir...)
	f.Data, errs[1] = under("XDG_DATA_HOME", dataDir...)
	f.State, errs[2] = under("XDG_STATE_HOME", stateDir...)
	if dir := getenv("BM_CONFIG_DIR"); dir != "" {
		if f.Config, errs[0] = filepath.Abs(dir); errs[0] != nil {
			return Folders{}, errs[0]
		}
	}
	if dir := getenv("BM_DATA_DIR"); dir != "" {
		if f.Data, errs[1] = filepath.Abs(dir); errs[1] != nil {
			return Folders{}, errs[1]
		}
		// Another data folder is another world: it has its own daemon.
		f.State, errs[2] = filepath.Join(f.Data, "state"), nil
		f.Runtime = filepath.Join(f.Data, "run")
	} else if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		f.Runtime = filepath.Join(dir, "bm")
	} else {
		f.Runtime = filepath.Join(f.State, "run")
	}
	if err := errors.Join(errs[:]...); err != nil {
		return Folders{}, err
	}
	if len(f.Socket()) > maxSocketPath {
		sum := sha256.Sum256([]byte(f.Runtime))
		f.Runtime = filepath.Join(os.TempDir(), fmt.Sprintf("bm-%d-%s", os.Getuid(), hex.EncodeToString(sum[:6])))
	}
	return f, nil
}

// Socket is the daemon's socket.
func (f Folders) Socket() string { return filepath.Join(f.Runtime, "daemon.sock") }

// File is the user's own settings.
func (f Folders) File() string { return filepath.Join(f.Config, "config.toml") }

// ProfileFile is what bm keeps of a profile's settings.
func (f Folders) ProfileFile(profile string) string {
	return filepath.Join(f.Config, "profiles", profile+".toml")
}

// chosenProfile holds the name of the profile that "bm auth switch" chose.
func (f Folders) chosenProfile() string { return filepath.Join(f.Config, "profile") }

// ProfileData is the folder of what a profile holds on this machine.
func (f Folders) ProfileData(profile string) string {
	return filepath.Join(f.Data, "profiles", profile)
}

// Replica is the profile's local copy.
func (f Folders) Replica(profile string) string {
	return filepath.Join(f.ProfileData(profile), "replica.db")
}

// Logs is the folder of the daemon's logs.
func (f Folders) Logs() string { return filepath.Join(f.State, "logs") }

// MakePrivate makes a folder that only its owner can enter, and closes one
// that others can. It is [*Exposed] where that can't be done.
func MakePrivate(dir string) error {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		_, err := closeOpen(dir, info, os.Chmod)
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the folder %s: %w", dir, err)
	}
	return nil
}

// Exposed says that others can get at what is this user's own, and that this
// can't be changed.
type Exposed struct {
	Path string
	Err  error
}

func (e *Exposed) Error() string {
	return fmt.Sprintf("others can read %s, and it can't be closed to them", e.Path)
}

func (e *Exposed) Unwrap() error { return e.Err }

// CloseToOthers takes away what others may do with a file or folder, and
// reports whether there was anything to take. What isn't there is closed.
func CloseToOthers(path string) (mended bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check %s: %w", path, err)
	}
	return closeOpen(path, info, os.Chmod)
}

// closeOpen does so for what was looked at already.
func closeOpen(path string, info os.FileInfo, chmod func(string, os.FileMode) error) (mended bool, err error) {
	// Modes say nothing on Windows; the profile folder is the user's own there.
	if runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 {
		return false, nil
	}
	switch {
	case !info.Mode().IsRegular() && !info.IsDir(): // root would close /dev/null to everybody
		return false, nil
	case info.Mode()&os.ModeSticky != 0: // and /tmp
		return false, &Exposed{Path: path, Err: fs.ErrPermission}
	}
	if err := chmod(path, info.Mode().Perm()&0o700); err != nil {
		return false, &Exposed{Path: path, Err: err}
	}
	return true, nil
}

// ReadPrivate reads a file that is its owner's alone, and closes one that
// others can read. The content is answered along with [*Exposed].
func ReadPrivate(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	_, err = closeOpen(path, info, func(_ string, mode os.FileMode) error { return file.Chmod(mode) })
	return content, err
}

// WritePrivate replaces a file at once, or not at all: a full disk or a kill
// leaves the former one.
func WritePrivate(path string, content []byte) (err error) {
	if err := MakePrivate(filepath.Dir(path)); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // what is half written is no use
		}
	}()
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
