"""The click advisor as a web application: people, a catalogue, clicks, and public item profiles that tell little."""
