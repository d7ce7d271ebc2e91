package browser

import "syscall"

// errNotDir is answered for what would lie below a file.
const errNotDir = syscall.ERROR_PATH_NOT_FOUND
