// Package config knows where bm's settings come from and where its files lie.
//
// A setting comes from a flag, else from the environment, else from
// config.toml, else from the profile's own file, which bm writes when it signs
// in, else from a default; [Config.Values] says for each which it was. Folders
// are 0700 and files 0600.
//
// It is the only importer of viper.
package config
