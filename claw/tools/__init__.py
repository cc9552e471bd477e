"""The built-in tools for a folder."""
