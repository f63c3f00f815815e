"""What all benchmarks have in common; bench/README.md says how to add one."""
