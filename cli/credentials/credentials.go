package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/zalando/go-keyring"

	"bm/cli/config"
	"bm/server/api"
)

// Secret is a key. It shows itself only when it is asked to.
type Secret = api.Secret

// Source is where a secret was found or went.
type Source string

// The sources.
const (
	FromEnvironment Source = "BM_TOKEN"
	FromKeyring     Source = "keyring"
	FromFile        Source = "file"
)

// Errors that callers tell apart.
var (
	// ErrNotFound says that no key is kept under the name.
	ErrNotFound = errors.New("no key is kept")
	// ErrNoKeyring is in the chain of an error that says the keyring can't be
	// used: there is none, it is locked, or it doesn't answer.
	ErrNoKeyring = errors.New("the keyring can't be used")
	// ErrMalformed says that what stands for a key is none, and could not even be
	// sent.
	ErrMalformed = errors.New("it holds characters that no key has")
)

// Check refuses what no request could carry as a key: that a request was never
// made must not look as if nobody answered it.
func Check(secret Secret) error {
	if strings.ContainsFunc(secret.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ErrMalformed
	}
	return nil
}

// Timeout bounds one call of the keyring.
const Timeout = 5 * time.Second

const service = "bm"

// ring is what is needed of a keyring.
type ring interface {
	Set(service, user, secret string) error
	Get(service, user string) (string, error)
	Delete(service, user string) error
}

type systemRing struct{}

func (systemRing) Set(service, user, secret string) error   { return keyring.Set(service, user, secret) }
func (systemRing) Get(service, user string) (string, error) { return keyring.Get(service, user) }
func (systemRing) Delete(service, user string) error        { return keyring.Delete(service, user) }

// Keeper keeps the keys of one user.
type Keeper struct {
	// Warn is told of a file that others can read and that can't be closed to
	// them; nil tells nobody.
	Warn func(error)

	file    string
	token   string
	ring    ring
	timeout time.Duration

	mu sync.Mutex
	// hung is when the keyring last gave no answer.
	hung time.Time
}

// rest is how long a keyring that gave no answer is not asked again: whoever
// looks for several keys waits for it once.
const rest = 30 * time.Second

// New makes a keeper that falls back to the file at path, and that BM_TOKEN,
// handed in as token, goes before.
func New(path, token string) *Keeper {
	return &Keeper{file: path, token: token, ring: systemRing{}, timeout: Timeout}
}

// Name is what a profile's key for a tenant is kept under.
func Name(profile, tenantID string) string {
	if tenantID == "" {
		return profile
	}
	return profile + "/" + tenantID
}

// Get finds the key kept under name.
func (k *Keeper) Get(name string) (Secret, Source, error) {
	if k.token != "" {
		if err := Check(Secret(k.token)); err != nil {
			return "", "", fmt.Errorf("use BM_TOKEN: %w", err)
		}
		return Secret(k.token), FromEnvironment, nil
	}
	return k.Kept(name)
}

// Kept finds the key kept under name, whatever BM_TOKEN says.
func (k *Keeper) Kept(name string) (Secret, Source, error) {
	// The file first: it is there only where the keyring was no help, and
	// reading it costs no wait for a service that isn't there.
	kept, err := k.read()
	if err != nil {
		return "", "", err
	}
	if secret, ok := kept[name]; ok {
		return Secret(secret), FromFile, nil
	}
	secret, err := k.asked(func() (string, error) { return k.ring.Get(service, name) })
	switch {
	case err == nil:
		return Secret(secret), FromKeyring, nil
	case errors.Is(err, keyring.ErrNotFound):
		return "", "", fmt.Errorf("find the key of %q: %w", name, ErrNotFound)
	}
	return "", "", fmt.Errorf("find the key of %q: %w: %w", name, ErrNoKeyring, err)
}

// Set keeps a key in the keyring; where that can't be used it goes into the
// file if insecure says that it may. It answers where the key went.
func (k *Keeper) Set(name string, secret Secret, insecure bool) (Source, error) {
	_, err := k.asked(func() (string, error) { return "", k.ring.Set(service, name, secret.Reveal()) })
	if err == nil {
		// An older one in the file would go before it.
		return FromKeyring, k.forget(name)
	}
	if !insecure {
		return "", fmt.Errorf("keep the key: %w: %w", ErrNoKeyring, err)
	}
	return FromFile, k.change(func(kept map[string]string) { kept[name] = secret.Reveal() })
}

