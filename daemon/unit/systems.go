package unit

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// systemdUnit is started again when it fails. That another daemon runs already is
// no failure that another start could mend.
func systemdUnit(configDir, program string, env []string) *Unit {
	var b strings.Builder
	b.WriteString("[Unit]\nDescription=bm keeps bookmarks in step\n\n[Service]\n")
	fmt.Fprintf(&b, "ExecStart=%s daemon run\n", systemdQuote(program))
	for _, pair := range env {
		fmt.Fprintf(&b, "Environment=%s\n", systemdQuote(pair))
	}
	b.WriteString("Restart=on-failure\nRestartPreventExitStatus=5\nUMask=0077\n\n[Install]\nWantedBy=default.target\n")
	tell := func(words ...string) []string { return append([]string{"systemctl", "--user"}, words...) }
	restart := tell("restart", "bm.service")
	return &Unit{
		Path: filepath.Join(configDir, "systemd", "user", "bm.service"), Text: b.String(), program: program, mark: " daemon run\n",
		enable:  [][]string{tell("daemon-reload"), tell("enable", "bm.service"), restart},
		disable: [][]string{tell("disable", "--now", "bm.service")},
		forget:  [][]string{tell("daemon-reload")},
		restart: restart,
	}
}

// systemdQuote keeps %, which means something in a unit, what it is. A $ means
// nothing in the program's path, nor in what its environment is set to.
func systemdQuote(text string) string {
	return strings.ReplaceAll(strconv.Quote(text), "%", "%%")
}

const agentName = "bm.daemon"

func launchAgent(home, program string, env []string) (*Unit, error) {
	var b bytes.Buffer
	text := func(tag, value string) error {
		b.WriteString("<" + tag + ">")
		if err := xml.EscapeText(&b, []byte(value)); err != nil {
			return err
		}
		b.WriteString("</" + tag + ">\n")
		return nil
	}
	b.WriteString(xml.Header + `<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n<plist version=\"1.0\"><dict>\n")
	errs := []error{text("key", "Label"), text("string", agentName), text("key", "ProgramArguments")}
	b.WriteString("<array>\n")
	for _, arg := range []string{program, "daemon", "run"} {
		errs = append(errs, text("string", arg))
	}
	b.WriteString("</array>\n")
	if len(env) > 0 {
		errs = append(errs, text("key", "EnvironmentVariables"))
		b.WriteString("<dict>\n")
		for _, pair := range env {
			name, value, _ := strings.Cut(pair, "=")
			errs = append(errs, text("key", name), text("string", value))
		}
		b.WriteString("</dict>\n")
	}
	b.WriteString("<key>RunAtLoad</key><true/>\n<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>\n</dict></plist>\n")
	path := filepath.Join(home, "Library", "LaunchAgents", agentName+".plist")
	domain := fmt.Sprintf("gui/%d", os.Getuid())
	return &Unit{
		Path: path, Text: b.String(), program: program, mark: "<string>daemon</string>\n<string>run</string>",
		enable:  [][]string{{"launchctl", "bootstrap", domain, path}},
		disable: [][]string{{"launchctl", "bootout", domain + "/" + agentName}},
		restart: []string{"launchctl", "kickstart", "-k", domain + "/" + agentName},
	}, errors.Join(errs...)
}

// logonTask needs no file of ours but a note of the command: the task itself
// lies with the system.
func logonTask(home, program string) *Unit {
	command := `"` + program + `" daemon run`
	return &Unit{
		Path: filepath.Join(home, "AppData", "Local", "bm", "logon-task.txt"), Text: command + "\r\n", program: program, mark: " daemon run",
		enable: [][]string{
			{"schtasks", "/Create", "/F", "/SC", "ONLOGON", "/RL", "LIMITED", "/TN", "bm daemon", "/TR", command},
			{"schtasks", "/Run", "/TN", "bm daemon"},
		},
		disable: [][]string{{"schtasks", "/Delete", "/F", "/TN", "bm daemon"}},
	}
}
