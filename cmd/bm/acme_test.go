package main_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"bm/server/api/needtest"
	"bm/server/servertest"
)

// A server gets its certificate from an authority that asks it to prove its
// name, serves with it at the next start too, when the authority is away, and
// says so where it gets none.
func TestCertificateFromAnAuthority(t *testing.T) {
	pebble, err := exec.LookPath("pebble")
	if err != nil {
		needtest.Missing(t, "acme", "pebble, the authority to test against, is not there: %v", err)
	}
	dir := t.TempDir()
	w := &world{t: t, dir: dir, program: buildBM(t, dir), addr: freeAddr(t)}
	authority := w.authority(pebble, 90*24*time.Hour)
	serve := func(domains ...string) *process {
		args := []string{"serve", "--addr", w.addr, "--data-dir", filepath.Join(dir, "server"), "--acme-directory", "https://" + authority.addr + "/dir"}
		for _, domain := range domains {
			args = append(args, "--acme-domain", domain)
		}
		return w.start(append(os.Environ(), "SSL_CERT_FILE="+authority.certFile), args...)
	}
	server := serve("bm.example")
	until(t, "the certificate", func() bool { return strings.Contains(server.text(), "the certificate is there") })
	client := &http.Client{Timeout: patience, Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{RootCAs: authority.roots(t), ServerName: "bm.example", MinVersion: tls.VersionTLS13},
	}}
	answers := func() error {
		answer, err := client.Get("https://" + w.addr + "/readyz")
		if err != nil {
			return err
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK || answer.ProtoMajor != 2 {
			t.Errorf("%v: %s over %s", err, answer.Status, answer.Proto)
		}
		return nil
	}
	if err := answers(); err != nil {
		t.Fatalf("%v\n%s", err, server.text())
	}
	if conn, err := tls.Dial("tcp", w.addr, &tls.Config{ServerName: "other.example", InsecureSkipVerify: true}); err == nil {
		t.Errorf("a certificate for a name that is not served: %v", conn.Close())
	}
	kept := 0
	err = filepath.WalkDir(filepath.Join(dir, "server", "acme"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s may be read by others: %v", path, info.Mode())
		}
		kept++
		return err
	})
	if err != nil || kept != 2 { // the account's key and the certificate
		t.Errorf("%d files of the authority are kept: %v", kept, err)
	}

	server.kill()
	authority.kill()
	client.CloseIdleConnections()
	server = serve("bm.example", "new.example")
	until(t, "the server", func() bool { return answers() == nil })
	until(t, "word of the certificate that is missing", func() bool {
		return strings.Contains(server.text(), "no certificate was got") && strings.Contains(server.text(), "new.example")
	})
}

// A certificate is renewed before it ends, without a word from anybody; where
// that fails, the log says so while there is still time.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	pebble, err := exec.LookPath("pebble")
	if err != nil {
		needtest.Missing(t, "acme", "pebble, the authority to test against, is not there: %v", err)
	}
	dir := t.TempDir()
	w := &world{t: t, dir: dir, program: buildBM(t, dir), addr: freeAddr(t)}
	authority := w.authority(pebble, 24*time.Second)
	server := w.start(append(os.Environ(), "SSL_CERT_FILE="+authority.certFile),
		"serve", "--addr", w.addr, "--data-dir", filepath.Join(dir, "server"), "--acme-directory", "https://"+authority.addr+"/dir", "--acme-domain", "bm.example")
	until(t, "the certificate", func() bool { return strings.Contains(server.text(), "the certificate is there") })
	roots := authority.roots(t)
	served := func() *x509.Certificate {
		conn, err := tls.Dial("tcp", w.addr, &tls.Config{RootCAs: roots, ServerName: "bm.example", MinVersion: tls.VersionTLS13})
		if err != nil {
			t.Fatalf("%v\n%s", err, server.text())
		}
		defer func() { _ = conn.Close() }() // it said what it had to say
		return conn.ConnectionState().PeerCertificates[0]
	}
	first := served()
	until(t, "another certificate", func() bool { return !served().Equal(first) })
	until(t, "word of it", func() bool { return strings.Contains(server.text(), "the certificate was renewed") })
	if strings.Contains(server.text(), "should have been renewed") {
		t.Errorf("renewed in time, and yet:\n%s", server.text())
	}
	authority.kill()
	until(t, "word that it is not", func() bool { return strings.Contains(server.text(), "should have been renewed by now") })
}

// authority is a certificate authority on this machine, which validates for
// real: it connects to the names that it is asked to certify.
type authority struct {
	*process
	addr, management, certFile string
}

func (w *world) authority(program string, lifetime time.Duration) *authority {
	w.t.Helper()
	certFile, keyFile := servertest.Certificate(w.t, w.dir)
	a := &authority{addr: freeAddr(w.t), management: freeAddr(w.t), certFile: certFile}
	_, port, err := net.SplitHostPort(w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	tlsPort, err := strconv.Atoi(port)
	if err != nil {
		w.t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": a.addr, "managementListenAddress": a.management,
		"certificate": certFile, "privateKey": keyFile, "tlsPort": tlsPort, "keyAlgorithm": "ecdsa",
		"profiles": map[string]any{"default": map[string]any{"description": "one for all", "validityPeriod": lifetime / time.Second}},
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	configFile := filepath.Join(w.dir, "authority.json")
	if err := os.WriteFile(configFile, config, 0o600); err != nil {
		w.t.Fatal(err)
	}
	run := &world{t: w.t, dir: w.dir, program: program}
	a.process = run.start(append(os.Environ(), "PEBBLE_VA_NOSLEEP=1"), "-strict", "-config", configFile, "-dnsserver", loopbackNames(w.t))
	until(w.t, "the authority", func() bool {
		conn, err := net.Dial("tcp", a.addr)
		return err == nil && conn.Close() == nil
	})
	return a
}

// roots is what the authority signs with.
func (a *authority) roots(t testing.TB) *x509.CertPool {
	t.Helper()
	own, err := os.ReadFile(a.certFile)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(own)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	defer client.CloseIdleConnections()
	answer, err := client.Get("https://" + a.management + "/roots/0")
	if err != nil {
		t.Fatal(err)
	}
	root, err := io.ReadAll(answer.Body)
	roots := x509.NewCertPool()
	if err := errors.Join(err, answer.Body.Close()); err != nil || !roots.AppendCertsFromPEM(root) {
		t.Fatalf("the authority's root: %v\n%s", err, root)
	}
	return roots
}

// loopbackNames is the address of a name server, over TCP, to which every name
// is this machine.
func loopbackNames(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // it ends with the test
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }() // the asker has its answers
				for in := bufio.NewReader(conn); answerName(in, conn) == nil; {
				}
			}()
		}
	}()
	return listener.Addr().String()
}

// answerName answers one question.
func answerName(in io.Reader, out io.Writer) error {
	var length uint16
	if err := binary.Read(in, binary.BigEndian, &length); err != nil {
		return err
	}
	raw := make([]byte, length)
	if _, err := io.ReadFull(in, raw); err != nil {
		return err
	}
	var message dnsmessage.Message
	if err := message.Unpack(raw); err != nil {
		return err
	}
	message.Response, message.RecursionAvailable = true, true
	message.Additionals = nil
	for _, question := range message.Questions {
		if question.Type == dnsmessage.TypeA {
			header := dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: question.Class}
			message.Answers = append(message.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}})
		}
	}
	raw, err := message.Pack()
	if err != nil {
		return err
	}
	_, err = out.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(raw))), raw...))
	return err
}
