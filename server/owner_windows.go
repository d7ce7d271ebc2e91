package server

// handOver does nothing: what is made in a folder has its rights there.
func handOver(string, ...string) error { return nil }
