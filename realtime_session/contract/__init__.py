"""The session contract: events, rules as data, and the machine that judges one event at a time."""
