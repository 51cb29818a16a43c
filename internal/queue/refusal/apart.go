package refusal

// Apart calls do with all items. Only when that fails for one of them, as refused says of the error, it calls do with each half,
// and so on. It calls aside for each item that is refused by itself. Any other error of do, and an error of aside, ends it.
func Apart[T any](items []T, refused func(error) bool, do func([]T) error, aside func(T, error) error) error {
	if len(items) == 0 {
		return nil
	}
	err := do(items)
	switch {
	case err == nil || !refused(err):
		return err
	case len(items) == 1:
		return aside(items[0], err)
	}
	half := len(items) / 2
	if err := Apart(items[:half], refused, do, aside); err != nil {
		return err
	}
	return Apart(items[half:], refused, do, aside)
}
