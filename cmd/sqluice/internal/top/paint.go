package top

import "charm.land/lipgloss/v2"

// style is how a part of the view looks. It never carries a meaning alone.
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

// painter gives a text without line breaks a style.
type painter func(style, string) string

// unpainted returns text without escapes.
func unpainted(_ style, text string) string { return text }

// newPainter paints in the sixteen colours of the terminal's theme.
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
