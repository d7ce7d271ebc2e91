// Package key holds the commands about API keys.
package key
