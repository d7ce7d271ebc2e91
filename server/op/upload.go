package op

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"syscall"
	"time"

	"bm/server/api"
)

// Upload is the first file of a multipart form, spooled to disk: the handler
// may go on with it though the client has left.
type Upload struct {
	File   *os.File
	Name   string
	Size   int64
	sha256 string
}

// Close removes the spooled file.
func (u *Upload) Close() error {
	if u.File == nil {
		return nil
	}
	err := u.File.Close()
	if removeErr := os.Remove(u.File.Name()); removeErr != nil && !errors.Is(removeErr, os.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	u.File = nil
	return err
}

// checkForm reports whether the request carries a multipart form.
func checkForm(r *http.Request) error {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		return api.Errorf(api.CodeUnsupportedMediaType, "the file must be sent as Content-Type: multipart/form-data")
	}
	return nil
}

// spool reads the first file part of the request's form into a file in dir.
func spool(w http.ResponseWriter, r *http.Request, dir string) (upload Upload, err error) {
	// Room for the form's own lines.
	body := http.MaxBytesReader(w, r.Body, api.MaxImportBody+64<<10)
	r.Body = newPatient(body, http.NewResponseController(w), time.Now)
	form, err := r.MultipartReader()
	if err != nil {
		return Upload{}, api.Errorf(api.CodeUnsupportedMediaType, "the body is not a multipart form")
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return Upload{}, api.Invalid("file", "is missing: the form has no file part")
		}
		if err != nil {
			return Upload{}, uploadError(r, err)
		}
		if part.FileName() == "" && part.FormName() != "file" {
			continue
		}
		file, err := os.CreateTemp(dir, "upload-*")
		if err != nil {
			return Upload{}, spoolError(err)
		}
		upload := Upload{File: file, Name: part.FileName()}
		hash := sha256.New()
		upload.Size, err = io.Copy(io.MultiWriter(file, hash), io.LimitReader(part, api.MaxImportBody+1))
		switch {
		case err != nil:
			return Upload{}, errors.Join(uploadError(r, err), upload.Close())
		case upload.Size > api.MaxImportBody:
			return Upload{}, errors.Join(tooLarge(api.MaxImportBody), upload.Close())
		}
		// To the form's end: one that was cut off is not to be taken for whole.
		if _, err := form.NextPart(); err != nil && !errors.Is(err, io.EOF) {
			return Upload{}, errors.Join(uploadError(r, err), upload.Close())
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return Upload{}, errors.Join(fmt.Errorf("spool the upload: %w", err), upload.Close())
		}
		upload.sha256 = hex.EncodeToString(hash.Sum(nil))
		return upload, nil
	}
}

// patient reads a body that may take long as a whole, but neither stands still
// between two of its parts nor trickles for ever.
type patient struct {
	io.ReadCloser
	deadlines interface{ SetReadDeadline(at time.Time) error }
	now       func() time.Time
	began     time.Time
	got       int64
}

const (
	// patience is how long an upload may stand still.
	patience = time.Minute
	// leastRate is what it has to bring on the whole, beyond its first minute,
	// in bytes a second: a poor mobile line brings more.
	leastRate = 8 << 10
)

func newPatient(body io.ReadCloser, deadlines interface{ SetReadDeadline(at time.Time) error }, now func() time.Time) *patient {
	return &patient{ReadCloser: body, deadlines: deadlines, now: now, began: now()}
}

func (p *patient) Read(b []byte) (int, error) {
	until := p.now().Add(patience)
	if due := p.began.Add(patience + time.Duration(p.got)*time.Second/leastRate); due.Before(until) {
		until = due
	}
	// A test's recorder has no deadlines; every real connection has.
	_ = p.deadlines.SetReadDeadline(until)
	n, err := p.ReadCloser.Read(b)
	p.got += int64(n)
	if err == nil || errors.Is(err, io.EOF) {
		_ = p.deadlines.SetReadDeadline(time.Time{}) // as above
	}
	return n, err
}

func uploadError(r *http.Request, err error) error {
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return tooLarge(api.MaxImportBody)
	}
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return spoolError(err)
	}
	return truncated(r, err)
}

// spoolError is why a file cannot be kept; a disk that is full may have room
// again.
func spoolError(err error) error {
	err = fmt.Errorf("spool the upload: %w", err)
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	full := &api.Error{Code: api.CodeUnavailable, Message: "the server has no room for the file now", RetryAfter: time.Minute}
	return fmt.Errorf("%w: %w", full, err)
}
