"""What is made of the tables of results: means over runs, text, the JSON document, and what two results differ in."""
