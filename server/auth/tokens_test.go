package auth_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"bm/server"
	"bm/server/api"
	"bm/server/servertest"
	"bm/server/sqldb"
	"bm/server/sqldb/sqldbtest"
)

// keyOf is the server's own signing key.
func keyOf(t *testing.T, db *sqldb.DB) (id string, key ed25519.PrivateKey) {
	t.Helper()
	var seed string
	err := db.Read(t.Context(), func(tx *sqldb.Tx) error {
		return tx.Row(t.Context(), `SELECT id, seed FROM signing_key`, nil, &id, &seed)
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.RawStdEncoding.DecodeString(seed)
	if err != nil {
		t.Fatal(err)
	}
	return id, ed25519.NewKeyFromSeed(raw)
}

func sign(t *testing.T, method jwt.SigningMethod, key any, kid any, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	if kid != nil {
		token.Header["kid"] = kid
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestForgedTokens(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		c := newClock()
		config.Now = c.now
		s := servertest.Start(t, config)
		ada, eve := join(t, s, "ada"), join(t, s, "eve")
		kid, key := keyOf(t, behind(t, config))

		claimsOf := func(session api.Session) jwt.MapClaims {
			parsed, _, err := jwt.NewParser().ParseUnverified(session.AccessToken.Reveal(), jwt.MapClaims{})
			if err != nil {
				t.Fatal(err)
			}
			return parsed.Claims.(jwt.MapClaims)
		}
		own, eves := claimsOf(ada), claimsOf(eve)
		// with are ada's claims but for some; nil takes one away.
		with := func(changes ...any) jwt.MapClaims {
			changed := jwt.MapClaims{}
			for name, value := range own {
				changed[name] = value
			}
			for i := 0; i < len(changes); i += 2 {
				changed[changes[i].(string)] = changes[i+1]
				if changes[i+1] == nil {
					delete(changed, changes[i].(string))
				}
			}
			return changed
		}
		now := c.now().Unix()
		_, strange, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		public := key.Public().(ed25519.PublicKey)
		der, err := x509.MarshalPKIXPublicKey(public)
		if err != nil {
			t.Fatal(err)
		}
		pemKey := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
		eddsa := jwt.SigningMethodEdDSA

		// A token that the test signs with the server's key is believed: what
		// is refused below is refused for what it changes.
		who(t, s, sign(t, eddsa, key, kid, with())).ok(t, 200)
		parts := strings.Split(ada.AccessToken.Reveal(), ".")
		for name, token := range map[string]string{
			"alg none":                   sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, kid, with()),
			"alg none, its signature":    sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, kid, with()) + parts[2],
			"alg None":                   base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"None","kid":"`+kid+`"}`)) + "." + parts[1] + ".",
			"HS256 with the public key":  sign(t, jwt.SigningMethodHS256, []byte(public), kid, with()),
			"HS256 with its PEM":         sign(t, jwt.SigningMethodHS256, pemKey, kid, with()),
			"HS256 with its DER":         sign(t, jwt.SigningMethodHS256, der, kid, with()),
			"another key":                sign(t, eddsa, strange, kid, with()),
			"another key, unknown id":    sign(t, eddsa, strange, "01890a5d-ac96-774b-bcce-b302099a8057", with()),
			"no key id":                  sign(t, eddsa, key, nil, with()),
			"key id of another type":     sign(t, eddsa, key, 1, with()),
			"key id of SQL":              sign(t, eddsa, key, `' OR '1'='1`, with()),
			"key id of NUL":              sign(t, eddsa, key, "\x00", with()),
			"no signature":               parts[0] + "." + parts[1] + ".",
			"another's signature":        parts[0] + "." + parts[1] + "." + strings.Split(eve.AccessToken.Reveal(), ".")[2],
			"another's claims":           parts[0] + "." + strings.Split(eve.AccessToken.Reveal(), ".")[1] + "." + parts[2],
			"expired":                    sign(t, eddsa, key, kid, with("exp", now-1)),
			"expires now":                sign(t, eddsa, key, kid, with("exp", now)),
			"without an end":             sign(t, eddsa, key, kid, with("exp", nil)),
			"an end that is no number":   sign(t, eddsa, key, kid, with("exp", "tomorrow")),
			"not yet valid":              sign(t, eddsa, key, kid, with("nbf", now+60)),
			"issued in the future":       sign(t, eddsa, key, kid, with("iat", now+3600, "exp", now+4500)),
			"without a beginning":        sign(t, eddsa, key, kid, with("iat", nil)),
			"another tenant":             sign(t, eddsa, key, kid, with("tid", eves["tid"])),
			"an unknown tenant":          sign(t, eddsa, key, kid, with("tid", "01890a5d-ac96-774b-bcce-b302099a8057")),
			"no tenant":                  sign(t, eddsa, key, kid, with("tid", nil)),
			"another account":            sign(t, eddsa, key, kid, with("sub", eves["sub"])),
			"another account and tenant": sign(t, eddsa, key, kid, with("sub", eves["sub"], "tid", eves["tid"])),
			"another's session":          sign(t, eddsa, key, kid, with("sid", eves["sid"])),
			"an unknown session":         sign(t, eddsa, key, kid, with("sid", "01890a5d-ac96-774b-bcce-b302099a8057")),
			"no session":                 sign(t, eddsa, key, kid, with("sid", nil)),
			"no account":                 sign(t, eddsa, key, kid, with("sub", nil)),
			"NUL in the session":         sign(t, eddsa, key, kid, with("sid", "\x00")),
			"a refresh token":            ada.RefreshToken.Reveal(),
			"garbage":                    "garbage",
			"dots":                       "..",
			"four parts":                 ada.AccessToken.Reveal() + ".x",
			"not base64":                 "!.!.!",
			"not JSON":                   base64.RawURLEncoding.EncodeToString([]byte("{")) + "." + parts[1] + "." + parts[2],
			"deep JSON":                  base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("[", 20_000))) + "." + parts[1] + "." + parts[2],
			"long":                       strings.Repeat("x", 200_000),
			"a key's prefix":             "bmk_",
			"a key's prefix and garbage": "bmk_" + strings.Repeat("A", 49),
			"a quote":                    `'; DROP TABLE session; --`,
			"not UTF-8":                  "\xff\xfe",
		} {
			e := who(t, s, token).want(t, api.CodeUnauthorized)
			if strings.Contains(e.Message, "sign") || strings.Contains(e.Message, "expired at") {
				t.Errorf("%s: it tells why: %s", name, e.Message)
			}
			if t.Failed() {
				t.Fatal(name)
			}
		}
		// The scheme's name has no case; another scheme is none.
		for value, ok := range map[string]bool{
			"bearer " + ada.AccessToken.Reveal(): true, "BEARER  " + ada.AccessToken.Reveal(): true,
			"Basic " + ada.AccessToken.Reveal(): false, ada.AccessToken.Reveal(): false, "Bearer": false, "Bearer ": false,
		} {
			a := send(t, s, "GET", "/api/v1/me", "", "", "Authorization", value)
			if ok {
				a.ok(t, 200)
			} else {
				a.want(t, api.CodeUnauthorized)
			}
		}
		who(t, s, ada.AccessToken.Reveal()).ok(t, 200)
	})
}

