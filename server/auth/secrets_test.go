package auth_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"bm/server"
	"bm/server/api"
	"bm/server/servertest"
)

// record is a log that can be read while it is written.
type record struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.buf.String()
}

// No secret is in the log or in the files of the database, and none is in an
// answer but the one that gives it out.
func TestSecretsStaySecret(t *testing.T) {
	dir, log := t.TempDir(), &record{}
	var secrets []string
	t.Run("serving", func(t *testing.T) {
		s := servertest.Start(t, server.Config{
			Dir: dir, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		})
		ada := join(t, s, "ada")
		second := logIn(t, s, "ada")
		renewed := decode[api.Session](t, renew(t, s, second), 200)
		key := makeKey(t, s, ada.AccessToken.Reveal(), "")
		rotated := decode[api.APIKeySecret](t, send(t, s, "POST", "/api/v1/api-keys/"+key.Metadata.ID+"/rotate", ada.AccessToken.Reveal(), "", "Idempotency-Key", "k"), 200)
		again := send(t, s, "POST", "/api/v1/api-keys/"+key.Metadata.ID+"/rotate", ada.AccessToken.Reveal(), "", "Idempotency-Key", "k")
		again.want(t, api.CodeConflict)
		secrets = []string{
			phrase, "not the phrase", ada.AccessToken.Reveal(), ada.RefreshToken.Reveal(), second.AccessToken.Reveal(), second.RefreshToken.Reveal(),
			renewed.AccessToken.Reveal(), renewed.RefreshToken.Reveal(), key.APIKey.Reveal(), rotated.APIKey.Reveal(), "bmk_mistyped", "hunter2",
		}
		answers := []answer{
			again,
			login(t, s, "ada@example.test", "not the phrase"),
			login(t, s, "hunter2@example.test", "not the phrase"),
			who(t, s, "bmk_mistyped"),
			who(t, s, key.APIKey.Reveal()),
			who(t, s, ada.AccessToken.Reveal()),
			send(t, s, "GET", "/workspaces/unknown?token=hunter2", rotated.APIKey.Reveal(), ""),
			send(t, s, "GET", "/hunter2", "", ""),
			send(t, s, "POST", "/auth/register", "", fmt.Sprintf(`{"email":1,"password":%q}`, phrase)),
			send(t, s, "POST", "/auth/login", "", fmt.Sprintf(`{"email":"x","password":[%q]}`, phrase)),
			send(t, s, "POST", "/auth/login", "", fmt.Sprintf(`{"email":"x","password":%q`, phrase)),
			send(t, s, "POST", "/auth/refresh", "", fmt.Sprintf(`{"refreshToken":[%q]}`, ada.RefreshToken.Reveal())),
			send(t, s, "GET", "/api/v1/api-keys", ada.AccessToken.Reveal(), ""),
		}
		for _, a := range answers {
			for _, secret := range secrets {
				if strings.Contains(a.body, secret) {
					t.Errorf("%d answers with a secret: %.200s", a.status, a.body)
				}
			}
		}
	})
	if !strings.Contains(log.String(), "POST /auth/login") {
		t.Fatalf("the log was not written: %s", log)
	}
	for i, secret := range secrets {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log holds secret %d", i)
		}
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		for i, secret := range secrets {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s holds secret %d", entry.Name(), i)
			}
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files were read: %v", files, err)
	}
}
