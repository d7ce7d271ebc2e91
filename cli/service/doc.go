// Package service holds the commands about the daemon: start, stop, restart,
// status, logs, pause, resume, install and uninstall.
package service
