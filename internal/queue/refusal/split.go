package refusal

// Split calls do with all items. When do returns an error for which refused returns true, Split calls do with each half of the items,
// down to single items, and calls postpone for each item that do refuses by itself. It returns the first other error of do, and the
// first error of postpone.
func Split[T any](items []T, refused func(error) bool, do func([]T) error, postpone func(T, error) error) error {
	if len(items) == 0 {
		return nil
	}
	err := do(items)
	switch {
	case err == nil || !refused(err):
		return err
	case len(items) == 1:
		return postpone(items[0], err)
	}
	half := len(items) / 2
	if err := Split(items[:half], refused, do, postpone); err != nil {
		return err
	}
	return Split(items[half:], refused, do, postpone)
}
