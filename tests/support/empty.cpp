// Catch2 3 brings its own main; a static library needs one source.
