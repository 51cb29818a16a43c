package top

import (
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/sqluice/sqluice/internal/printable"
)

// keyHelp lists the keys with their explanations in the help.
var keyHelp = [][2]string{
	{"q", "quit"},
	{"up/down", "choose a queue; also tab, j and k"},
	{"p", "pause the queue; its running jobs continue"},
	{"r", "resume it"},
	{"/", "show only rows with a text: in a name, a host, a kind or an error"},
	{"esc", "show all rows again"},
	{"ctrl+l", "redraw the screen"},
	{"?", "this help"},
}

// key handles a key in any mode.
func (m *model) key(key tea.KeyPressMsg) tea.Cmd {
	switch key.Keystroke() {
	case "ctrl+c":
		return tea.Quit
	case "ctrl+l":
		return tea.ClearScreen
	case "ctrl+z":
		return tea.Suspend
	}
	switch m.mode {
	case asking:
		return m.answer(key)
	case filtering:
		m.edit(key)
		return nil
	case helping:
		m.mode = watching
		if key.String() == "q" {
			return tea.Quit
		}
		return nil
	}
	return m.act(key)
}

// act handles a key in the mode watching.
func (m *model) act(key tea.KeyPressMsg) tea.Cmd {
	m.message = ""
	switch key.String() {
	case "q":
		return tea.Quit
	case "up", "k", "shift+tab":
		m.choose(-1)
	case "down", "j", "tab":
		m.choose(1)
	case "p":
		m.ask(true)
	case "r":
		m.ask(false)
	case "/":
		m.mode, m.before = filtering, m.filter
	case "esc":
		m.setFilter("")
	case "?", "h":
		m.mode = helping
	}
	return nil
}

// ask asks the user to confirm a pause or resume of the chosen queue.
func (m *model) ask(pause bool) {
	switch {
	case m.readOnly:
		m.message = "refused: --read-only"
	case m.chosen == "":
		m.message = "no queue is chosen"
	default:
		m.mode, m.question = asking, question{pause, m.chosen}
	}
}

// answer handles the key after a question: y confirms, any other key declines.
func (m *model) answer(key tea.KeyPressMsg) tea.Cmd {
	m.mode = watching
	if key.String() != "y" && key.String() != "Y" {
		m.message = "nothing is changed"
		return nil
	}
	m.changes++
	q := m.question
	return func() tea.Msg {
		changed, err := m.operations.change(q.queue, q.pause)
		return queueChanged{q.queue, q.pause, changed, err}
	}
}

// edit handles a key in the mode filtering. The view applies each change at once.
func (m *model) edit(key tea.KeyPressMsg) {
	switch key.String() {
	case "enter":
		m.mode = watching
	case "esc":
		m.mode = watching
		m.setFilter(m.before)
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(m.filter)
		m.setFilter(m.filter[:len(m.filter)-size])
	case "ctrl+u":
		m.setFilter("")
	default:
		m.setFilter(m.filter + key.Key().Text)
	}
}

func (m *model) View() tea.View {
	lines := m.view().lines(m.width, m.height)
	if m.mode == helping {
		lines = m.help()
	}
	view := tea.NewView(strings.Join(lines, "\n"))
	view.AltScreen = true
	view.WindowTitle = "sqluice top"
	return view
}

func (m *model) help() []string {
	lines := []string{m.paint(heading, "sqluice top: keys")}
	for _, key := range keyHelp {
		lines = append(lines, "  "+pad(key[0], 8, false)+"  "+key[1])
	}
	lines = append(lines, "", "  any key closes this")
	for i := range lines {
		lines[i] = cut(lines[i], m.width)
	}
	return lines[:min(len(lines), m.height)]
}

// view returns the view of the last frame and the state of the model.
func (m *model) view() *view {
	now := m.now()
	return &view{
		database: m.database, frame: m.reads.frame, rates: m.reads.rates, filter: m.filter, chosen: m.chosen, paint: m.paint,
		status: now.Format(time.TimeOnly), staleReason: m.reads.outdated(now), footer: m.footer(),
	}
}

// footer returns the parts of the last line, the most important ones first. The view omits parts that do not fit.
func (m *model) footer() []string {
	switch {
	case m.mode == asking && m.question.pause:
		return []string{`pause queue "` + printable.Line(m.question.queue) + `"? y/n`}
	case m.mode == asking:
		return []string{`resume queue "` + printable.Line(m.question.queue) + `"? y/n`}
	case m.mode == filtering:
		return []string{"/" + printable.Line(m.filter) + "_", "enter keeps it", "esc drops it"}
	case m.changes > 0:
		return []string{"changing"}
	case m.message != "":
		return []string{m.message}
	}
	parts := []string{"q quit", "? help", "up/down queue", "/ filter"}
	if !m.readOnly {
		parts = []string{"q quit", "? help", "p pause", "r resume", "/ filter", "up/down queue"}
	}
	if m.filter != "" {
		parts = append([]string{"/" + printable.Line(m.filter), "esc all"}, parts...)
	}
	return parts
}
