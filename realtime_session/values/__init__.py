"""Values: strict JSON in and out, JSON Schema, and the errors that name a place in the input."""
