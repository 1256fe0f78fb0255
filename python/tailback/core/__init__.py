"""What the other wings stand on: text, numbers, scenarios, folders of results, and what is made of tables."""
