"""What was found or answered, as text, JSON, SARIF, JUnit, annotations and pages."""
