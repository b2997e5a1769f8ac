package loadtest

// batchTables are those of the second article.
func batchTables(*Report) []table { return nil }
