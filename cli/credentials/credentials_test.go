package credentials

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
)

// memoryRing is a keyring that can be broken in the ways that real ones are.
type memoryRing struct {
	kept map[string]string
	fail error
	hang chan struct{}
}

func (r *memoryRing) wait() error {
	if r.hang != nil {
		<-r.hang
	}
	return r.fail
}

func (r *memoryRing) Set(_, user, secret string) error {
	if err := r.wait(); err != nil {
		return err
	}
	r.kept[user] = secret
	return nil
}

func (r *memoryRing) Get(_, user string) (string, error) {
	if err := r.wait(); err != nil {
		return "", err
	}
	if secret, ok := r.kept[user]; ok {
		return secret, nil
	}
	return "", keyring.ErrNotFound
}

func (r *memoryRing) Delete(_, user string) error {
	if err := r.wait(); err != nil {
		return err
	}
	if _, ok := r.kept[user]; !ok {
		return keyring.ErrNotFound
	}
	delete(r.kept, user)
	return nil
}

func keeper(t *testing.T, token string) (*Keeper, *memoryRing) {
	t.Helper()
	r := &memoryRing{kept: map[string]string{}}
	return &Keeper{file: filepath.Join(t.TempDir(), "keys.json"), token: token, ring: r, timeout: time.Minute}, r
}

