package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// certificates is a certificate that is read again when its file changes: who
// renews it need not stop the server.
type certificates struct {
	certFile, keyFile string

	mu       sync.Mutex
	current  *tls.Certificate
	modified time.Time
	looked   time.Time
}

// certificateCheck is how often the file is looked at.
const certificateCheck = time.Minute

func (c *certificates) load() error {
	info, err := os.Stat(c.certFile)
	if err != nil {
		return fmt.Errorf("read the certificate: %w", err)
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if _, unread := errors.AsType[*os.PathError](err); unread {
		return fmt.Errorf("read the certificate: %w", err)
	}
	if err != nil {
		return fmt.Errorf("use the certificate %s with the key %s: %w", c.certFile, c.keyFile, err)
	}
	c.current, c.modified, c.looked = &pair, info.ModTime(), time.Now()
	return nil
}

func (c *certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < certificateCheck {
		return c.current, nil
	}
	c.looked = time.Now()
	if info, err := os.Stat(c.certFile); err == nil && !info.ModTime().Equal(c.modified) {
		// A pair that is being replaced may not fit for a moment: the one that
		// was read before serves on.
		_ = c.load()
	}
	return c.current, nil
}
