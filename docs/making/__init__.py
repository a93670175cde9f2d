"""How the documentation is made: pages from kept numbers, from the command line and from docstrings, and the build."""