// Delete forgets the key kept under name, wherever it is: one in the file may
// have an older one in the keyring behind it. One that isn't there is no
// failure, nor is a keyring that can't be used where the file had the key.
func (k *Keeper) Delete(name string) error {
	kept, err := k.read()
	if err != nil {
		return err
	}
	_, inFile := kept[name]
	if err := k.forget(name); err != nil {
		return err
	}
	_, err = k.asked(func() (string, error) { return "", k.ring.Delete(service, name) })
	if err == nil || inFile || errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return fmt.Errorf("forget the key of %q: %w: %w", name, ErrNoKeyring, err)
}

// File is the path of the fallback.
func (k *Keeper) File() string { return k.file }

// Probe reports whether the keyring can be used, by looking for a key that is
// not there.
func (k *Keeper) Probe() error {
	_, err := k.asked(func() (string, error) { return k.ring.Get(service, "bm-doctor-looks-for-nothing") })
	if err == nil || errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrNoKeyring, err)
}

// asked gives a call of the keyring, which can't be cancelled, a limited time.
// What comes later than that is dropped.
func (k *Keeper) asked(call func() (string, error)) (string, error) {
	unanswered := fmt.Errorf(noAnswer+" %s", k.timeout)
	k.mu.Lock()
	resting := !k.hung.IsZero() && time.Since(k.hung) < rest
	k.mu.Unlock()
	if resting {
		return "", unanswered
	}
	type answer struct {
		value string
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := call()
		answers <- answer{value, err}
	}()
	timer := time.NewTimer(k.timeout)
	defer timer.Stop()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-timer.C:
		k.mu.Lock()
		k.hung = time.Now()
		k.mu.Unlock()
		return "", unanswered
	}
}

func (k *Keeper) read() (map[string]string, error) {
	text, err := config.ReadPrivate(k.file)
	if errors.Is(err, os.ErrNotExist) {
		return map[string]string{}, nil
	}
	if _, exposed := errors.AsType[*config.Exposed](err); exposed {
		if k.Warn != nil {
			k.Warn(err)
		}
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the file of keys: %w", err)
	}
	kept := map[string]string{}
	if err := json.Unmarshal(text, &kept); err != nil {
		// Not %w: an error of the decoder could quote what it read.
		return nil, fmt.Errorf("the file of keys %s is damaged: remove it and sign in again", k.file)
	}
	return kept, nil
}

// forget takes a key out of the file.
func (k *Keeper) forget(name string) error {
	kept, err := k.read()
	if err != nil {
		return err
	}
	if _, there := kept[name]; !there {
		return nil
	}
	return k.change(func(kept map[string]string) { delete(kept, name) })
}

// change replaces the file by what edit makes of it. A lock keeps two commands
// from losing what the other one kept meanwhile.
func (k *Keeper) change(edit func(map[string]string)) (err error) {
	if err := config.MakePrivate(filepath.Dir(k.file)); err != nil {
		if _, exposed := errors.AsType[*config.Exposed](err); !exposed {
			return err
		}
	}
	lock := flock.New(k.file + ".lock")
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock the file of keys: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	kept, err := k.read()
	if err != nil {
		return err
	}
	edit(kept)
	if len(kept) == 0 {
		if err := os.Remove(k.file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove the file of keys: %w", err)
		}
		return nil
	}
	text, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return fmt.Errorf("write the file of keys: %w", err)
	}
	return config.WritePrivate(k.file, append(text, '\n'))
}

// Explain says why a keyring can't be used.
func Explain(err error) string {
	switch trouble(err) {
	case silent:
		return "the keyring did not answer within " + Timeout.String() + " (is it waiting to be unlocked?)"
	case locked:
		return "the keyring is locked"
	case missing:
		return "there is no keyring here"
	}
	return "the keyring can't be used"
}

// Remedy is what helps against it.
func Remedy(err error) string {
	switch trouble(err) {
	case silent, locked:
		return "unlock the keyring"
	case missing:
		return "start a keyring, such as gnome-keyring"
	}
	return "see to the keyring"
}

// What is wrong with a keyring.
const (
	other = iota
	silent
	locked
	missing
)

// Keyrings say what is wrong in words alone; macOS' does in the exit code of its
// program.
var signs = []struct {
	what int
	sign string
}{
	{silent, noAnswer},
	{locked, "failed to unlock"},
	{locked, "Secret.Error.IsLocked"},
	{locked, "exit status 36"}, // errSecInteractionNotAllowed
	{locked, "exit status 51"}, // errSecAuthFailed
	{missing, "was not provided by any .service files"},
	{missing, "DBus.Error.ServiceUnknown"},
	{missing, "couldn't determine address of session bus"},
	{missing, "dbus-launch"},
	{missing, "dial unix"},
}

func trouble(err error) int {
	text := err.Error()
	for _, s := range signs {
		if strings.Contains(text, s.sign) {
			return s.what
		}
	}
	return other
}

const noAnswer = "no answer within"
