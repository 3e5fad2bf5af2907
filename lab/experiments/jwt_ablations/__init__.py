"""The token and one row of MySQL once more: which of the changes since the document turned its result."""
