// Package folder holds the commands about folders.
package folder
