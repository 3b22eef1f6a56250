"""YAML and JSON text to values, as kubectl reads them, and to the spans in which they stand."""
