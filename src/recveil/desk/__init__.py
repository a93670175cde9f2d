"""The application: what an owner does with data, as functions."""
