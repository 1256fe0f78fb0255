"""Published studies: reads them, runs them, measures the runs, and compares the results with the published ones."""
