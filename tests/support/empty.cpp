// Catch2 3 brings its own main; a static library needs one source. With Catch2 2, this file is the one that is compiled
// with the precompiled header.