func TestTokensEnd(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		c := newClock()
		config.Now = c.now
		s := servertest.Start(t, config)
		ada := join(t, s, "ada")
		if ada.ExpiresIn != 900 || ada.TokenType != "Bearer" {
			t.Errorf("the session says %d s, %s", ada.ExpiresIn, ada.TokenType)
		}
		c.advance(15*time.Minute - time.Second)
		who(t, s, ada.AccessToken.Reveal()).ok(t, 200)
		c.advance(time.Second)
		who(t, s, ada.AccessToken.Reveal()).want(t, api.CodeUnauthorized)

		// A refresh prolongs; 30 days without one end the session.
		c.advance(29 * 24 * time.Hour)
		ada = decode[api.Session](t, renew(t, s, ada), 200)
		c.advance(29 * 24 * time.Hour)
		ada = decode[api.Session](t, renew(t, s, ada), 200)
		who(t, s, ada.AccessToken.Reveal()).ok(t, 200)
		c.advance(30 * 24 * time.Hour)
		renew(t, s, ada).want(t, api.CodeUnauthorized)
	})
}

// The token that a switch gives out is good for 30 days too.
func TestASwitchProlongs(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		c := newClock()
		config.Now = c.now
		s := servertest.Start(t, config)
		ada := join(t, s, "ada")
		home := decode[[]api.Workspace](t, send(t, s, "GET", "/workspaces", ada.AccessToken.Reveal(), ""), 200)[0].ID
		c.advance(10 * time.Minute)
		ada = decode[api.Session](t, send(t, s, "POST", "/auth/switch-workspace", ada.AccessToken.Reveal(), `{"workspaceId":"`+home+`"}`), 200)
		c.advance(30*24*time.Hour - time.Minute)
		if _, err := s.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		renew(t, s, ada).ok(t, 200)
	})
}

