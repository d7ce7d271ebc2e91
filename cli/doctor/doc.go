// Package doctor holds the command that looks for what is wrong.
package doctor
