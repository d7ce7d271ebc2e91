package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// LogFile is a log that never grows beyond a few files: when it is full it
// becomes daemon.log.1, that .2, and so on.
type LogFile struct {
	path string
	max  int64
	keep int

	mu   sync.Mutex
	file *os.File
	size int64
}

// The bounds of the log.
const (
	maxLog  = 2 << 20
	keepLog = 3
)

// OpenLog opens the log in a folder, which is made where there is none.
func OpenLog(dir string) (*LogFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the logs: %w", err)
	}
	l := &LogFile{path: filepath.Join(dir, "daemon.log"), max: maxLog, keep: keepLog}
	return l, l.open()
}

// Path is the file that is written to.
func (l *LogFile) Path() string { return l.path }

func (l *LogFile) open() error {
	file, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("open the log: %w", errors.Join(err, file.Close()))
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write writes one line.
func (l *LogFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil && l.size+int64(len(line)) > l.max && l.size > 0 {
		// A log that cannot be rotated grows, which is better than silence.
		_ = l.rotate()
	}
	if l.file == nil {
		if err := l.open(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	return n, err
}

func (l *LogFile) rotate() error {
	err := l.file.Close()
	l.file = nil
	if err != nil {
		return fmt.Errorf("rotate the log: %w", err)
	}
	for i := l.keep - 1; i >= 0; i-- {
		from := l.path
		if i > 0 {
			from = fmt.Sprintf("%s.%d", l.path, i)
		}
		if err := os.Rename(from, fmt.Sprintf("%s.%d", l.path, i+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("rotate the log: %w", err)
		}
	}
	return l.open()
}

// Close closes the file.
func (l *LogFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
