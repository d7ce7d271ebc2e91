package control

import "time"

// Protocol is the version of the messages. It goes up when an older program
// would misunderstand a newer one, not when something is added.
const Protocol = 1

// Command is what is asked of the daemon.
type Command string

// The commands.
const (
	Status  Command = "status"  // one reply, with Status
	Nudge   Command = "nudge"   // something was edited: one reply, at once
	Sync    Command = "sync"    // a round now: one reply, when it is over
	Events  Command = "events"  // a reply for everything that happens, until the caller leaves
	Pause   Command = "pause"   // no rounds until Resume
	Resume  Command = "resume"  //
	Quiesce Command = "quiesce" // let go of every file, until the caller leaves
	Stop    Command = "stop"    // one reply, then the daemon ends
)

// Request is what a caller sends, once.
type Request struct {
	Protocol int     `json:"protocol"`
	Version  string  `json:"version"`
	Command  Command `json:"command"`
	// Profile narrows the request; "" is every profile.
	Profile string `json:"profile,omitempty"`
	// Workspace narrows it further, by the workspace's id.
	Workspace string `json:"workspace,omitempty"`
}

// Reply is what the daemon answers.
type Reply struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	PID      int    `json:"pid"`
	// Error says why the request failed; "" where it did not.
	Error  string      `json:"error,omitempty"`
	Status *DaemonInfo `json:"status,omitempty"`
	Event  *Event      `json:"event,omitempty"`
}

// DaemonInfo is the daemon's state.
type DaemonInfo struct {
	Started  time.Time     `json:"started"`
	Paused   bool          `json:"paused"`
	Profiles []ProfileInfo `json:"profiles"`
}

// ProfileInfo is the state of one profile.
type ProfileInfo struct {
	Name   string `json:"name"`
	Server string `json:"server,omitempty"`
	// Trouble is what keeps the profile as a whole from being synced.
	Trouble string `json:"trouble,omitempty"`
	// Live is true while the server's event stream is open.
	Live       bool            `json:"live"`
	Workspaces []WorkspaceInfo `json:"workspaces"`
}

// WorkspaceInfo is the state of one replica.
type WorkspaceInfo struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	State    string    `json:"state"`
	Reason   string    `json:"reason,omitempty"`
	SyncedAt time.Time `json:"syncedAt,omitzero"`
	// NextTry is when a failed round is tried again.
	NextTry time.Time `json:"nextTry,omitzero"`
}

// Event is something that happened.
type Event struct {
	Profile   string    `json:"profile"`
	Workspace string    `json:"workspace,omitempty"`
	Kind      EventKind `json:"kind"`
	Message   string    `json:"message,omitempty"`
	Pulled    int       `json:"pulled,omitempty"`
	Pushed    int       `json:"pushed,omitempty"`
}

// EventKind is what an event is about.
type EventKind string

// The kinds of event.
const (
	RoundDone   EventKind = "round"
	RoundFailed EventKind = "failed"
	Progress    EventKind = "progress"
)
