"""Processes and machines for tests: README.md says which module has what."""
