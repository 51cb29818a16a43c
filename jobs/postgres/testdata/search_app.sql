SET LOCAL search_path = app
