package top

import "charm.land/lipgloss/v2"

// style is the colour or the weight of a text. The text has the same meaning without it.
type style int

const (
	plain style = iota
	heading
	faint
	good
	warning
	bad
	selected
)

// painter returns a text, which has no line breaks, with the escapes of a style.
type painter func(style, string) string

// unpainted is the painter for output without escapes.
func unpainted(_ style, text string) string { return text }

// newPainter returns a painter that uses the sixteen colours of the terminal's theme.
func newPainter() painter {
	styles := map[style]lipgloss.Style{
		heading:  lipgloss.NewStyle().Bold(true),
		faint:    lipgloss.NewStyle().Faint(true),
		good:     lipgloss.NewStyle().Foreground(lipgloss.Green),
		warning:  lipgloss.NewStyle().Foreground(lipgloss.Yellow),
		bad:      lipgloss.NewStyle().Foreground(lipgloss.Red),
		selected: lipgloss.NewStyle().Reverse(true),
	}
	return func(s style, text string) string {
		if s == plain || text == "" {
			return text
		}
		return styles[s].Render(text)
	}
}
