package server

import "bm/server/sqldb"

// DB is the server's database.
func (s *Server) DB() *sqldb.DB { return s.db }
