package chaos

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/ndbgate/ndbgate/internal/chaos/link"
)

// gateway is a gateway process that comes and goes. Everything that it speaks
// to but data nodes, and all who speak to it, go through links.
type gateway struct {
	name    string
	binary  string
	front   *link.Link   // from the clients
	back    []*link.Link // to the SQL nodes and the management server
	env     []string
	log     *os.File
	admin   string
	process *exec.Cmd
	ended   chan struct{} // closed when the process has ended
}

func (g *gateway) String() string { return g.name }

const startLimit = 30 * time.Second

// newGateway makes the links of a gateway; start starts it.
func newGateway(name, binary, connectstring string, dsns []string, dir string) (g *gateway, err error) {
	g = &gateway{name: name, binary: binary}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	if g.front, err = link.New("clients–"+name, ""); err != nil {
		return nil, err
	}
	management, err := g.link("management server", connectstring)
	if err != nil {
		return nil, err
	}
	var through []string
	for i, dsn := range dsns {
		c, err := mysql.ParseDSN(dsn)
		if err != nil {
			return nil, err
		}
		if c.Addr, err = g.link(fmt.Sprint("mysqld ", sqlNodes[i]), c.Addr); err != nil {
			return nil, err
		}
		through = append(through, c.FormatDSN())
	}
	g.env = append(os.Environ(),
		"GATEWAY_LISTEN=127.0.0.1:0", "GATEWAY_ADMIN_LISTEN=127.0.0.1:0", "GATEWAY_REQUEST_TIMEOUT="+requestTimeout.String(),
		"GATEWAY_NDB_CONNECTSTRING="+management, "GATEWAY_SQL_DSN="+strings.Join(through, " "))
	g.log, err = os.Create(filepath.Join(dir, name+".log"))
	return g, err
}

func (g *gateway) link(to, address string) (through string, err error) {
	l, err := link.New(g.name+"–"+to, address)
	if err != nil {
		return "", err
	}
	g.back = append(g.back, l)
	return l.Addr(), nil
}

func (g *gateway) links() []*link.Link { return append([]*link.Link{g.front}, g.back...) }

// start starts the process and returns once it listens.
func (g *gateway) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	g.process = exec.Command(g.binary, "serve")
	g.process.Env = g.env
	stderr, err := g.process.StderrPipe()
	if err != nil {
		return err
	}
	if err := g.process.Start(); err != nil {
		return fmt.Errorf("start %s: %w", g.name, err)
	}
	listening := make(chan string, 1)
	ended := make(chan struct{})
	g.ended = ended
	go func(process *exec.Cmd) { // ends with the process
		defer close(ended)
		for lines := bufio.NewScanner(io.TeeReader(stderr, g.log)); lines.Scan(); {
			var entry struct {
				Msg, Address string
				AdminAddress string `json:"admin_address"`
			}
			if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "listening" && len(listening) == 0 {
				g.admin = "http://" + entry.AdminAddress
				listening <- entry.Address
			}
		}
		_ = process.Wait() // it is killed, as a rule
	}(g.process)
	select {
	case address := <-listening:
		g.front.SetTarget(address)
		return nil
	case <-ended:
		return fmt.Errorf("%s ended at once; %s has its log", g.name, g.log.Name())
	case <-ctx.Done():
		return fmt.Errorf("%s does not listen: %w", g.name, ctx.Err())
	}
}

// kill does what kill -9 does, and returns when the process is gone.
func (g *gateway) kill() error {
	if err := g.process.Process.Signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", g.name, err)
	}
	<-g.ended
	return nil
}

// isRunning tells whether the process has not ended by itself.
func (g *gateway) isRunning() bool {
	select {
	case <-g.ended:
		return false
	default:
		return true
	}
}

// awaitRoads returns once both roads can serve.
func (g *gateway) awaitRoads(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		body, err := fetch(ctx, g.admin+"/readyz")
		if err == nil && strings.Contains(body, `"down":[]`) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: not every road is up: %s %w", g.name, body, errors.Join(err, ctx.Err()))
		}
	}
}

func fetch(ctx context.Context, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// close ends the process and the links.
func (g *gateway) close() error {
	var errs []error
	if g.process != nil && g.isRunning() {
		errs = append(errs, g.kill())
	}
	for _, l := range g.links() {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	if g.log != nil {
		errs = append(errs, g.log.Close())
	}
	return errors.Join(errs...)
}
