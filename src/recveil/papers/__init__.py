"""One file per paper: every published number beside ours. Each has reproduce(folder, tick) -> list[Claim]."""
