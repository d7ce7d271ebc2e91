// Package unit knows how this system starts the daemon whenever its user signs in:
// as a systemd user unit, as a launchd agent on macOS, as a logon task on Windows.
package unit
