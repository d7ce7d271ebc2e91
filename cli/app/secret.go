package app

import (
	"errors"

	"bm/cli/output"
	"bm/server/api"
)

// AskSecret asks for a secret, such as "password", without showing it; where
// there is no terminal it is the first line of the input.
func (a *App) AskSecret(what, question string) (api.Secret, error) {
	text, err := a.IO.AskPassword(question)
	if errors.Is(err, output.ErrNoTerminal) {
		if a.IO.InTTY { // which would show what is typed
			return "", Fail(Usage, "The %s can't be asked for: the standard error is no terminal.", what).
				Try("the same command without 2> …")
		}
		text, err = a.IO.ReadLine()
	}
	if err != nil || text == "" {
		return "", Fail(Usage, "There is no %s.", what).Try("type it on a terminal, or give it on the standard input").Because(err)
	}
	return api.Secret(text), nil
}
