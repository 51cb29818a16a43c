package top

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/sqluice/sqluice/internal/printable"
)

// operations holds the functions with which the model reads and changes the database.
type operations struct {
	read   func() (Frame, error)
	change func(queue string, pause bool) (bool, error)
}

// The messages of the model's own commands.
type (
	frameRead struct {
		frame Frame
		err   error
	}
	queueChanged struct {
		queue   string
		pause   bool
		changed bool
		err     error
	}
	readDue      struct{} // the next read is due
	secondPassed struct{} // redraws the time
)

// mode decides the meaning of keys.
type mode int

const (
	watching mode = iota
	asking        // a question waits for its answer
	filtering
	helping
)

// model is the program on the terminal. It starts a read one interval after the end of the previous one, so that at most one read runs.
type model struct {
	operations operations
	now        func() time.Time
	after      func(time.Duration, tea.Msg) tea.Cmd
	interval   time.Duration
	readOnly   bool
	paint      painter

	width, height int
	database      string
	reads         reads

	mode     mode
	chosen   string // the name of a queue
	filter   string
	before   string // the filter before the mode filtering
	question question
	changes  int    // the number of running changes
	message  string // the result of the last key or change
}

// question is a pause or a resume that the user must confirm.
type question struct {
	pause bool // false means resume
	queue string
}

func newModel(database string, interval time.Duration, readOnly bool, effects operations) *model {
	return &model{
		operations: effects, now: time.Now, after: afterDelay, interval: interval, readOnly: readOnly, paint: newPainter(),
		width: 80, height: 24, database: database,
	}
}

func (m *model) Init() tea.Cmd { return tea.Batch(m.startRead(), m.after(time.Second, secondPassed{})) }

// startRead starts a read. Its command runs in the background and returns frameRead.
func (m *model) startRead() tea.Cmd {
	m.reads.started(m.now())
	return func() tea.Msg {
		frame, err := m.operations.read()
		return frameRead{frame, err}
	}
}

func afterDelay(d time.Duration, msg tea.Msg) tea.Cmd {
	return tea.Tick(d, func(time.Time) tea.Msg { return msg })
}

func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width > 0 && msg.Height > 0 { // some terminals report 0 x 0
			m.width, m.height = msg.Width, msg.Height
		}
	case frameRead:
		if m.reads.finished(msg, m.now()) {
			m.choose(0)
		}
		return m, m.after(m.interval, readDue{})
	case readDue:
		return m, m.startRead()
	case secondPassed:
		return m, m.after(time.Second, secondPassed{})
	case queueChanged:
		m.changes--
		m.message = msg.text()
	case tea.PasteMsg:
		if m.mode == filtering {
			m.setFilter(m.filter + strings.TrimSpace(msg.Content))
		}
	case tea.KeyPressMsg:
		return m, m.key(msg)
	}
	return m, nil
}

// choose moves the selection by a number of queues, in a circle. If the chosen queue is not shown any more, it chooses the first one.
func (m *model) choose(by int) {
	names := m.view().queueNames()
	if len(names) == 0 {
		m.chosen = ""
		return
	}
	at := slices.Index(names, m.chosen)
	if at < 0 {
		at, by = 0, 0
	}
	m.chosen = names[((at+by)%len(names)+len(names))%len(names)]
}

func (m *model) setFilter(text string) {
	const most = 200 // the maximum length of a queue's name
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most])
	}
	m.filter = text
	m.choose(0)
}

// text returns the result of a change for the footer.
func (c queueChanged) text() string {
	queue := "queue " + printable.Line(c.queue)
	switch {
	case c.err != nil:
		return queue + ": " + printable.Line(c.err.Error())
	case !c.changed && c.pause:
		return queue + " is paused already"
	case !c.changed:
		return queue + " is not paused"
	case c.pause:
		return queue + " is paused"
	}
	return queue + " is resumed"
}