func TestReusedRefreshTokenEndsTheFamily(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		s := servertest.Start(t, config)
		first := join(t, s, "ada")
		elsewhere := logIn(t, s, "ada")
		second := decode[api.Session](t, renew(t, s, first), 200)
		third := decode[api.Session](t, renew(t, s, second), 200)
		who(t, s, first.AccessToken.Reveal()).ok(t, 200) // its quarter of an hour is not over
		renew(t, s, first).want(t, api.CodeUnauthorized)
		for _, session := range []api.Session{first, second, third} {
			who(t, s, session.AccessToken.Reveal()).want(t, api.CodeUnauthorized)
			renew(t, s, session).want(t, api.CodeUnauthorized)
		}
		// Another sign-in of the same account is another family.
		who(t, s, elsewhere.AccessToken.Reveal()).ok(t, 200)
		for _, body := range []string{`{"refreshToken":""}`, `{"refreshToken":"garbage"}`, fmt.Sprintf(`{"refreshToken":%q}`, elsewhere.AccessToken.Reveal())} {
			send(t, s, "POST", "/auth/refresh", "", body).want(t, api.CodeUnauthorized)
		}
		decode[api.Session](t, renew(t, s, elsewhere), 200)
	})
}

// Logging out ends the caller's session and that of the refresh token it names,
// where that is the account's own.
func TestLogoutEndsWhatItNames(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		s := servertest.Start(t, config)
		here, there, stays, eve := join(t, s, "ada"), logIn(t, s, "ada"), logIn(t, s, "ada"), join(t, s, "eve")
		logOut := func(session api.Session, body string) {
			t.Helper()
			send(t, s, "POST", "/auth/logout", session.AccessToken.Reveal(), body).ok(t, 204)
		}
		logOut(here, fmt.Sprintf(`{"refreshToken":%q}`, there.RefreshToken.Reveal()))
		for _, session := range []api.Session{here, there} {
			who(t, s, session.AccessToken.Reveal()).want(t, api.CodeUnauthorized)
			renew(t, s, session).want(t, api.CodeUnauthorized)
		}
		who(t, s, stays.AccessToken.Reveal()).ok(t, 200)
		again := logIn(t, s, "ada")
		logOut(again, fmt.Sprintf(`{"refreshToken":%q}`, eve.RefreshToken.Reveal()))
		who(t, s, again.AccessToken.Reveal()).want(t, api.CodeUnauthorized)
		who(t, s, eve.AccessToken.Reveal()).ok(t, 200)
		logOut(stays, `{"refreshToken":"garbage"}`)
		renew(t, s, stays).want(t, api.CodeUnauthorized)
	})
}

// Of many who spend one refresh token at the same moment one gets a session at
// most.
func TestRefreshTokenIsSpentOnce(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		s := servertest.Start(t, config)
		ada := join(t, s, "ada")
		answers := make(chan int, 8)
		for range cap(answers) {
			go func() { answers <- renew(t, s, ada).status }()
		}
		won := 0
		for range cap(answers) {
			switch status := <-answers; status {
			case 200:
				won++
			case 401:
			default:
				t.Errorf("status %d", status)
			}
		}
		if won > 1 {
			t.Errorf("%d got a session", won)
		}
	})
}

// A session that ends while it is renewed gives nobody tokens that never worked.
func TestASessionEndsWhileItIsRenewed(t *testing.T) {
	config := server.Config{DatabaseURL: sqldbtest.Postgres(t)}
	s := servertest.Start(t, config)
	session := join(t, s, "ada")
	renewed := during(t, behind(t, config), `UPDATE session SET revoked_at = 1`, func() answer { return renew(t, s, session) })
	renewed.want(t, api.CodeUnauthorized)
}

