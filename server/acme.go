package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
			return nil, fmt.Errorf("%q is no domain that an authority certifies: it takes a name such as bookmarks.example.com", domain)
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
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		if slices.Contains(hello.SupportedVersions, tls.VersionTLS13) {
			hello = modern(hello)
		}
		return a.manager.GetCertificate(hello)
	}
	return config
}

// modern is a hello that asks for a certificate with an ECDSA key: the manager
// looks for the older versions' names of it alone, and would get a second
// certificate, with an RSA key, for who speaks nothing older than TLS 1.3.
func modern(hello *tls.ClientHelloInfo) *tls.ClientHelloInfo {
	changed := *hello
	changed.CipherSuites = append(slices.Clone(hello.CipherSuites), tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)
	return &changed
}

// keep gets the certificates before anybody asks for them, and watches over their
// renewal, which begins when a third of a certificate's life is left: what stands
// in the way is told where the operator looks, and no reader waits for the first
// one. It does not wait for an authority once ctx has ended.
func (a *authority) keep(ctx context.Context, logger *slog.Logger) {
	known := map[string]*x509.Certificate{}
	for {
		wait := longestLook
		for _, domain := range a.domains {
			leaf, err := a.certificate(ctx, domain)
			if ctx.Err() != nil {
				return
			}
			if err == nil {
				wait = min(wait, leaf.NotAfter.Sub(leaf.NotBefore)/looksInALife)
			} else {
				wait = min(wait, missingLook)
			}
			tell(logger, domain, known[domain], leaf, err)
			known[domain] = leaf
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// How often the certificates are looked at: so often in a certificate's life,
// and once in so long at least, where one is missing more often.
const (
	looksInALife = 12
	longestLook  = 12 * time.Hour
	missingLook  = time.Hour
)

// certificate is the one that is served for a domain; nil with an error.
func (a *authority) certificate(ctx context.Context, domain string) (*x509.Certificate, error) {
	type outcome struct {
		cert *tls.Certificate
		err  error
	}
	got := make(chan outcome, 1) // it has minutes of its own, which nobody may wait for
	go func() {
		cert, err := a.manager.GetCertificate(modern(&tls.ClientHelloInfo{ServerName: domain}))
		got <- outcome{cert, err}
	}()
	select {
	case o := <-got:
		if o.err != nil {
			return nil, o.err
		}
		return o.cert.Leaf, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// tell says what came of a look at a domain's certificate, where it is news or
// asks for something.
func tell(logger *slog.Logger, domain string, before, leaf *x509.Certificate, err error) {
	log := logger.With(slog.String("domain", domain))
	switch {
	case err != nil:
		log.Error("no certificate was got; port 443 of the domain has to reach this server, and each new connection tries again",
			slog.Any("error", err))
	case time.Until(leaf.NotAfter) < leaf.NotAfter.Sub(leaf.NotBefore)/4:
		log.Error("the certificate should have been renewed by now; the authority and port 443 of the domain have to be reached, and the server goes on trying",
			slog.Time("ends", leaf.NotAfter))
	case before == nil:
		log.Info("the certificate is there", slog.Time("ends", leaf.NotAfter))
	case !before.Equal(leaf):
		log.Info("the certificate was renewed", slog.Time("ends", leaf.NotAfter))
	}
}
