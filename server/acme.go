package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
	"golang.org/x/net/idna"
)

// ACME says whose certificates the server gets by itself, and where.
type ACME struct {
	// Domains are the names that the server is reached by, at port 443 of each.
	Domains []string
	// Directory is the authority's; Let's Encrypt's where "".
	Directory string
	// Email is where the authority reaches the operator; "" is nowhere.
	Email string
}

// authority gets certificates, keeps them in the data folder and renews them.
type authority struct {
	manager *autocert.Manager
	domains []string // in ASCII
}

// authority is the one that a describes.
func (a *ACME) authority(dir string) (*authority, error) {
	domains := make([]string, len(a.Domains))
	for i, domain := range a.Domains {
		ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(domain, "."))
		if err != nil || net.ParseIP(domain) != nil || !strings.Contains(ascii, ".") {
			return nil, fmt.Errorf("%q is no domain that an authority certifies: it takes a name as bookmarks.example.com", domain)
		}
		domains[i] = ascii
	}
	if a.Directory != "" {
		directory, err := url.Parse(a.Directory)
		if err != nil || directory.Scheme != "https" || directory.Host == "" {
			return nil, fmt.Errorf("%q is no directory of an ACME authority: it takes an https:// URL", a.Directory)
		}
	}
	return &authority{domains: domains, manager: &autocert.Manager{
		Prompt: autocert.AcceptTOS, HostPolicy: autocert.HostWhitelist(domains...),
		Cache: autocert.DirCache(filepath.Join(dir, "acme")), Email: a.Email,
		Client: &acme.Client{DirectoryURL: a.Directory},
	}}, nil
}

func (a *authority) tls() *tls.Config {
	config := a.manager.TLSConfig()
	config.MinVersion = tls.VersionTLS12
	return config
}

// fetch gets the certificates before anybody asks for them: what stands in the
// way is told where the operator looks, and no reader waits for the first one.
// It does not wait for an authority once ctx has ended.
func (a *authority) fetch(ctx context.Context, logger *slog.Logger) {
	fetched := make(chan error)
	for _, domain := range a.domains {
		go func() {
			_, err := a.manager.GetCertificate(&tls.ClientHelloInfo{
				ServerName: domain, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
			})
			select {
			case fetched <- err:
			case <-ctx.Done(): // it has minutes of its own, which nobody waits for
			}
		}()
		select {
		case err := <-fetched:
			if err != nil {
				logger.Error("no certificate was got; port 443 of the domain has to reach this server, and each new connection tries again",
					slog.String("domain", domain), slog.Any("error", err))
				continue
			}
			logger.Info("the certificate is there", slog.String("domain", domain))
		case <-ctx.Done():
			return
		}
	}
}
