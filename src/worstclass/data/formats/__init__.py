"""Parsers of official file formats: bytes in, arrays out, nothing run and nothing written."""
