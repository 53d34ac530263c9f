"""Doors: how the package reaches what is not its own code (files beside it, other programs)."""
