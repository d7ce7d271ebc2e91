package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// sqliteMagic is what every SQLite file begins with.
var sqliteMagic = []byte("SQLite format 3\x00")

// copyFile copies a backup to a name that is not taken.
func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("open the backup: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	head := make([]byte, len(sqliteMagic))
	if _, err := io.ReadFull(source, head); err != nil || !bytes.Equal(head, sqliteMagic) {
		return fmt.Errorf("%s is no backup of bm", from)
	}
	if _, err := source.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
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
