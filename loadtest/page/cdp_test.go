package page_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// browser is a headless Chromium, driven over pipes by the DevTools protocol:
// one JSON message after the other, each with a zero byte behind it.
type browser struct {
	t       *testing.T
	in      io.Writer
	out     *bufio.Reader
	session string
	last    int
	// problems are errors and requests of the page that it told of.
	problems []string
}

// findChromium skips the test where there is none, unless this is CI.
func findChromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("no Chromium here, and this is CI")
	}
	t.Skip("no Chromium here")
	return ""
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	path := findChromium(t)
	toBrowser, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // 3 and 4 there
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	b := &browser{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	t.Cleanup(func() {
		b.session = ""
		b.send("Browser.close", nil)
		in.Close()
		if err := cmd.Wait(); err != nil && t.Failed() {
			t.Logf("%s ended with %v: %.2000s", path, err, stderr.String())
		}
		out.Close()
	})
	return b
}

func (b *browser) send(method string, params any) int {
	b.t.Helper()
	b.last++
	message := map[string]any{"id": b.last, "method": method}
	if params != nil {
		message["params"] = params
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	text, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	return b.last
}

// message is an answer, or an event.
type message struct {
	ID     int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct{ Message string }
}

func (b *browser) receive() message {
	b.t.Helper()
	text, err := b.out.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("the browser has ended: %v", err)
	}
	var m message
	if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
		b.t.Fatal(err)
	}
	switch m.Method {
	case "Runtime.exceptionThrown", "Log.entryAdded":
		b.problems = append(b.problems, string(m.Params))
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			b.t.Fatal(err)
		}
		if !strings.HasPrefix(p.Request.URL, "file:") {
			b.problems = append(b.problems, "the page asked for "+p.Request.URL)
		}
	}
	return m
}

// call sends a command and waits for its answer.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	id := b.send(method, params)
	for {
		m := b.receive()
		if m.ID != id {
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

// attach opens a tab.
func (b *browser) attach() {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
}

// open shows a page and waits until it is loaded.
func (b *browser) open(html []byte) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "report.html")
	if err := os.WriteFile(file, html, 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.send("Page.navigate", map[string]any{"url": "file://" + file})
	for b.receive().Method != "Page.loadEventFired" {
	}
}

// screen is how a page is looked at.
type screen struct {
	name   string
	width  int
	mobile bool
	media  string // screen or print
	scheme string // light or dark
}

func (b *browser) look(s screen) {
	b.t.Helper()
	scale := 1
	if s.mobile {
		scale = 2
	}
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": s.width, "height": 844, "deviceScaleFactor": scale, "mobile": s.mobile}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": s.media, "features": []map[string]string{{"name": "prefers-color-scheme", "value": s.scheme}}}, nil)
}

// evaluate runs a function of the page and reads what it returns.
func (b *browser) evaluate(function string, result any) {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	b.call("Runtime.evaluate", map[string]any{"expression": fmt.Sprintf("(%s)()", function), "returnByValue": true}, &answer)
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", answer.ExceptionDetails.Text, answer.ExceptionDetails.Exception.Description)
	}
	if err := json.Unmarshal(answer.Result.Value, result); err != nil {
		b.t.Fatal(err)
	}
}

// keep writes a screenshot of the whole page to PAGE_SCREENSHOTS, where that is
// set.
func (b *browser) keep(name string) {
	b.t.Helper()
	dir := os.Getenv("PAGE_SCREENSHOTS")
	if dir == "" {
		return
	}
	var shot struct{ Data []byte }
	b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	if err := os.WriteFile(filepath.Join(dir, name+".png"), shot.Data, 0o600); err != nil {
		b.t.Fatal(err)
	}
}
