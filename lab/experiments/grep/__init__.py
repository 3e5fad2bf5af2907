"""The experiment ``grep``: what is won by threads where files are searched, of equal scope and as published."""
