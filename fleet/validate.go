package fleet

// Validate joins every fault of settings by the path of its key in the file.
func (c Config) Validate() error {
	f := &faults{}
	checkKeys(&c, "", fileKeys(), f)
	return f.join()
}

// checkKeys holds the values of an object against the table of its keys.
func checkKeys[T any](from *T, path string, keys []key[T], f *faults) {
	for _, k := range keys {
		if k.at != nil {
			checkValue(k.at(from), k.spec, join(path, k.name), f)
		}
	}
}
