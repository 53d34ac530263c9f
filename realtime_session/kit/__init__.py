"""Kit: judging somebody else's session against the contract fixtures."""
