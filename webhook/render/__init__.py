"""Findings and answers as text, JSON, SARIF, JUnit, annotations and pages."""
