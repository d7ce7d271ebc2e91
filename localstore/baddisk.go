package localstore

import (
	"fmt"
	"io"
	"os"
)

// unreadable reports whether the disk does not give back all of a file, or of its
// log. No connection of this process to it may be in use: closing a file takes the
// locks off it.
func unreadable(path string) bool {
	for _, part := range []string{path, path + "-wal"} {
		file, err := os.Open(part)
		if err != nil {
			continue
		}
		_, err = io.Copy(io.Discard, file)
		_ = file.Close() // it was only read
		if err != nil {
			return true
		}
	}
	return false
}

// copyWhatIsThere copies what the disk gives back of a file, and answers where the
// pages are that it does not: in their place are zeros. A disk that gives nothing
// back is an error.
func copyWhatIsThere(to io.Writer, from io.ReaderAt, length int64) (lost []int64, err error) {
	var got bool
	var failed error
	block := make([]byte, 1<<20)
	for at, size := int64(0), len(block); at < length; size = min(2*size, len(block)) {
		part := block[:min(int64(size), length-at)]
		n, err := from.ReadAt(part, at)
		switch {
		case n > 0:
			part, got = part[:n], true
		case size > defaultPageSize:
			size = defaultPageSize / 2
			continue
		default:
			clear(part)
			lost, failed = append(lost, at), err
		}
		if _, err := to.Write(part); err != nil {
			return nil, err
		}
		at += int64(len(part))
	}
	if !got {
		return nil, failed
	}
	return lost, nil
}

// blank writes zeros over pages. What a disk can't read it can be given anew, and
// SQLite, which reads a page before it writes over it, can't.
func blank(file io.WriterAt, pages []int64) error {
	for _, at := range pages {
		if _, err := file.WriteAt(make([]byte, defaultPageSize), at); err != nil {
			return fmt.Errorf("write over what the disk does not give back: %w", err)
		}
	}
	return nil
}
