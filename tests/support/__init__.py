"""Shared by tests: slow twins, samples, services, and programs that look for faults."""
