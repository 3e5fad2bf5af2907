"""The presentation of results: tables, figures and HTML report of a run, and exports for other tools."""
