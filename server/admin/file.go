package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrNoBackup says that a file cannot be restored.
var ErrNoBackup = errors.New("no backup that can be used")

// sqliteMagic is what every SQLite file begins with.
var sqliteMagic = []byte("SQLite format 3\x00")

// copyDatabase copies a backup to a name that is not taken. What is restored
// may be a database that was set aside, or whose server was killed: then part
// of it is in its log.
func copyDatabase(from, to string) error {
	if err := IsDatabase(from); err != nil {
		return err
	}
	if err := copyFile(from, to); err != nil {
		return err
	}
	if err := copyFile(from+"-wal", to+"-wal"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// IsDatabase refuses what by its first bytes is no database file. A folder is
// none, nor is a pipe, which would be waited for.
func IsDatabase(path string) (err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is %w", path, ErrNoBackup)
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the backup: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	head := make([]byte, len(sqliteMagic))
	if _, err := io.ReadFull(file, head); err != nil || !bytes.Equal(head, sqliteMagic) {
		return fmt.Errorf("%s is %w", path, ErrNoBackup)
	}
	return nil
}

func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("open the backup: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if _, err := io.Copy(target, source); err != nil {
		return fmt.Errorf("copy the backup: %w", err)
	}
	if err := target.Sync(); err != nil {
		return fmt.Errorf("copy the backup: %w", err)
	}
	return nil
}

func tagsOf(text string) ([]string, error) {
	var tags []string
	if err := json.Unmarshal([]byte(text), &tags); err != nil {
		return nil, fmt.Errorf("read a bookmark's tags: %w", err)
	}
	return tags, nil
}