func TestKeyringFirst(t *testing.T) {
	k, r := keeper(t, "")
	if source, err := k.Set("p/t", "bmk_1", true); err != nil || source != FromKeyring {
		t.Fatalf("%v, %v", source, err)
	}
	if r.kept["p/t"] != "bmk_1" {
		t.Errorf("the keyring holds %v", r.kept)
	}
	if _, err := os.Stat(k.file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made as well: %v", err)
	}
	secret, source, err := k.Get("p/t")
	if err != nil || secret.Reveal() != "bmk_1" || source != FromKeyring {
		t.Errorf("%q from %v, %v", secret.Reveal(), source, err)
	}
	if err := k.Delete("p/t"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Get("p/t"); !errors.Is(err, ErrNotFound) {
		t.Errorf("after delete: %v", err)
	}
	if err := k.Delete("p/t"); err != nil {
		t.Errorf("delete of what isn't there: %v", err)
	}
}

func TestWithoutKeyringOnlyWhenAllowed(t *testing.T) {
	k, r := keeper(t, "")
	r.fail = errors.New("no such service")
	if _, err := k.Set("p", "bmk_1", false); !errors.Is(err, ErrNoKeyring) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(k.file); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("the key was written to a file without leave")
	}
	source, err := k.Set("p", "bmk_1", true)
	if err != nil || source != FromFile {
		t.Fatalf("%v, %v", source, err)
	}
	if runtime.GOOS != "windows" {
		info, err := os.Stat(k.file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	if secret, source, err := k.Get("p"); err != nil || secret.Reveal() != "bmk_1" || source != FromFile {
		t.Errorf("%v %v", source, err)
	}
	// Once there is a keyring the file must not shadow it.
	r.fail = nil
	if source, err := k.Set("p", "bmk_2", true); err != nil || source != FromKeyring {
		t.Fatalf("%v, %v", source, err)
	}
	if secret, source, _ := k.Get("p"); secret.Reveal() != "bmk_2" || source != FromKeyring {
		t.Errorf("found an old key in %v", source)
	}
}

func TestHangingKeyringIsBounded(t *testing.T) {
	k, r := keeper(t, "")
	r.hang = make(chan struct{})
	defer close(r.hang)
	k.timeout = time.Millisecond
	_, _, err := k.Get("p")
	if !errors.Is(err, ErrNoKeyring) || !strings.Contains(err.Error(), "no answer within") {
		t.Errorf("got %v", err)
	}
}

func TestTokenGoesFirst(t *testing.T) {
	k, r := keeper(t, "bmk_env")
	r.kept["p"] = "bmk_ring"
	if secret, source, err := k.Get("p"); err != nil || secret.Reveal() != "bmk_env" || source != FromEnvironment {
		t.Errorf("%v, %v", source, err)
	}
}

func TestDamagedFileIsNotQuoted(t *testing.T) {
	k, _ := keeper(t, "")
	if err := os.WriteFile(k.file, []byte(`{"p":"bmk_secret"`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := k.Get("p")
	if err == nil || strings.Contains(err.Error(), "bmk_secret") || !strings.Contains(err.Error(), k.file) {
		t.Errorf("got %v", err)
	}
}

// Over ssh the keyring may be locked, so that a key goes to the file while an
// older one stays in the keyring.
func TestDeleteForgetsWhereverItIs(t *testing.T) {
	k, r := keeper(t, "")
	if _, err := k.Set("p", "bmk_old", false); err != nil {
		t.Fatal(err)
	}
	r.fail = errors.New("locked")
	if _, err := k.Set("p", "bmk_new", true); err != nil {
		t.Fatal(err)
	}
	r.fail = nil
	if err := k.Delete("p"); err != nil {
		t.Fatal(err)
	}
	if secret, source, err := k.Get("p"); !errors.Is(err, ErrNotFound) {
		t.Errorf("after delete: %q from %s, %v", secret.Reveal(), source, err)
	}
}

func TestTwoKeepersAtOnceLoseNoKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	const each = 40
	var both sync.WaitGroup
	for _, prefix := range []string{"a", "b"} {
		both.Go(func() {
			k := &Keeper{file: file, ring: &memoryRing{fail: errors.New("none")}, timeout: time.Minute}
			for i := range each {
				if _, err := k.Set(prefix+strconv.Itoa(i), "bmk_x", true); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	k := &Keeper{file: file, ring: &memoryRing{}, timeout: time.Minute}
	kept, err := k.read()
	if len(kept) != 2*each || err != nil {
		t.Errorf("%d of %d keys were kept, %v", len(kept), 2*each, err)
	}
}

// Who looks for several keys waits once for a keyring that does not answer.
func TestAHungKeyringIsNotAskedAgain(t *testing.T) {
	k, r := keeper(t, "")
	r.hang = make(chan struct{})
	k.timeout = time.Millisecond
	if _, _, err := k.Get("p"); !errors.Is(err, ErrNoKeyring) {
		t.Fatal(err)
	}
	k.timeout = time.Minute
	r.kept["q"] = "bmk_q"
	close(r.hang)
	if _, _, err := k.Get("q"); !errors.Is(err, ErrNoKeyring) || !strings.Contains(err.Error(), "no answer within") {
		t.Errorf("at once: %v", err)
	}
	k.hung = k.hung.Add(-rest)
	if secret, _, err := k.Get("q"); err != nil || secret.Reveal() != "bmk_q" {
		t.Errorf("later: %v", err)
	}
}

func TestWhatIsKeptIsFoundBehindAToken(t *testing.T) {
	k, r := keeper(t, "bmk_env")
	r.kept["p"] = "bmk_ring"
	if secret, source, err := k.Kept("p"); err != nil || secret.Reveal() != "bmk_ring" || source != FromKeyring {
		t.Errorf("%v, %v", source, err)
	}
}

// What is wrong with a keyring is told apart as well as it tells it itself.
func TestExplainTellsWhatIsWrong(t *testing.T) {
	for text, want := range map[string][2]string{
		"no answer within 5s": {"did not answer within 5s", "unlock"},
		"failed to unlock correct collection '/org/freedesktop/secrets/aliases/default'": {"is locked", "unlock"},
		"exit status 36": {"is locked", "unlock"},
		"The name org.freedesktop.secrets was not provided by any .service files": {"there is no keyring here", "start a keyring"},
		"dial unix /run/user/1000/bus: connect: no such file or directory":        {"there is no keyring here", "start a keyring"},
		"exec: \"dbus-launch\": executable file not found in $PATH":               {"there is no keyring here", "start a keyring"},
		"something else": {"can't be used", "see to the keyring"},
	} {
		err := fmt.Errorf("%w: %w", ErrNoKeyring, errors.New(text))
		if got := Explain(err); !strings.Contains(got, want[0]) {
			t.Errorf("%s: %q, want %q", text, got, want[0])
		}
		if got := Remedy(err); !strings.HasPrefix(got, want[1]) {
			t.Errorf("%s: %q, want %q", text, got, want[1])
		}
	}
}
