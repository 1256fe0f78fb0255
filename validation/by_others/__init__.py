"""Numbers that others measured, beside the same scenarios here: cells, scenarios, comparison, page."""
