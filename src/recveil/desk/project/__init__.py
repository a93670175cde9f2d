"""A project of the desk: a folder of the owner's with desk.toml, what was chosen, and beside it what came of it."""
