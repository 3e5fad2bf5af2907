"""What people read: the tables, figures and HTML report of a run, its sentences, and exports for other tools."""
