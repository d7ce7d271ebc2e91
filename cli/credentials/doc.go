// Package credentials keeps API keys: in the operating system's keyring, or,
// where there is none and the user said so, in a file that only they can read.
// BM_TOKEN goes before both and is never stored.
//
// A keyring may ask its owner to unlock it, or its service may be gone while
// its socket still answers, so each call is bounded.
//
// It is the only importer of go-keyring.
package credentials
