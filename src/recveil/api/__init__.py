"""The Python face: what a data scientist types. Keywords in, one desk function, results that show themselves."""
