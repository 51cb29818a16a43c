package admin

// Routes are the method and the path of each route.
func Routes() (list [][2]string) {
	for _, r := range routes() {
		list = append(list, [2]string{r.method, r.path})
	}
	return list
}