// A token is no better than its session, however long it was made for.
func TestNoTokenOutlivesItsSession(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		c := newClock()
		config.Now = c.now
		s := servertest.Start(t, config)
		session := join(t, s, "ada")
		exec(t, behind(t, config), `UPDATE session SET expires_at = $1`, c.now().Add(time.Minute).UnixMicro())
		c.advance(59 * time.Second)
		send(t, s, "GET", "/api/v1/me", session.AccessToken.Reveal(), "").ok(t, 200)
		c.advance(time.Second)
		send(t, s, "GET", "/api/v1/me", session.AccessToken.Reveal(), "").want(t, api.CodeUnauthorized)
	})
}

// The keys that sign age: a new one takes over, in every process, and what the
// old one signed stays good for its quarter of an hour.
func TestSigningKeysRotate(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		c := newClock()
		config.Now = c.now
		s := servertest.Start(t, config)
		join(t, s, "ada")
		kid := func(session api.Session) string {
			parsed, _, err := jwt.NewParser().ParseUnverified(session.AccessToken.Reveal(), jwt.MapClaims{})
			if err != nil {
				t.Fatal(err)
			}
			return parsed.Header["kid"].(string)
		}
		c.advance(90*24*time.Hour - time.Minute)
		before := logIn(t, s, "ada")
		c.advance(2 * time.Minute)
		after := logIn(t, s, "ada")
		if kid(before) == kid(after) {
			t.Error("the key signs for ever")
		}
		who(t, s, before.AccessToken.Reveal()).ok(t, 200)
		who(t, s, after.AccessToken.Reveal()).ok(t, 200)
		if again := logIn(t, s, "ada"); kid(again) != kid(after) {
			t.Error("every sign-in makes a key")
		}
	})
}

// A year of the clock, forth and back, locks nobody out and lets nobody in.
func TestClockSetBackAYear(t *testing.T) {
	configs(t, func(t *testing.T, config server.Config) {
		c := newClock()
		config.Now = c.now
		var session api.Session
		var key api.APIKeySecret
		t.Run("running", func(t *testing.T) {
			s := servertest.Start(t, config)
			session = join(t, s, "ada")
			key = makeKey(t, s, session.AccessToken.Reveal(), "")
			who(t, s, session.AccessToken.Reveal()).ok(t, 200)
			c.advance(-year)
			// The token would live a year longer than it should.
			who(t, s, session.AccessToken.Reveal()).want(t, api.CodeUnauthorized)
			who(t, s, key.APIKey.Reveal()).ok(t, 200)
			session = decode[api.Session](t, renew(t, s, session), 200)
			who(t, s, session.AccessToken.Reveal()).ok(t, 200)
			made := decode[api.Workspace](t, send(t, s, "POST", "/workspaces", session.AccessToken.Reveal(), `{"name":"Later, and earlier"}`), 201)
			list := decode[[]api.Workspace](t, send(t, s, "GET", "/workspaces", session.AccessToken.Reveal(), ""), 200)
			if len(list) != 2 || list[1].ID != made.ID {
				t.Errorf("workspaces %+v", list)
			}
			send(t, s, "DELETE", "/workspaces/"+made.ID, session.AccessToken.Reveal(), "").ok(t, 204)
			send(t, s, "POST", "/workspaces/"+made.ID+"/restore", session.AccessToken.Reveal(), "").ok(t, 200)
		})
		t.Run("started anew", func(t *testing.T) {
			s := servertest.Start(t, config)
			who(t, s, session.AccessToken.Reveal()).ok(t, 200)
			who(t, s, key.APIKey.Reveal()).ok(t, 200)
			fresh := logIn(t, s, "ada")
			who(t, s, fresh.AccessToken.Reveal()).ok(t, 200)
			c.advance(year)
			who(t, s, fresh.AccessToken.Reveal()).want(t, api.CodeUnauthorized)
			who(t, s, key.APIKey.Reveal()).ok(t, 200)
			who(t, s, logIn(t, s, "ada").AccessToken.Reveal()).ok(t, 200)
		})
	})
}
