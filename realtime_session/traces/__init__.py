"""Traces: reading them as a stream, replaying them, and what can be measured over a whole one."""
