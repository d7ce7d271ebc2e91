package serve

import (
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"bm/cli/app"
	"bm/cli/output"
	"bm/server"
)

// explain puts what a server failed with into a person's terms.
func explain(err error, dataDir, databaseURL string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, server.ErrHeld):
		return app.Fail(app.Conflict, "%s", output.Sentence(output.Clean(err.Error()))).Try("stop that one, or choose another --data-dir").Because(err)
	}
	if told := aboutAddress(err); told != nil {
		return told
	}
	switch {
	case errors.Is(err, server.ErrDamaged):
		return damaged(err, dataDir)
	case errors.Is(err, server.ErrNewer):
		return newer(err)
	}
	if told := aboutDatabase(err, databaseURL); told != nil {
		return told
	}
	if strings.HasPrefix(err.Error(), `"`) { // it begins with what is wrong, not with what was being done
		return app.Fail(app.Failed, "%s", output.Sentence(output.Clean(err.Error()))).Because(err)
	}
	told := app.Fail(app.Failed, "The server can't %s.", what(err)).Because(err)
	if app.DiskFull(err) {
		return told.Try("df -h, and free some space")
	}
	path, ok := inTheWay(err)
	switch {
	case ok && errors.Is(err, server.ErrForeign):
		return told.Try("another --data-dir; or chmod 700 %s   where it is to be the server's alone", app.Typed(path))
	case ok:
		return told.Try("ls -ld %s", app.Typed(path))
	}
	return told
}

// aboutAddress says why an address can't be served on; nil where it is not about
// that.
func aboutAddress(err error) error {
	refused, ok := errors.AsType[*net.OpError](err)
	if !ok || refused.Op != "listen" {
		return nil
	}
	flag := "--addr"
	if strings.HasPrefix(err.Error(), "listen for metrics") {
		flag = "--metrics-addr"
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		return app.Fail(app.Failed, "The server can't serve on %s: %s.", output.Clean(unknown.Name), output.Clean(unknown.Err)).
			Try("another %s", flag).Because(err)
	}
	if refused.Addr == nil {
		return nil
	}
	addr := output.Clean(refused.Addr.String())
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return app.Fail(app.Conflict, "Another program serves on %s.", addr).Try("another %s", flag).Because(err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return app.Fail(app.Failed, "This machine does not have the address %s.", addr).Try("another %s", flag).Because(err)
	case errors.Is(err, syscall.EACCES):
		return app.Fail(app.Failed, "Only the system's administrator may serve on %s.", addr).
			Try("%s with a port above 1023", flag).Because(err)
	}
	return nil
}

// damaged says that there is no reading the database, and what there is to do.
func damaged(err error, dataDir string) error {
	return app.Fail(app.Failed, "The database in %s is damaged, or is none.", output.Clean(dataDir)).
		Try("bm serve admin restore BACKUP --data-dir %s   puts a backup in its place", app.Typed(dataDir)).Because(err)
}

// newer says that the database is beyond this bm.
func newer(err error) error {
	return app.Fail(app.Failed, "The database is of a newer bm.").
		Try("that bm; or bm serve admin restore BACKUP, with one that this bm made").Because(err)
}

// inTheWay is the file that may not be used, or the first folder above it that can
// be looked at: what whoever made it has to change.
func inTheWay(err error) (path string, ok bool) {
	file, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return "", false
	}
	inTheWay := file.Op == "chmod" // who may not close a folder, or should not
	for _, reason := range []error{fs.ErrPermission, fs.ErrExist, syscall.ENOTDIR, syscall.EISDIR, syscall.EROFS} {
		inTheWay = inTheWay || errors.Is(err, reason)
	}
	if !inTheWay {
		return "", false
	}
	path = file.Path
	for path != filepath.Dir(path) {
		if _, err := os.Lstat(path); err == nil {
			break
		}
		path = filepath.Dir(path)
	}
	return path, true
}

// what is an error without the chain of what was being done: what could not be
// done, to which file, and why.
func what(err error) string {
	parts := strings.Split(output.Clean(err.Error()), ": ")
	first, last := parts[0], strings.TrimSuffix(parts[len(parts)-1], ".")
	if len(parts) == 1 {
		return "go on: " + first
	}
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return first + " " + output.Clean(file.Path) + ": " + last
	}
	return first + ": " + last
}

// aboutDatabase says why PostgreSQL can't be used; nil where it is not about
// that. The driver says the same thing once for every address that it tried.
func aboutDatabase(err error, databaseURL string) error {
	if databaseURL == "" || !strings.Contains(err.Error(), "reach postgres") {
		return nil
	}
	where := "PostgreSQL"
	if u, failed := url.Parse(databaseURL); failed == nil && u.Host != "" {
		where += " at " + output.Clean(u.Host)
	}
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	parts := strings.Split(lines[len(lines)-1], ": ")
	why := parts[len(parts)-1]
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		why = errno.Error()
	}
	return app.Fail(app.Failed, "%s can't be reached: %s.", where, strings.TrimSuffix(output.Clean(why), ".")).
		Try("is it up, and --database-url right?").Because(err)
}
